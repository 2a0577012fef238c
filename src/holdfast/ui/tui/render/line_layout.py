"""The layout of a block: lines drawn on demand, and heights, which are estimates until then."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ui.tui.render.heights import Heights
from holdfast.ui.tui.render.lines import DrawnLine, Fragment
from holdfast.ui.tui.render.styles import Styles

_MOST_OUTSIDE = 40  # fragments outside the viewport that may stay drawn


class LineLayout:
    """The lines of one block at one width, drawn on demand, fragment by fragment.

    Of a long block, only the part near the viewport stays drawn: a line is about twenty objects, and the garbage
    collector visits all of them again and again.
    """

    __slots__ = ("_drawn", "_fragments", "_heights", "_styles", "width")

    def __init__(self, styles: Styles, width: int) -> None:
        self.width = width
        self._styles = styles
        self._fragments: list[Fragment] = []
        self._drawn: dict[int, list[DrawnLine]] = {}
        self._heights = Heights()

    @property
    def height(self) -> int:
        """Return the number of lines, partly estimated."""
        return self._heights.total

    def update(self, fragments: Sequence[Fragment]) -> None:
        """Set the block's fragments; equal ones stay drawn."""
        old = self._fragments
        new = self._fragments = list(fragments)
        same = min(len(old), len(new))
        if old[:same] != new[:same]:
            same = next(at for at in range(same) if old[at] != new[at])
        for at in [at for at in self._drawn if at >= same]:
            del self._drawn[at]
        self._heights.splice(same, [fragment.guess(self.width) for fragment in new[same:]])

    def draw(self, top: int, bottom: int) -> None:
        """Draw the lines in a range."""
        first, _ = self._heights.find(top)
        index = first
        while index < len(self._fragments) and self._heights.top(index) < bottom:
            self._draw(index)
            index += 1
        if len(self._drawn) > index - first + _MOST_OUTSIDE:
            self._drawn = {at: lines for at, lines in self._drawn.items() if first <= at < index}

    def line(self, y: int) -> tuple[int, int, DrawnLine | None]:
        """Return the fragment at line `y`, the line's number in it, and the line, None if it is not drawn."""
        index, within = self._heights.find(y)
        drawn = self._drawn.get(index)
        return index, within, drawn[within] if drawn is not None and within < len(drawn) else None

    def top(self, index: int) -> int:
        """Return the first line of a fragment."""
        return self._heights.top(min(index, len(self._fragments)))

    def lines_of(self, index: int) -> list[DrawnLine]:
        """Return the drawn lines of a fragment, none if there is no such fragment."""
        if index >= len(self._fragments):
            return []
        return self._draw(index)

    def __len__(self) -> int:
        return len(self._fragments)

    def _draw(self, index: int) -> list[DrawnLine]:
        drawn = self._drawn.get(index)
        if drawn is None:
            drawn = self._drawn[index] = self._fragments[index].draw(self._styles, self.width)
            self._heights.set(index, len(drawn))
        return drawn
