"""Which tools of a framework may run twice, and how to look whether one ran: what its adapters have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from holdfast.ledger.call import RecordedCall
from holdfast.ledger.ledger import Ledger

Settle = Mapping[str, Callable[[Mapping[str, object]], bool | None]]
"""For a tool by its name, a function that looks whether a call with these arguments took effect."""


class ToolPolicies:
    """Makes the calls of a framework's tools: those in `safe` may run twice, those in `reads` have no effect."""

    def __init__(self, ledger: Ledger, *, safe: Collection[str], reads: Collection[str], settle: Settle) -> None:
        self.ledger = ledger
        self._safe = frozenset(safe)
        self._reads = frozenset(reads)
        self._settle = settle

    def call(self, identifier: str, name: str, arguments: Mapping[str, object]) -> RecordedCall:
        """Return the call, to be entered."""
        look = self._settle.get(name)
        return self.ledger.call(
            identifier,
            name,
            arguments,
            effect="read" if name in self._reads else "remote",
            replay="safe" if name in self._safe or name in self._reads else "never",
            settle=None if look is None else lambda: look(arguments),
        )
