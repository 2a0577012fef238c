"""The live region: some rows below the finished text, where frames are drawn, on the terminal's main screen. Pure.

How it works. The region begins in the row where the cursor was, and has as many rows as the last frame. Its place
on the terminal is unknown, and does not matter: every move is relative. Between two writes the cursor is in the first
column of the region's first row. So erasing that row and all below it removes the region and nothing else, at
any time: before finished text is printed, when the program is suspended, and when it was killed and its guard cleans
up. It also survives a new size: terminals that fold their lines again keep the cursor in its line.

Why not ask the terminal for the place? The answer comes late, between keys, or never. Why not a scroll region,
with text inserted above it? Several terminals do not keep what scrolls out of a region as history.

Example: the region has 5 rows at the bottom. `printed(["one", "two"])` erases it, writes two lines, and the next frame
makes room for its rows, which scrolls the terminal by two. Both lines now belong to the terminal's history.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ui.tui.terminal.frames import PlacedText

ERASE = "\r\x1b[2K\x1b7\x1b[B\x1b[J\x1b8"
"""Removes the region, and everything below it.

"Erase to the end" does not begin in the first row: from the terminal's first place, tmux takes it for a clear of the
screen, and first scrolls the screen into its history (`scroll-on-clear`).
"""


class LiveRegion:
    """The rows of the region on the terminal; every string that it returns leaves the cursor at its start."""

    def __init__(self) -> None:
        self.rows = 0
        """Rows that the region has on the terminal, 0 before the first frame and after `erased`."""

    def erased(self) -> str:
        """Return the sequence that removes the region."""
        self.rows = 0
        return ERASE

    def printed(self, lines: Sequence[str]) -> str:
        """Return the output that replaces the region by lines, which are styled and no wider than the terminal."""
        return self.erased() + "".join(f"{line}\x1b[0m\r\n" for line in lines)

    def frame(self, pieces: Sequence[PlacedText], rows: int) -> str:
        """Return the output that draws the pieces in a region of `rows` rows; the terminal has at least as many."""
        written = [self._sized(rows)]
        at = 1
        for row, column, text in pieces:
            if not text or not 1 <= row <= rows:
                continue
            written += [_down(row - at), "\r", f"\x1b[{column - 1}C" if column > 1 else "", text]
            at = row
        return "".join((*written, "\x1b[0m\r", _down(1 - at)))

    def _sized(self, rows: int) -> str:
        """Return the output that gives the region `rows` rows."""
        before, self.rows = self.rows, rows
        if rows > before:
            return "\r" + "\n" * (rows - 1) + _down(1 - rows)  # where there is no room, the terminal scrolls
        if rows < before:
            return f"{_down(rows)}{ERASE}{_down(-rows)}"
        return ""


def _down(rows: int) -> str:
    """Return the sequence that moves the cursor `rows` rows down, up if negative."""
    if not rows:
        return ""
    return f"\x1b[{rows}B" if rows > 0 else f"\x1b[{-rows}A"
