"""The virtual list: a view's blocks as one long column of lines; only the lines near the viewport are drawn.

The visible lines stay in place, whatever is drawn or changes above them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from holdfast.ui.tui.render import block_renderer
from holdfast.ui.tui.render.heights import Heights
from holdfast.ui.tui.render.line_layout import LineLayout
from holdfast.ui.tui.render.lines import MARK_WIDTH, DrawnLine, make_line
from holdfast.ui.tui.render.markdown import PROSE, Markdown
from holdfast.ui.tui.render.styles import Styles
from holdfast.ui.view.blocks import AnswerBlock, Block, BlockKey, CallBlock, Note, Thinking, TurnEnd, UserBlock
from holdfast.ui.view.view import View

if TYPE_CHECKING:
    from holdfast.ui.view.last_blocks import Tail

_WIDEST = 200
"""Maximum columns in use."""

EMPTY_LINE = make_line(())

_NARROWEST = 20
_MOST_DRAWN = 800  # maximum blocks that stay drawn
_NEAR = 200  # blocks on each side that stay drawn when there are more
LINE_NUMBERS = _PIECE_NUMBERS = 1 << 20
"""Bases that encode a place as one number, for Textual's selection."""

_PASSES = 50  # each pass draws something new, so a few are enough


class LinePlace(NamedTuple):
    """A line of a block: its piece and the line's number in it; piece -1 is the gap above the block."""

    block: int
    piece: int
    line: int


class _Item(msgspec.Struct):
    """The state of a block near the viewport."""

    block: Block
    layout: LineLayout
    markdown: Markdown = msgspec.field(default_factory=Markdown)


# How it works. A session can have a hundred thousand lines, a screen has fifty. Drawing a line (parsing Markdown,
# colouring code, folding words) is slow, so only lines near the viewport are drawn. Every other block has an estimated
# height, from the length of its text (`_estimate`), and the scroll bar shows the sum.
#
# An estimate is wrong until its block is drawn, and a correction above the viewport would shift everything that the
# user is reading. So the scroll position is not a line number. It is a place: block, piece and line in the piece
# (`anchor`). `top` computes the line number from the place whenever it is needed, so corrections above do not move the
# text. At the end of the list there is no anchor: `following` keeps the last line visible.
#
# `settle` draws the viewport and one screen above and below it. Drawing corrects heights, which can bring undrawn
# blocks into view, so it repeats until nothing changes. Each pass draws something new, so a few passes are enough.
#
# Example: blocks A, B and C have estimated heights of 3, 10 and 9 lines; the viewport has 6 lines, and the anchor is
# the first line of C, which is line 13. Drawing B shows that it has only 4 lines. The anchor is still the first line of
# C, but that is line 7 now: `top` returns 7, the scroll bar moves, and the text does not.
#
# Why not one Textual widget per block, or one list of drawn lines? Widgets are laid out again on every change, and a
# list must be redrawn completely when the width or the theme changes. Both cost more the longer the session is. Here a
# frame costs the same for any length: heights are prefix sums, computed only below the last change (`heights.Heights`),
# and changes happen at the end.


