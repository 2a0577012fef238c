"""The live region: some rows below the finished text, where frames are drawn, on the terminal's main screen. Pure.

How it works. The region begins in the row where the cursor was, and has as many rows as the last frame. Where that is
on the terminal is not known, and need not be: every move is relative. Between two writes the cursor stands in the
first column of the region's first row. So "erase from the cursor to the end" removes the region and nothing else, at
any time: before finished text is printed, when the program is suspended, and when it was killed and its guard cleans
up. It also survives a new size: terminals that fold their lines again keep the cursor in its line.

Why not the place that the terminal reports? The answer comes late, between keys, or never. Why not a scroll region,
with text inserted above it? Several terminals do not keep what scrolls out of a region as history.

Example: the region has 5 rows at the bottom. `printed(["one", "two"])` erases it, writes two lines, and the next frame
makes room for its rows, which scrolls the terminal by two. Both lines are now the terminal's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ui.tui.terminal.frames import PlacedText

ERASE = "\r\x1b[J"
"""Removes the region, from its first row on, and whatever is below it."""


class LiveRegion:
    """The rows of the region on the terminal; every string that it returns leaves the cursor at its start."""

    def __init__(self) -> None:
        self.rows = 0
        """Rows that the region has on the terminal, 0 before the first frame and after `erased`."""

    def erased(self) -> str:
        """Return what removes the region."""
        self.rows = 0
        return ERASE

    def printed(self, lines: Sequence[str]) -> str:
        """Return what removes the region and prints lines, styled and no wider than the terminal, in its place."""
        return self.erased() + "".join(f"{line}\x1b[0m\r\n" for line in lines)

    def frame(self, pieces: Sequence[PlacedText], rows: int) -> str:
        """Return what draws the pieces in a region of so many rows; the terminal has at least as many."""
        written = [self._sized(rows)]
        at = 1
        for row, column, text in pieces:
            if not text or not 1 <= row <= rows:
                continue
            written += [_down(row - at), "\r", f"\x1b[{column - 1}C" if column > 1 else "", text]
            at = row
        return "".join((*written, "\x1b[0m\r", _down(1 - at)))

    def _sized(self, rows: int) -> str:
        """Return what gives the region so many rows."""
        before, self.rows = self.rows, rows
        if rows > before:
            return "\r" + "\n" * (rows - 1) + _down(1 - rows)  # where there is no room, the terminal scrolls
        if rows < before:
            return f"{_down(rows)}{ERASE}{_down(-rows)}"
        return ""


def _down(rows: int) -> str:
    """Return what moves the cursor so many rows down, up if negative."""
    if not rows:
        return ""
    return f"\x1b[{rows}B" if rows > 0 else f"\x1b[{-rows}A"
