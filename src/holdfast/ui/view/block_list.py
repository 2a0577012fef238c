"""The list of a view's blocks by key, in order, and the text that is still being added to them.

Added text is joined to its block only when the block is read, so that a thousand small pieces cost no more than one
long text.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.tools.truncation import HeadTail
from holdfast.ui.view.blocks import AnswerBlock, Block, BlockKey, CallBlock, Thinking, add_arguments

PRINTED = 64_000
"""Bytes of a running call's output to keep: the first half and the last half."""


class BlockList:
    """Blocks in order; each key occurs at most once."""

    def __init__(self) -> None:
        self._order: list[BlockKey] = []
        self._blocks: dict[BlockKey, Block] = {}
        self._grown: dict[BlockKey, list[str]] = {}  # text added since the block was last read
        self._printed: dict[BlockKey, HeadTail] = {}
        self._changed: set[BlockKey] = set()

    @property
    def keys(self) -> Sequence[BlockKey]:
        """Return the keys of all blocks, in order; the sequence changes with the list."""
        return self._order

    @property
    def with_output(self) -> tuple[BlockKey, ...]:
        """Return the keys of calls that print, or whose output has no end."""
        return tuple(self._printed)

    def block(self, key: BlockKey) -> Block | None:
        """Return the block with all its text, None if there is none. The cost is proportional to the text."""
        block = self._blocks.get(key)
        grown = self._grown.pop(key, None)
        if grown is None:
            return block
        match block:
            case AnswerBlock() | Thinking():
                self._blocks[key] = msgspec.structs.replace(block, text=block.text + "".join(grown))
            case CallBlock(state="writing"):
                self._blocks[key] = add_arguments(block, "".join(grown))
            case CallBlock(state="running"):
                self._blocks[key] = msgspec.structs.replace(block, output=self._printed[key].text())
            case _:
                pass
        return self._blocks.get(key)

    def peek(self, key: BlockKey) -> Block | None:
        """Return the block without the text added since it was last read; costs nothing."""
        return self._blocks.get(key)

    def changes(self) -> frozenset[BlockKey]:
        """Return the keys that changed since the last call."""
        changed, self._changed = frozenset(self._changed), set()
        return changed

    def add(self, block: Block, *, before: BlockKey | None = None) -> None:
        """Add a block at the end, or before another one."""
        self._order.insert(len(self._order) if before is None else self._place(before), block.key)
        self.set(block)

    def set(self, block: Block) -> None:
        """Replace the block with the same key."""
        self._blocks[block.key] = block
        self._changed.add(block.key)

    def replace(self, keys: Sequence[BlockKey], blocks: Sequence[Block]) -> None:
        """Replace the blocks of `keys` by `blocks`; without keys, add them at the end."""
        place = self._place(keys[0]) if keys else len(self._order)
        for key in keys:
            del self._order[self._place(key)]
            self._grown.pop(key, None)
            del self._blocks[key]
            self._changed.add(key)
        self._order[place:place] = [block.key for block in blocks]
        for block in blocks:
            self._grown.pop(block.key, None)  # whitespace that had no block yet
            self.set(block)

    def grow(self, key: BlockKey, text: str) -> None:
        """Add text to a block; without a block, the text waits for one."""
        self._grown.setdefault(key, []).append(text)
        if key in self._blocks:
            self._changed.add(key)

    def begin_output(self, key: BlockKey) -> None:
        """Note that a call runs and may print."""
        self._printed[key] = HeadTail(PRINTED)

    def output(self, key: BlockKey, text: str) -> None:
        """Add output to a running call; output of any other call is dropped."""
        if key in self._printed:
            self._printed[key].add(text.encode("utf-8", "replace"))
            self._grown.setdefault(key, [])
            self._changed.add(key)

    def end_output(self, key: BlockKey) -> str:
        """Note that a call has ended its output, and return what is kept of it."""
        printed = self._printed.pop(key, None)
        return "" if printed is None else printed.text()

    def _place(self, key: BlockKey) -> int:
        """Return the index of `key`, searching from the end, where changes happen."""
        return next(at for at in range(len(self._order) - 1, -1, -1) if self._order[at] == key)
