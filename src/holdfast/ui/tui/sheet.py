"""Which line is where: heights, guessed until they are known, and lines, drawn as they are needed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from holdfast.ui.tui.lines import Line, Piece
from holdfast.ui.tui.look import Look

_APART = 40  # pieces out of sight that may stay drawn


class Column:
    """The heights of things that stand one under another.

    What is asked for costs what changed since, and all the things below it; at the end of a long column nothing is.
    """

    __slots__ = ("_bottoms", "_heights")

    def __init__(self, heights: Sequence[int] = ()) -> None:
        self._heights = list(heights)
        self._bottoms: list[int] = []  # as far as they are known

    def __len__(self) -> int:
        return len(self._heights)

    def height(self, index: int) -> int:
        """Return the height of a thing."""
        return self._heights[index]

    def set(self, index: int, height: int) -> bool:
        """Set the height of a thing, and return whether it was another."""
        if self._heights[index] == height:
            return False
        self._heights[index] = height
        del self._bottoms[index:]
        return True

    def splice(self, start: int, heights: Sequence[int]) -> None:
        """Put other things in the place of all those from `start` on."""
        self._heights[start:] = heights
        del self._bottoms[start:]

    @property
    def total(self) -> int:
        """Return the height of the whole."""
        return self.top(len(self._heights))

    def top(self, index: int) -> int:
        """Return how much stands above a thing; of one past the end, the height of the whole."""
        known = len(self._bottoms)
        if known < index:
            begin = self._bottoms[-1] if known else 0
            self._bottoms += list(accumulate(self._heights[known:index], initial=begin))[1:]
        return self._bottoms[index - 1] if index else 0

    def find(self, y: int) -> tuple[int, int]:
        """Return which thing is at `y`, and how far below its top that is; (0, 0) or the last if `y` is outside."""
        if not self._heights or y < 0:
            return 0, 0
        if y >= self.total:
            last = len(self._heights) - 1
            return last, max(0, self._heights[last] - 1)
        index = bisect_right(self._bottoms, y)
        return index, y - self.top(index)


class Sheet:
    """The lines of one block at one width, piece by piece, each drawn when it is looked at.

    Of a long block only what is near stays drawn: every line is some twenty objects, and whatever is kept is looked
    through for garbage again and again.
    """

    __slots__ = ("_column", "_drawn", "_look", "_pieces", "width")

    def __init__(self, look: Look, width: int) -> None:
        self.width = width
        self._look = look
        self._pieces: list[Piece] = []
        self._drawn: dict[int, list[Line]] = {}
        self._column = Column()

    @property
    def height(self) -> int:
        """Return how many lines there are, as far as is known."""
        return self._column.total

    def update(self, pieces: Sequence[Piece]) -> None:
        """Take the block's pieces as they are now; those that stayed the same stay drawn."""
        old = self._pieces
        same = min(len(old), len(pieces))
        if old[:same] != pieces[:same]:
            same = next(at for at in range(same) if old[at] != pieces[at])
        self._pieces = list(pieces)
        for at in [at for at in self._drawn if at >= same]:
            del self._drawn[at]
        self._column.splice(same, [piece.guess(self.width) for piece in pieces[same:]])

    def draw(self, top: int, bottom: int) -> None:
        """Draw what is between two lines."""
        first, _ = self._column.find(top)
        index = first
        while index < len(self._pieces) and self._column.top(index) < bottom:
            self._draw(index)
            index += 1
        if len(self._drawn) > index - first + _APART:
            self._drawn = {at: lines for at, lines in self._drawn.items() if first <= at < index}

    def line(self, y: int) -> tuple[int, int, Line | None]:
        """Return the piece at line `y`, the line's number in it, and the line; None if it is not drawn."""
        index, within = self._column.find(y)
        drawn = self._drawn.get(index)
        return index, within, drawn[within] if drawn is not None and within < len(drawn) else None

    def top(self, index: int) -> int:
        """Return the first line of a piece."""
        return self._column.top(min(index, len(self._pieces)))

    def lines_of(self, index: int) -> list[Line]:
        """Return the lines of a piece, none if there is no such piece."""
        if index >= len(self._pieces):
            return []
        return self._draw(index)

    def __len__(self) -> int:
        return len(self._pieces)

    def _draw(self, index: int) -> list[Line]:
        drawn = self._drawn.get(index)
        if drawn is None:
            drawn = self._drawn[index] = self._pieces[index].draw(self._look, self.width)
            self._column.set(index, len(drawn))
        return drawn
