"""The terminal without the alternate screen: finished text in its own history, a live region below it.

How it works. Textual draws a screen as high as the live region; `write` moves each frame to the place of the region. A
frame of another height or width was drawn before Textual heard of a new size. It is dropped, because the next one is on
its way. After a dropped frame, a print or a new size, only a frame of all rows is drawn. A requested frame has all
rows. If one of its rows seems too short, the terminal draws it wider than `cell_len` counts: after `MOST_REDRAWS` of
these frames, the next is drawn anyway.

Pages and lists open on the alternate screen, as `less` does: they need more rows than the region has, and a region that
had grown so high would leave blank rows behind. Textual's own inline mode was not used: decision 0053.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from textual import events
from textual.app import App
from textual.constants import DISABLE_KITTY_KEY
from textual.geometry import Size

from holdfast.ui.tui.terminal.frames import PlacedText, begins_rows, is_full_frame, pieces_of
from holdfast.ui.tui.terminal.keyboard import Keyboard
from holdfast.ui.tui.terminal.live_region import LiveRegion

ALTERNATE, MAIN = "\x1b[?1049h", "\x1b[?1049l"

KITTY_ON, KITTY_OFF = ("", "") if DISABLE_KITTY_KEY else ("\x1b[>25u", "\x1b[<u")
"""Textual's keyboard mode; each of the two screens of a terminal has its own."""

LEAST_ROWS = 4

MOST_REDRAWS = 3
"""Requested frames of all rows before one whose rows seem too short is drawn."""


class InlineScreen(Keyboard):
    """A driver whose screen is a few rows of the main one."""

    def __init__(
        self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._region = LiveRegion()
        self._unprinted: list[str] = []
        self._background: re.Pattern[str] | None = None
        self._requested_rows = LEAST_ROWS
        self._alternate = False  # whether a page has the alternate screen
        self._full_redraw_due = True  # whether all rows must be drawn before any other
        self._redraws = 0  # how many requested ones seemed incomplete

    def start_application_mode(self) -> None:
        """Take the terminal; the region begins where the cursor is."""
        self._region.rows = 0
        self._full_redraw_due = True
        super().start_application_mode()

    def stop_application_mode(self) -> None:
        """Print the unprinted lines, remove the region, and restore the terminal."""
        if self._on_screen:
            left = self._to_main() if self._alternate else ""
            super().write(left + self._clear(self._region.printed(self._unprinted)))
            self._unprinted.clear()
        super().stop_application_mode()

    def write(self, data: str) -> None:
        """Write to the terminal: a frame in its place, anything else as it is."""
        if data in (ALTERNATE, MAIN):
            return
        pieces = pieces_of(data)
        if pieces and not self.can_write:
            self._full_redraw_due = True
        elif shown := self._placed(data, pieces) if pieces else data:
            super().write(shown)

    def print_lines(self, lines: Sequence[str]) -> None:
        """Print finished text above the region, with its next frame; lines are no wider than the terminal."""
        self._unprinted += lines
        self._redraw()

    def request_rows(self, rows: int) -> None:
        """Set the region's rows from the next frame on, at most those of the terminal."""
        _, most = super()._get_terminal_size()
        rows = max(1, min(rows, most))
        if rows != self._requested_rows:
            self._requested_rows = rows
            if not self._alternate:
                self._send_size()

    def clear_background(self, codes: str) -> None:
        """Show the terminal's own background where frames have the one set by these SGR `codes`."""
        self._background = re.compile(rf"(?<=[\[;]){re.escape(codes)}(?=[;m])")
        self._redraw()

    @property
    def terminal_rows(self) -> int:
        """Return how many rows the terminal has."""
        return super()._get_terminal_size()[1]

    @property
    def has_page(self) -> bool:
        """Return whether a page or a list is open, or its end has not been drawn yet."""
        return self._alternate or len(self._app.screen_stack) > 1

    def _get_terminal_size(self) -> tuple[int, int]:
        """Return the size of Textual's screen. Textual asks at the start and when the terminal has another size."""
        self._full_redraw_due = True  # lines may be folded in another way now
        self.rows.clear()
        return self._size_now()

    def _size_now(self) -> tuple[int, int]:
        columns, rows = super()._get_terminal_size()
        return columns, rows if len(self._app.screen_stack) > 1 else max(1, min(self._requested_rows, rows))

    def _query_in_band_window_resize(self) -> None:
        """Do nothing: size reports would contain the terminal's height, not the region's."""

    def _reset_modes(self) -> None:
        self._region.rows = 0  # the shell has written since
        self._full_redraw_due = True
        super()._reset_modes()

    def _placed(self, data: str, pieces: Sequence[PlacedText]) -> str:
        """Return the output that draws the frame, "" to drop it."""
        height = self._app.screen.size.height
        columns, rows = super()._get_terminal_size()
        if len(self._app.screen_stack) > 1:
            return self._on_page(data, fits=height == rows)
        if height != min(self._requested_rows, rows) or self._app.screen.size.width != columns:
            self._full_redraw_due = True
            self._send_size()
            return ""
        if not (self._full_redraw_due or self._unprinted or self._alternate):
            drawn = self.paced(pieces)
            return "" if drawn is None else self._with_question(self._clear(self._region.frame(drawn, height)))
        if not self.pacing.may_draw:
            self.skip()
            return ""
        if not is_full_frame(pieces, columns=columns, rows=height):
            self._redraws += 1
            if self._redraws <= MOST_REDRAWS or not begins_rows(pieces, height):
                self._redraw()
                return ""
        self._redraws = 0
        left = self._to_main() if self._alternate else ""
        lines = self._unprinted[:]
        self._unprinted.clear()
        self._full_redraw_due = False
        self._skipped = False
        self.rows.note(pieces, full=True)
        return left + self._with_question(self._clear(self._region.printed(lines) + self._region.frame(pieces, height)))

    def _on_page(self, data: str, *, fits: bool) -> str:
        """Return the output that draws a frame of a page, on the alternate screen."""
        entered = "" if self._alternate else ALTERNATE + KITTY_ON
        self._alternate = True
        if not fits:
            self._send_size()
        return entered + data if fits else entered

    def _with_question(self, shown: str) -> str:
        return shown + self.pacing.question(len(shown))

    def _clear(self, shown: str) -> str:
        return shown if self._background is None else self._background.sub("49", shown)

    def _to_main(self) -> str:
        self._alternate = False
        return KITTY_OFF + MAIN

    def _redraw(self) -> None:
        self._full_redraw_due = True
        self._app.screen.refresh()

    def _send_size(self) -> None:
        size = Size(*self._size_now())
        self._app.post_message(events.Resize(size, size))