class VirtualList:
    """The lines of a view at one width, and the viewport.

    Laws (`tests/ui/tui/render/test_virtual_list_laws.py`): when following, the last line is visible; otherwise the line
    at the top of the viewport stays visible; no line is wider than the list; lines drawn while a text arrives equal
    those of the complete text.
    """

    def __init__(self, styles: Styles, *, clock: Callable[[], float]) -> None:
        self.styles = styles
        self._clock = clock
        self._view: View | Tail = View()
        self._width: int = _WIDEST
        self._keys: list[BlockKey] = []
        self._at: dict[BlockKey, int] = {}
        self._heights = Heights()  # the heights of all blocks, with the gap above each
        self._gaps: list[int] = []  # the gap above each block
        self._items: dict[BlockKey, _Item] = {}  # of the blocks in and near the viewport
        self._all = False  # whether all blocks are expanded
        self._flipped: set[BlockKey] = set()  # the blocks for which it is the other way round
        self.height = 0
        self.following = True
        self.anchor = LinePlace(0, -1, 0)
        self.thoughts = False
        """Whether the model's thinking is shown as it streams."""
        self.moving: set[BlockKey] = set()
        """The keys of blocks that show an elapsed time."""

    # The content.

    def load(self, view: View | Tail) -> None:
        """Show another view, at its end."""
        self._view = view
        self._items.clear()
        self.moving.clear()
        self._flipped.clear()
        self._keys, self._at, self._gaps, self._heights = [], {}, [], Heights()
        self.following = True
        self._sync()

    def fit(self, styles: Styles, width: int, height: int) -> None:
        """Set the styles and the size of the viewport; if they differ, everything is redrawn."""
        self.height = height
        room = max(_NARROWEST, min(width - MARK_WIDTH - 1, _WIDEST))
        if styles is self.styles and room == self._width:
            return
        self.styles, self._width = styles, room
        self.redraw()

    def update(self, changed: Iterable[BlockKey]) -> None:
        """Take over changes of the view."""
        changed = set(changed)
        if any(key not in self._at or self._view.block(key) is None for key in changed):
            self._sync()
        for key in changed:
            index = self._at.get(key)
            if index is None:
                continue
            item = self._items.get(key)
            block = self._view.block(key)
            if item is not None and block is not None:
                item.block = block
                self._refill(key, item)
            self._resize(index)

    def redraw(self) -> None:
        """Drop everything that is drawn."""
        self._items.clear()
        self.moving.clear()
        self._heights = Heights([self._estimated_height(index) for index in range(len(self._keys))])

    def toggle(self, key: BlockKey) -> None:
        """Expand or collapse a block."""
        self._flipped ^= {key}
        self._reopen(key)

    def toggle_all(self) -> None:
        """Expand or collapse all blocks."""
        self._all = not self._all
        self._flipped.clear()
        for key in self._items:
            self._reopen(key)

    @property
    def drawn_keys(self) -> frozenset[BlockKey]:
        """Return the blocks whose lines are drawn."""
        return frozenset(self._items)

    # The viewport.

    @property
    def total(self) -> int:
        """Return the number of lines, partly estimated."""
        return self._heights.total

    @property
    def top(self) -> int:
        """Return the first visible line."""
        last = max(0, self.total - self.height)
        return last if self.following else min(last, self.line_of(self.anchor))

    def scroll_to(self, y: int) -> None:
        """Scroll to line `y`; follow the end if it is visible then."""
        self.following = y >= self.total - self.height
        self.anchor = self.place(max(0, y))

    def settle(self) -> None:
        """Draw the viewport and one screen above and below it, so that a small scroll does not move anything."""
        if not self.following and self.anchor.block < len(self._keys):
            self._item(self.anchor.block)
        for _ in range(_PASSES):
            top = self.top
            if not self._draw(top - self.height, top + 2 * self.height):
                break
        if len(self._items) > _MOST_DRAWN:
            first, _ = self._heights.find(self.top)
            near = range(first - _NEAR, first + _NEAR)
            self._items = {key: item for key, item in self._items.items() if self._at[key] in near}
            self.moving &= self._items.keys()

    def place(self, y: int) -> LinePlace:
        """Return the place of line `y`."""
        if not self._keys:
            return LinePlace(0, -1, 0)
        index, within = self._heights.find(y)
        gap = self._gaps[index]
        item = self._items.get(self._keys[index])
        if within < gap or item is None:
            return LinePlace(index, -1, within)
        piece, number, _ = item.layout.line(within - gap)
        return LinePlace(index, piece, number)

    def line_of(self, place: LinePlace) -> int:
        """Return the line of a place."""
        if place.block >= len(self._keys):
            return self.total
        top = self._heights.top(place.block)
        item = self._items.get(self._keys[place.block])
        if place.piece < 0 or item is None:
            return top + place.line
        return top + self._gaps[place.block] + item.layout.top(place.piece) + place.line

    def line(self, y: int) -> DrawnLine:
        """Return line `y`, an empty one if it does not exist."""
        if not 0 <= y < self.total:
            return EMPTY_LINE
        index, within = self._heights.find(y)
        item = self._items.get(self._keys[index])
        gap = self._gaps[index]
        if item is None or within < gap:
            return EMPTY_LINE
        return item.layout.line(within - gap)[2] or EMPTY_LINE

    def block_at(self, y: int) -> Block | None:
        """Return the block of line `y`."""
        if not 0 <= y < self.total:
            return None
        index, within = self._heights.find(y)
        return self._view.block(self._keys[index]) if within >= self._gaps[index] else None

    def ends(self, key: BlockKey) -> tuple[int, int]:
        """Return the first and last line of a block; (0, 0) if it does not exist."""
        index = self._at.get(key)
        if index is None:
            return 0, 0
        return self._heights.top(index) + self._gaps[index], self._heights.top(index + 1) - 1

    def next_openable(self, key: BlockKey | None, step: int) -> BlockKey | None:
        """Return the next block (with -1 the previous one) that can be expanded; from the end if `key` is None."""
        index = self._at.get(key, len(self._keys)) if key is not None else len(self._keys)
        while 0 <= (index := index + step) < len(self._keys):
            block = self._view.block(self._keys[index])
            if block is not None and block_renderer.can_expand(block):
                return self._keys[index]
        return None

    def text(self, start: LinePlace, start_at: int, end: LinePlace, end_at: int) -> str:
        """Return the text from character `start_at` of `start` to `end_at` of `end`, for the clipboard."""
        parts: list[str] = []
        for place, line in self._between(start, end):
            text = line.text()
            last = max(0, end_at - line.margin) if place == end else len(text)
            first = max(0, start_at - line.margin) if place == start else 0
            parts += [text[first:last].rstrip() if line.join == "\n" else text[first:last], line.join]
        return "".join(parts[:-1])

    # Implementation.

    def _between(self, start: LinePlace, end: LinePlace) -> Iterator[tuple[LinePlace, DrawnLine]]:
        for index in range(start.block, min(end.block + 1, len(self._keys))):
            layout = self._item(index).layout
            for number in range(self._gaps[index]):
                if start <= (place := LinePlace(index, -1, number)) <= end:
                    yield place, EMPTY_LINE
            for piece in range(len(layout)):
                if (index, piece) < start[:2] or (index, piece) > end[:2]:
                    continue
                for number, line in enumerate(layout.lines_of(piece)):
                    if start <= (place := LinePlace(index, piece, number)) <= end:
                        yield place, line

    def _sync(self) -> None:
        """Take over the current keys; only those near the end can have changed."""
        keys = self._view.keys
        same = min(len(keys), len(self._keys))
        if self._keys[:same] != keys[:same]:
            same = next(at for at in range(same) if self._keys[at] != keys[at])
        for key in self._keys[same:]:
            del self._at[key]
        self._keys[same:] = keys[same:]
        self._at.update((key, at) for at, key in enumerate(self._keys[same:], same))
        for key in [key for key in self._items if key not in self._at]:
            del self._items[key]
            self.moving.discard(key)
        self._gaps[same:] = [int(index > 0 or self._view.has_above) for index in range(same, len(keys))]
        self._heights.splice(same, [self._estimated_height(index) for index in range(same, len(keys))])

    def _item(self, index: int) -> _Item:
        """Return the state of a block, creating it if needed."""
        key = self._keys[index]
        item = self._items.get(key)
        if item is None:
            block = self._view.block(key)
            assert block is not None
            item = self._items[key] = _Item(block, LineLayout(self.styles, self._width))
            self._refill(key, item)
        return item

    def _refill(self, key: BlockKey, item: _Item) -> None:
        """Update the pieces of a block."""
        opened = self._all != (key in self._flipped)
        item.layout.update(
            block_renderer.render_block(
                item.block, item.markdown, opened=opened, now=self._clock(), thoughts=self.thoughts
            )
        )
        if block_renderer.is_moving(item.block):
            self.moving.add(key)
        else:
            self.moving.discard(key)

    def _draw(self, top: int, bottom: int) -> bool:
        """Draw the lines in a range. Return whether a height changed."""
        changed = False
        index, _ = self._heights.find(top)
        while index < len(self._keys) and self._heights.top(index) < bottom:
            layout = self._item(index).layout
            above = self._heights.top(index) + self._gaps[index]
            layout.draw(top - above, bottom - above)
            changed = self._resize(index) or changed
            index += 1
        return changed

    def _reopen(self, key: BlockKey) -> None:
        item = self._items.get(key)
        if item is not None:
            self._refill(key, item)
            self._resize(self._at[key])

    def _resize(self, index: int) -> bool:
        """Set the height of a block and the gap above it. Return whether that changed anything."""
        item = self._items.get(self._keys[index])
        height = item.layout.height if item is not None else _estimate(self._view.block(self._keys[index]), self._width)
        changed = self._heights.set(index, self._gaps[index] + height if height else 0)
        if index + 1 == len(self._keys):
            return changed
        # Calls of one line each have no gap between them.
        calls = all(isinstance(self._view.block(key), CallBlock) for key in self._keys[index : index + 2])
        gap = 0 if calls and height <= 1 else 1
        if gap == self._gaps[index + 1]:
            return changed
        below = self._heights.height(index + 1)
        self._gaps[index + 1] = gap
        return self._heights.set(index + 1, below and below + (1 if gap else -1)) or changed

    def _estimated_height(self, index: int) -> int:
        """Return the approximate number of lines of an undrawn block, with the gap above it."""
        return self._gaps[index] + _estimate(self._view.block(self._keys[index]), self._width)


def _estimate(block: Block | None, width: int) -> int:
    """Return the approximate number of lines of a block, from the length of its text."""
    match block:
        case AnswerBlock(text=text) | UserBlock(text=text):
            return 1 + text.count("\n") + len(text) // min(width, PROSE)
        case CallBlock():
            return 3
        case Thinking() | Note() | TurnEnd() | None:
            return 1


def place_number(place: LinePlace) -> int:
    """Return a place as one number, in the same order; it does not change when lines above are drawn or added."""
    return (place.block * _PIECE_NUMBERS + place.piece + 1) * LINE_NUMBERS + place.line


def numbered_place(number: int) -> LinePlace:
    """Return the place with this number."""
    rest, at = divmod(number, LINE_NUMBERS)
    block, piece = divmod(rest, _PIECE_NUMBERS)
    return LinePlace(block, piece - 1, at)
