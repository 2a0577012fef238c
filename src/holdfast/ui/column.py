"""The column: the blocks of a view by key, one below the other, and what is still being added to them.

One rule: what a block has grown by is joined to it only when it is looked at, so that a thousand small pieces of text
cost what they are long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.tools.output import HeadTail
from holdfast.ui.blocks import Answer, Block, Call, Key, Thinking, written

PRINTED = 64_000
"""Bytes kept of what a running call prints: half of them its beginning, half its end."""


class Column:
    """Blocks in order; each key stands in it once at most."""

    def __init__(self) -> None:
        self._order: list[Key] = []
        self._blocks: dict[Key, Block] = {}
        self._grown: dict[Key, list[str]] = {}  # text that has come since the block was last looked at
        self._printed: dict[Key, HeadTail] = {}
        self._changed: set[Key] = set()

    @property
    def keys(self) -> Sequence[Key]:
        """Return the keys of all blocks, in order; the sequence changes with the column."""
        return self._order

    @property
    def with_output(self) -> tuple[Key, ...]:
        """Return the keys of the calls that print, or did and were never said to have ended."""
        return tuple(self._printed)

    def block(self, key: Key) -> Block | None:
        """Return the block with all it has grown by, None if there is none; costs what its text is long."""
        block = self._blocks.get(key)
        grown = self._grown.pop(key, None)
        if grown is None:
            return block
        match block:
            case Answer() | Thinking():
                self._blocks[key] = replace(block, text=block.text + "".join(grown))
            case Call(state="writing"):
                self._blocks[key] = written(block, "".join(grown))
            case Call(state="running"):
                self._blocks[key] = replace(block, output=self._printed[key].text())
            case _:
                pass
        return self._blocks.get(key)

    def peek(self, key: Key) -> Block | None:
        """Return the block without what it has grown by since it was last looked at; costs nothing."""
        return self._blocks.get(key)

    def changes(self) -> frozenset[Key]:
        """Return the keys of what has changed since this was asked last."""
        changed, self._changed = frozenset(self._changed), set()
        return changed

    def add(self, block: Block, *, before: Key | None = None) -> None:
        """Add a block at the end, or before another."""
        self._order.insert(len(self._order) if before is None else self._place(before), block.key)
        self.set(block)

    def set(self, block: Block) -> None:
        """Put a block in the place of the one with its key."""
        self._blocks[block.key] = block
        self._changed.add(block.key)

    def replace(self, keys: Sequence[Key], blocks: Sequence[Block]) -> None:
        """Put `blocks` where those of `keys` were, at the end if there were none."""
        place = self._place(keys[0]) if keys else len(self._order)
        for key in keys:
            del self._order[self._place(key)]
            self._grown.pop(key, None)
            del self._blocks[key]
            self._changed.add(key)
        self._order[place:place] = [block.key for block in blocks]
        for block in blocks:
            self._grown.pop(block.key, None)  # white space that was no block yet
            self.set(block)

    def grow(self, key: Key, text: str) -> None:
        """Add to the text of a block; of one that is not there yet it is the beginning."""
        self._grown.setdefault(key, []).append(text)
        if key in self._blocks:
            self._changed.add(key)

    def begin_output(self, key: Key) -> None:
        """Take note that a call runs, and may print."""
        self._printed[key] = HeadTail(PRINTED)

    def output(self, key: Key, text: str) -> None:
        """Add to what a call has printed; of one that does not run it is dropped."""
        if key in self._printed:
            self._printed[key].add(text.encode("utf-8", "replace"))
            self._grown.setdefault(key, [])
            self._changed.add(key)

    def end_output(self, key: Key) -> None:
        """Take note that a call prints no more."""
        self._printed.pop(key, None)

    def _place(self, key: Key) -> int:
        """Return where `key` is; looked for from the end, where everything happens."""
        return next(at for at in range(len(self._order) - 1, -1, -1) if self._order[at] == key)
