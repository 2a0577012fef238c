"""The terminal's input, read so that a lone ESC is recognized after 25 ms instead of 100 to 200.

Textual checks for the end of an escape sequence only after waiting 100 ms for input. Here the wait ends with the
parser's own timeout. `ESCDELAY` (milliseconds, as in curses) overrides it, for connections so slow that an arrow key
arrives in two pieces. Terminals with the kitty protocol send an ESC that needs no waiting.
"""

from __future__ import annotations

import os
import selectors
from codecs import getincrementaldecoder

from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.constants import ESCAPE_DELAY
from textual.widgets import Input, TextArea

from holdfast.ui.tui.job_control import JobControl

IDLE = 0.1
"""Seconds between checks whether the thread should end."""

PENDING = ESCAPE_DELAY + 0.002
"""Seconds after which an incomplete sequence is dropped; a little more than the parser's own timeout."""

EARLY = 0.005
"""Seconds between checks whether a widget can receive keys."""

CHUNK = 65_536


class Keyboard(JobControl):
    """Textual's driver for Unix, with a shorter wait."""

    def run_input_thread(self) -> None:
        """Deliver the terminal's input until the application ends."""
        parser = XTermParser(self._debug)
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
                    for event in parser.feed(decode(data)):
                        self.process_message(event)
                else:
                    pending = False
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
