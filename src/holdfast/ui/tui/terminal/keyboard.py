"""The terminal's input, read so that a lone ESC is recognized after 10 ms instead of 100 to 200.

Textual checks for the end of an escape sequence only after waiting 100 ms for input. Here the wait ends with the
parser's own timeout. `ESCDELAY` (milliseconds, as in curses) overrides it, for connections so slow that an arrow key
arrives in two pieces. Terminals with the kitty protocol send an ESC that needs no waiting.

Alt with Enter comes as ESC and a line end, which Textual would read as Enter; here it becomes a separate key.

While an answer of the terminal about a frame is due, an ESC may be its beginning, and is held back from the parser for
the same time. After that it becomes a key directly: the parser would wait once more.
"""

from __future__ import annotations

import asyncio
import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Callable, Sequence
from contextlib import suppress

from textual._ansi_sequences import SYNC_END, SYNC_START
from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.constants import ESCAPE_DELAY
from textual.events import Key
from textual.geometry import Size
from textual.widgets import Input, TextArea

from holdfast.ui.tui.environment.background_colour import TerminalReplies
from holdfast.ui.tui.keys.pasted_keys import LONG_READ, LONGEST_PASTE, MORE_WITHIN, mark_pasted_enters
from holdfast.ui.tui.terminal.frames import PlacedText, is_full_frame, pieces_of
from holdfast.ui.tui.terminal.job_control import JobControl
from holdfast.ui.tui.terminal.terminal_pace import ANSWER_LOST, OVERDUE, Pacing, ShownRows, StatusAnswers, lowest

_ESC = "\x1b"

ALT_ENTER, AS_IN_KITTY = "\x1b\r", "\x1b[13;3u"
"""Alt with Enter as legacy terminals send it, and as the kitty protocol has it."""

PASTED = "\x1b[200~"

IDLE = 0.1
"""Seconds between checks whether the thread should end."""

PENDING = ESCAPE_DELAY + 0.0005
"""Seconds after which an incomplete sequence is dropped; a little more than the parser's own timeout."""

EARLY = 0.005
"""Seconds between checks whether a widget can receive keys."""

CHUNK = 65_536

LAST_ANSWER = 2.0
"""Seconds to wait for the terminal's last answer."""


