"""The heights of items in a column, and the item at a line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


class Heights:
    """The heights of a column of items.

    A query costs what changed since the last one, and everything below it; at the end of a long column that is little.
    """

    __slots__ = ("_bottoms", "_heights")

    def __init__(self, heights: Sequence[int] = ()) -> None:
        self._heights = list(heights)
        self._bottoms: list[int] = []  # only the computed ones

    def __len__(self) -> int:
        return len(self._heights)

    def height(self, index: int) -> int:
        """Return the height of an item."""
        return self._heights[index]

    def set(self, index: int, height: int) -> bool:
        """Set the height of an item. Return whether it changed."""
        if self._heights[index] == height:
            return False
        self._heights[index] = height
        del self._bottoms[index:]
        return True

    def splice(self, start: int, heights: Sequence[int]) -> None:
        """Replace everything from `start` on."""
        self._heights[start:] = heights
        del self._bottoms[start:]

    @property
    def total(self) -> int:
        """Return the height of the whole column."""
        return self.top(len(self._heights))

    def top(self, index: int) -> int:
        """Return the height above an item; for an index past the end, the total height."""
        known = len(self._bottoms)
        if known < index:
            begin = self._bottoms[-1] if known else 0
            self._bottoms += list(accumulate(self._heights[known:index], initial=begin))[1:]
        return self._bottoms[index - 1] if index else 0

    def find(self, y: int) -> tuple[int, int]:
        """Return the item at `y` and the offset in it; (0, 0) or the last one if `y` is outside."""
        if not self._heights or y < 0:
            return 0, 0
        if y >= self.total:
            last = len(self._heights) - 1
            return last, max(0, self._heights[last] - 1)
        index = bisect_right(self._bottoms, y)
        return index, y - self.top(index)
