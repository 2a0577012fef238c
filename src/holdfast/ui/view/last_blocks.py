"""The last blocks of a view, with the interface of a view."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ui.view.blocks import Block, BlockKey
from holdfast.ui.view.view import View


class Tail:
    """The blocks of a view after the first `begin`."""

    def __init__(self, view: View, begin: int) -> None:
        self._view = view
        self._begin = begin
        self.has_above = begin > 0

    @property
    def keys(self) -> Sequence[BlockKey]:
        """Return the keys of the blocks, in order."""
        return self._view.keys[self._begin :]

    def block(self, key: BlockKey) -> Block | None:
        """Return the current block, None if there is none."""
        return self._view.block(key)
