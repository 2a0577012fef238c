"""Where a ledger keeps its calls: the protocol that the SQLite file fulfils, and another database can."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from holdfast.ledger.call_row import CallRow


class CallStore(Protocol):
    """Keeps the calls of any number of processes. Each method is one transaction, durable when it returns.

    Any thread may call it. Raises `StorageFailed` if it cannot write, `DamageError` if it cannot read.
    """

    def begin(self, row: CallRow, *, may_replace: Callable[[CallRow], bool]) -> CallRow | None:
        """Write the beginning of a call and return None; or write nothing and return the row that is there.

        A row that is there is replaced if `may_replace` returns True for it; its `attempt` is then one more. Nothing
        of another process happens in between.
        """
        ...

    def finish(self, row: CallRow) -> bool:
        """Write the end of the same attempt of a call. Return False if that attempt is not there without an end."""
        ...

    def rows(self, scope: str, ids: Sequence[str]) -> Mapping[str, CallRow | None]:
        """Return the calls with these ids that are there, None for one whose row is damaged."""
        ...

    def keep_result(self, data: bytes) -> str:
        """Keep a result that is too long for a row, durably, and return its name."""
        ...

    def kept_result(self, name: str) -> bytes:
        """Return such a result. Raises `DamageError` if it is not as it was written."""
        ...

    def prune(self, before: float, *, is_alive: Callable[[str], bool]) -> int:
        """Remove the calls that ended before that time, and those without an end of dead processes that began then.

        Return how many.
        """
        ...

    def close(self) -> None:
        """Close it. Closing twice is fine."""
        ...
