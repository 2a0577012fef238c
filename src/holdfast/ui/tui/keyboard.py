"""The terminal's input, read so that a lone ESC is known for one after 25 ms instead of 100 to 200.

Textual looks for the end of a sequence only when its 100 ms of waiting for input are over. Here the wait ends when the
parser's own does. `ESCDELAY` (milliseconds, as in curses) says otherwise, for a line so slow that an arrow key comes in
two pieces. Terminals with the kitty protocol send an ESC that needs no waiting.
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
"""Seconds after which the thread looks whether it should end."""

PENDING = ESCAPE_DELAY + 0.002
"""Seconds after which a sequence that has begun is none; a little more than the parser's own, which is then over."""

EARLY = 0.005
"""Seconds between two looks whether there is anything yet that a key would reach."""

CHUNK = 65_536


class Keyboard(JobControl):
    """Textual's driver for Unix, with a wait of its own."""

    def run_input_thread(self) -> None:
        """Hand on what the terminal sends until the application ends."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            pending = False
            while not self._heard() and not self.exit_event.wait(EARLY):
                pass  # what is typed meanwhile is kept by the terminal
            while not self.exit_event.is_set():
                if selector.select(PENDING if pending else IDLE):
                    data = os.read(self.fileno, CHUNK)
                    if not data:  # the terminal is gone; SIGHUP says so to whoever can do something about it
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
            pass  # a sequence that the end cut short is none

    def _heard(self) -> bool:
        """Return whether what is typed would be written; before that it would go nowhere."""
        screens = self._app.screen_stack
        return bool(screens) and isinstance(screens[-1].focused, TextArea | Input)  # a prompt, or a question before it
