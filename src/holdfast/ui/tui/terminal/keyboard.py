"""The terminal's input, read so that a lone ESC is recognized after 25 ms instead of 100 to 200.

Textual checks for the end of an escape sequence only after waiting 100 ms for input. Here the wait ends with the
parser's own timeout. `ESCDELAY` (milliseconds, as in curses) overrides it, for connections so slow that an arrow key
arrives in two pieces. Terminals with the kitty protocol send an ESC that needs no waiting.
"""

from __future__ import annotations

import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Callable

from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.constants import ESCAPE_DELAY
from textual.widgets import Input, TextArea

from holdfast.ui.tui.surroundings.background_colour import TerminalReplies
from holdfast.ui.tui.terminal.job_control import JobControl

IDLE = 0.1
"""Seconds between checks whether the thread should end."""

PENDING = ESCAPE_DELAY + 0.002
"""Seconds after which an incomplete sequence is dropped; a little more than the parser's own timeout."""

EARLY = 0.005
"""Seconds between checks whether a widget can receive keys."""

CHUNK = 65_536


class Keyboard(JobControl):
    """Textual's driver for Unix, with a shorter wait."""

    on_reply: Callable[[str], None] | None = None
    """Called on the input's thread with the colour that the terminal says its background has."""
    _replies: TerminalReplies | None = None

    @property
    def replies(self) -> TerminalReplies:
        """Return what takes the terminal's answers out of the input."""
        self._replies = self._replies or TerminalReplies()
        return self._replies

    def run_input_thread(self) -> None:
        """Deliver the terminal's input until the application ends."""
        parser, replies = XTermParser(self._debug), self.replies
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            pending = False
            while not self._heard() and not self.exit_event.wait(EARLY):
                pass  # the terminal buffers typed input
            while not self.exit_event.is_set():
                if selector.select(PENDING if pending else IDLE):
                    data = os.read(self.fileno, CHUNK)
                    if not data:  # the terminal is closed; SIGHUP ends the application
                        break
                    pending = b"\x1b" in data
                    typed = replies.take(decode(data))
                    for event in parser.feed(typed) if typed else ():  # "" would end the parser
                        self.process_message(event)
                    while replies.found:
                        reply = replies.found.pop(0)
                        if self.on_reply is not None:
                            self.on_reply(reply)
                else:
                    held = replies.flush()
                    pending = bool(held)
                    for event in parser.feed(held) if held else ():
                        self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)
        try:
            for event in parser.feed(""):
                self.process_message(event)
        except (EOFError, ParseError):
            pass  # an incomplete sequence at the end is dropped

    def _heard(self) -> bool:
        """Return whether typed input would reach a widget; before that it would be lost."""
        screens = self._app.screen_stack
        return bool(screens) and isinstance(screens[-1].focused, TextArea | Input)  # the composer, or a dialog
