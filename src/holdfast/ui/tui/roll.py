"""The roll: a view's blocks as one long column of lines, of which only those that are looked at are drawn.

One rule: what stands where one looks stays there, whatever is drawn or changes above it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.ui.blocks import Answer, Block, Call, Key, Note, Prompt, Thinking, TurnEnd
from holdfast.ui.tui import cards
from holdfast.ui.tui.lines import MARK, Line, line
from holdfast.ui.tui.look import Look
from holdfast.ui.tui.markdown import PROSE, Markdown
from holdfast.ui.tui.sheet import Column, Sheet
from holdfast.ui.view import View

WIDEST = 200
"""Columns that are used at most."""

EMPTY = line(())

_NARROWEST = 20
_KEPT = 800  # blocks that may stay drawn
_NEAR = 200  # and those that do on each side when it is too many
_PASSES = 50  # each draws something that was not drawn, so a few are enough


class Place(NamedTuple):
    """A line of a block: its piece, and the line's number in that; piece -1 is the empty lines above the block."""

    block: int
    piece: int
    line: int


@dataclass(slots=True)
class _Item:
    """What is kept of a block that is looked at."""

    block: Block
    sheet: Sheet
    markdown: Markdown = field(default_factory=Markdown)


class Roll:
    """The lines of a view at one width, and where one looks.

    Laws (`tests/ui/test_roll_laws.py`): following, the last line is in sight; not following, the line that was looked
    at stays in sight; no line is wider than the roll; lines drawn as a text came are those drawn when it is complete.
    """

    def __init__(self, look: Look, *, clock: Callable[[], float]) -> None:
        self.look = look
        self._clock = clock
        self._view = View()
        self._width: int = WIDEST
        self._keys: list[Key] = []
        self._at: dict[Key, int] = {}
        self._column = Column()  # the heights of all blocks, with the empty lines above each
        self._gaps: list[int] = []  # those lines
        self._items: dict[Key, _Item] = {}  # of the blocks in and near sight
        self._all = False  # whether blocks are opened
        self._flipped: set[Key] = set()  # those for which it is the other way
        self.height = 0
        self.following = True
        self.anchor = Place(0, -1, 0)
        self.moving: set[Key] = set()
        """The blocks that say how long something has taken so far."""

    # What there is.

    def load(self, view: View) -> None:
        """Take another view, and look at its end."""
        self._view = view
        self._items.clear()
        self.moving.clear()
        self._flipped.clear()
        self._keys, self._at, self._gaps, self._column = [], {}, [], Column()
        self.following = True
        self._sync()

    def fit(self, look: Look, width: int, height: int) -> None:
        """Take the look and the size of what the roll is seen through; nothing stays drawn if they are others."""
        self.height = height
        room = max(_NARROWEST, min(width - MARK - 1, WIDEST))
        if look is self.look and room == self._width:
            return
        self.look, self._width = look, room
        self.redraw()

    def update(self, changed: Iterable[Key]) -> None:
        """Take what changed in the view."""
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
        """Forget everything that is drawn."""
        self._items.clear()
        self.moving.clear()
        self._column = Column([self._guessed(index) for index in range(len(self._keys))])

    def toggle(self, key: Key) -> None:
        """Show all of a block, or its first lines again."""
        self._flipped ^= {key}
        self._reopen(key)

    def toggle_all(self) -> None:
        """Show all of every block, or only the first lines again."""
        self._all = not self._all
        self._flipped.clear()
        for key in self._items:
            self._reopen(key)

    @property
    def kept(self) -> frozenset[Key]:
        """Return the blocks whose lines are kept."""
        return frozenset(self._items)

    # Where one looks.

    @property
    def total(self) -> int:
        """Return how many lines there are, as far as is known."""
        return self._column.total

    @property
    def top(self) -> int:
        """Return the first line in sight."""
        last = max(0, self.total - self.height)
        return last if self.following else min(last, self.line_of(self.anchor))

    def look_at(self, y: int) -> None:
        """Look at the lines from `y` on; follow the end if that is where it is."""
        self.following = y >= self.total - self.height
        self.anchor = self.place(max(0, y))

    def settle(self) -> None:
        """Draw what is in sight, and as much above and below, so that what is a step away stays where it is."""
        if not self.following and self.anchor.block < len(self._keys):
            self._item(self.anchor.block)
        for _ in range(_PASSES):
            top = self.top
            if not self._draw(top - self.height, top + 2 * self.height):
                break
        if len(self._items) > _KEPT:
            first, _ = self._column.find(self.top)
            near = range(first - _NEAR, first + _NEAR)
            self._items = {key: item for key, item in self._items.items() if self._at[key] in near}
            self.moving &= self._items.keys()

    def place(self, y: int) -> Place:
        """Return what is at line `y`."""
        if not self._keys:
            return Place(0, -1, 0)
        index, within = self._column.find(y)
        gap = self._gaps[index]
        item = self._items.get(self._keys[index])
        if within < gap or item is None:
            return Place(index, -1, within)
        piece, number, _ = item.sheet.line(within - gap)
        return Place(index, piece, number)

    def line_of(self, place: Place) -> int:
        """Return at which line a place is."""
        if place.block >= len(self._keys):
            return self.total
        top = self._column.top(place.block)
        item = self._items.get(self._keys[place.block])
        if place.piece < 0 or item is None:
            return top + place.line
        return top + self._gaps[place.block] + item.sheet.top(place.piece) + place.line

    def line(self, y: int) -> Line:
        """Return line `y`, an empty one if there is none."""
        if not 0 <= y < self.total:
            return EMPTY
        index, within = self._column.find(y)
        item = self._items.get(self._keys[index])
        gap = self._gaps[index]
        if item is None or within < gap:
            return EMPTY
        return item.sheet.line(within - gap)[2] or EMPTY

    def block_at(self, y: int) -> Block | None:
        """Return the block that line `y` is of."""
        if not 0 <= y < self.total:
            return None
        index, within = self._column.find(y)
        return self._view.block(self._keys[index]) if within >= self._gaps[index] else None

    def ends(self, key: Key) -> tuple[int, int]:
        """Return the first and the last line of a block; (0, 0) if there is no such block."""
        index = self._at.get(key)
        if index is None:
            return 0, 0
        return self._column.top(index) + self._gaps[index], self._column.top(index + 1) - 1

    def next_openable(self, key: Key | None, step: int) -> Key | None:
        """Return the next block (or with -1 the one before) of which there is more to see; from the end if None."""
        index = self._at.get(key, len(self._keys)) if key is not None else len(self._keys)
        while 0 <= (index := index + step) < len(self._keys):
            block = self._view.block(self._keys[index])
            if block is not None and cards.opens(block):
                return self._keys[index]
        return None

    def text(self, start: Place, start_at: int, end: Place, end_at: int) -> str:
        """Return what stands between a character of one place and a character of another, as one would write it."""
        parts: list[str] = []
        for place, one in self._between(start, end):
            said = one.text()
            last = max(0, end_at - one.margin) if place == end else len(said)
            first = max(0, start_at - one.margin) if place == start else 0
            parts += [said[first:last].rstrip() if one.join == "\n" else said[first:last], one.join]
        return "".join(parts[:-1])

    # How it is done.

    def _between(self, start: Place, end: Place) -> Iterator[tuple[Place, Line]]:
        for index in range(start.block, min(end.block + 1, len(self._keys))):
            sheet = self._item(index).sheet
            for number in range(self._gaps[index]):
                if start <= (place := Place(index, -1, number)) <= end:
                    yield place, EMPTY
            for piece in range(len(sheet)):
                if (index, piece) < start[:2] or (index, piece) > end[:2]:
                    continue
                for number, one in enumerate(sheet.lines_of(piece)):
                    if start <= (place := Place(index, piece, number)) <= end:
                        yield place, one

    def _sync(self) -> None:
        """Take the keys as they are now; only those near the end are ever others than before."""
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
        self._gaps[same:] = [int(index > 0) for index in range(same, len(keys))]
        self._column.splice(same, [self._guessed(index) for index in range(same, len(keys))])

    def _item(self, index: int) -> _Item:
        """Return what is kept of a block, from now on if nothing was."""
        key = self._keys[index]
        item = self._items.get(key)
        if item is None:
            block = self._view.block(key)
            assert block is not None
            item = self._items[key] = _Item(block, Sheet(self.look, self._width))
            self._refill(key, item)
        return item

    def _refill(self, key: Key, item: _Item) -> None:
        """Put the pieces of a block on its sheet."""
        opened = self._all != (key in self._flipped)
        item.sheet.update(cards.pieces(item.block, item.markdown, opened=opened, now=self._clock()))
        if cards.is_moving(item.block):
            self.moving.add(key)
        else:
            self.moving.discard(key)

    def _draw(self, top: int, bottom: int) -> bool:
        """Draw the lines between two, and return whether a height changed."""
        changed = False
        index, _ = self._column.find(top)
        while index < len(self._keys) and self._column.top(index) < bottom:
            sheet = self._item(index).sheet
            above = self._column.top(index) + self._gaps[index]
            sheet.draw(top - above, bottom - above)
            changed = self._resize(index) or changed
            index += 1
        return changed

    def _reopen(self, key: Key) -> None:
        item = self._items.get(key)
        if item is not None:
            self._refill(key, item)
            self._resize(self._at[key])

    def _resize(self, index: int) -> bool:
        """Set the height of a block and how far the next one is, and return whether that changed anything."""
        item = self._items.get(self._keys[index])
        height = item.sheet.height if item is not None else _guess(self._view.block(self._keys[index]), self._width)
        changed = self._column.set(index, self._gaps[index] + height if height else 0)
        if index + 1 == len(self._keys):
            return changed
        # Between calls of one line each there is no empty line.
        calls = all(isinstance(self._view.block(key), Call) for key in self._keys[index : index + 2])
        gap = 0 if calls and height <= 1 else 1
        if gap == self._gaps[index + 1]:
            return changed
        below = self._column.height(index + 1)
        self._gaps[index + 1] = gap
        return self._column.set(index + 1, below and below + (1 if gap else -1)) or changed

    def _guessed(self, index: int) -> int:
        """Return about how many lines a block has that was not drawn, with the empty ones above it."""
        return self._gaps[index] + _guess(self._view.block(self._keys[index]), self._width)


def _guess(block: Block | None, width: int) -> int:
    """Return about how many lines a block has, from how long it is."""
    match block:
        case Answer(text=text) | Prompt(text=text):
            return 1 + text.count("\n") + len(text) // min(width, PROSE)
        case Call():
            return 3
        case Thinking() | Note() | TurnEnd() | None:
            return 1