class Keyboard(JobControl):
    """Textual's driver for Unix, with a shorter wait, and frames in step with the terminal."""

    on_reply: Callable[[str], None] | None = None
    """Called on the input's thread with the background colour that the terminal reports."""
    _replies: TerminalReplies | None = None

    def __init__(
        self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._loop = asyncio.get_running_loop()
        self._answers = StatusAnswers()
        self.pacing = Pacing()
        """Whether the terminal keeps up with the frames."""
        self.rows = ShownRows()
        """The rows that the terminal shows."""
        self._skipped = False  # whether a frame was skipped: then all rows of the next are compared
        self._lost_timer: asyncio.TimerHandle | None = None  # redraws after a skipped frame if no answer comes
        self._synchronized = False
        self._ready = False  # whether the composer has had the focus, or the first dialog
        self._drawn_size = Size(0, 0)

    def start_application_mode(self) -> None:
        """Take the terminal, and ask at once how fast it is."""
        self.rows.clear()
        self.pacing.forget()
        super().start_application_mode()
        super().write(self.pacing.question(0))

    def stop_application_mode(self) -> None:
        """Restore the terminal; its last answer must not be typed into the shell."""
        self.pacing.wait(LAST_ANSWER)
        super().stop_application_mode()

    def write(self, data: str) -> None:
        """Write to the terminal; a frame is skipped while the terminal is behind."""
        if data == SYNC_START and not self.pacing.may_draw:
            return
        if data in (SYNC_START, SYNC_END):
            paired, self._synchronized = self._synchronized, data == SYNC_START
            if data == SYNC_START or paired:
                super().write(data)
            return
        pieces = pieces_of(data)
        if not pieces:
            super().write(data)
        elif (drawn := self.paced(pieces)) is not None:
            shown = data if drawn is pieces else "".join(f"\x1b[{row};{column}H{text}" for row, column, text in drawn)
            super().write(shown + self.pacing.question(len(shown)))

    def paced(self, pieces: Sequence[PlacedText]) -> Sequence[PlacedText] | None:
        """Return the pieces of a frame to draw, None to skip it because the terminal is behind."""
        if not self.pacing.may_draw:
            self.skip()
            return None
        if self._app.screen.size != self._drawn_size:
            self._drawn_size = self._app.screen.size
            self.rows.clear()
        columns, rows = self._drawn_size
        full = is_full_frame(pieces, columns=columns, rows=rows) if self._skipped or len(pieces) >= rows else False
        drawn = pieces
        if self._skipped and full:
            changed = self.rows.changed(pieces)
            drawn = lowest(changed) if self.pacing.is_slow else changed
            self._skipped = False
            if len(drawn) < len(changed):
                self.skip()  # the others follow when the terminal has taken these
        elif self._skipped:  # a part of the screen, or rows in several pieces: these are drawn, and then all of it
            self._skipped = False
            self.rows.clear()
            self._app.screen.refresh()
        self.rows.note(drawn, full=full)
        return drawn

    def skip(self) -> None:
        """Draw all of the screen when the terminal has answered, or when its answer counts as lost."""
        self._skipped = True
        if self._lost_timer is None:
            self._lost_timer = self._loop.call_later(ANSWER_LOST + OVERDUE, self._caught_up)

    def _reset_modes(self) -> None:
        self.rows.clear()
        self.pacing.forget()
        super()._reset_modes()

    def _caught_up(self) -> None:
        if self._lost_timer is not None:
            self._lost_timer.cancel()
            self._lost_timer = None
        if self._skipped and self._app.screen_stack:
            self._app.screen.refresh()

    @property
    def replies(self) -> TerminalReplies:
        """Return the parser that removes the terminal's replies from the input."""
        self._replies = self._replies or TerminalReplies()
        return self._replies

    def run_input_thread(self) -> None:
        """Deliver the terminal's input until the application ends."""
        parser, replies = XTermParser(self._debug), self.replies
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            pending = False
            while not self._can_receive_keys() and not self.exit_event.wait(EARLY):
                pass  # the terminal buffers typed input
            typed_ahead = bool(selector.select(0))  # key by key while nothing read it, and so in one read
            while not self.exit_event.is_set():
                if selector.select(PENDING if pending else IDLE):
                    data = self._read(selector)
                    if not data:  # the terminal is closed; SIGHUP ends the application
                        break
                    pending = _ESC.encode() in data
                    typed = replies.take(self._without_answers(decode(data)))
                    typed = typed if PASTED in typed else typed.replace(ALT_ENTER, AS_IN_KITTY)
                    read = list(parser.feed(typed)) if typed else []  # "" would end the parser
                    for event in read if typed_ahead else mark_pasted_enters(read):
                        self.process_message(event)
                    typed_ahead = False
                    while replies.found:
                        reply = replies.found.pop(0)
                        if self.on_reply is not None:
                            self.on_reply(reply)
                else:
                    rest = replies.take(self._answers.flush()) or replies.flush()
                    pending = bool(rest) and rest != _ESC
                    for event in [Key("escape", _ESC)] if rest == _ESC else parser.feed(rest) if rest else ():
                        self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)
        try:
            for event in parser.feed(""):
                self.process_message(event)
        except (EOFError, ParseError):
            pass  # an incomplete sequence at the end is dropped

    def _read(self, selector: selectors.BaseSelector) -> bytes:
        """Return what the terminal has; a paste that fills its buffer is read to its end."""
        data = piece = os.read(self.fileno, CHUNK)
        while len(piece) >= LONG_READ and len(data) < LONGEST_PASTE and selector.select(MORE_WITHIN):
            piece = os.read(self.fileno, CHUNK)
            data += piece
        return data

    def _without_answers(self, data: str) -> str:
        """Return the input without the terminal's status answers."""
        typed, answers = self._answers.take(data, waits=self.pacing.waits)
        if answers:
            self.pacing.answered()
            with suppress(RuntimeError):  # the loop has closed
                self._loop.call_soon_threadsafe(self._caught_up)
        return typed

    def _can_receive_keys(self) -> bool:
        """Return whether typed input would reach a widget; before the first screen has a focus it would be lost."""
        screens = self._app.screen_stack
        self._ready = self._ready or (bool(screens) and isinstance(screens[-1].focused, TextArea | Input))
        return self._ready
