"""The layout of lines: heights, estimated until drawn, and lines, drawn on demand."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ui.tui.render.heights import Heights
from holdfast.ui.tui.render.lines import DrawnLine, Fragment
from holdfast.ui.tui.render.styles import Styles

_APART = 40  # pieces outside the viewport that may stay drawn


class LineLayout:
    """The lines of one block at one width, piece by piece, drawn on demand.

    Of a long block, only the part near the viewport stays drawn: a line is about twenty objects, and the garbage
    collector visits all of them again and again.
    """

    __slots__ = ("_column", "_drawn", "_look", "_pieces", "width")

    def __init__(self, look: Styles, width: int) -> None:
        self.width = width
        self._look = look
        self._pieces: list[Fragment] = []
        self._drawn: dict[int, list[DrawnLine]] = {}
        self._column = Heights()

    @property
    def height(self) -> int:
        """Return the number of lines, partly estimated."""
        return self._column.total

    def update(self, pieces: Sequence[Fragment]) -> None:
        """Set the block's pieces; equal ones stay drawn."""
        old = self._pieces
        new = self._pieces = list(pieces)
        same = min(len(old), len(new))
        if old[:same] != new[:same]:
            same = next(at for at in range(same) if old[at] != new[at])
        for at in [at for at in self._drawn if at >= same]:
            del self._drawn[at]
        self._column.splice(same, [piece.guess(self.width) for piece in new[same:]])

    def draw(self, top: int, bottom: int) -> None:
        """Draw the lines in a range."""
        first, _ = self._column.find(top)
        index = first
        while index < len(self._pieces) and self._column.top(index) < bottom:
            self._draw(index)
            index += 1
        if len(self._drawn) > index - first + _APART:
            self._drawn = {at: lines for at, lines in self._drawn.items() if first <= at < index}

    def line(self, y: int) -> tuple[int, int, DrawnLine | None]:
        """Return the piece at line `y`, the line's number in it, and the line, None if it is not drawn."""
        index, within = self._column.find(y)
        drawn = self._drawn.get(index)
        return index, within, drawn[within] if drawn is not None and within < len(drawn) else None

    def top(self, index: int) -> int:
        """Return the first line of a piece."""
        return self._column.top(min(index, len(self._pieces)))

    def lines_of(self, index: int) -> list[DrawnLine]:
        """Return the drawn lines of a piece, none if there is no such piece."""
        if index >= len(self._pieces):
            return []
        return self._draw(index)

    def __len__(self) -> int:
        return len(self._pieces)

    def _draw(self, index: int) -> list[DrawnLine]:
        drawn = self._drawn.get(index)
        if drawn is None:
            drawn = self._drawn[index] = self._pieces[index].draw(self._look, self.width)
            self._column.set(index, len(drawn))
        return drawn
