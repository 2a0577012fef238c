"""A session that a worker holds: its journal, and the inbox rows that wait for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from holdfast.fleet.record import InboxRow
from holdfast.session.journal.store import Store


class HeldSession(Protocol):
    """A session whose lease this process holds. One thread at a time.

    The worker's loop is written against this, so that it drives sessions in PostgreSQL and local ones alike.
    """

    @property
    def id(self) -> str:
        """Return the session's id."""
        ...

    @property
    def store(self) -> Store:
        """Return the journal. Its appends raise `LeaseLost` once the lease is another's."""
        ...

    @property
    def crashed(self) -> bool:
        """Return whether the holder before died while it had the session."""
        ...

    @property
    def tries(self) -> int:
        """Return how many holders died in it since a turn last finished."""
        ...

    def waiting(self) -> tuple[InboxRow, ...]:
        """Return the rows that are not done, in order."""
        ...

    def taking(self, *rows: InboxRow) -> AbstractContextManager[None]:
        """Mark `rows` as done in the transaction of the next append within the block, or at its end if none came."""
        ...

    def refuse(self, row: InboxRow, why: str) -> None:
        """Mark `row` as done without an entry, and say why."""
        ...

    def watch(self, changed: Callable[[], None]) -> None:
        """Have `changed` called, from any thread, when a row may have arrived."""
        ...

    def hold(self, why: str) -> None:
        """Keep every worker from taking the session until a user asks something of it."""
        ...

    def give(self, place: Mapping[str, object]) -> bool:
        """Give the lease back, and store the place. Return false, and keep the lease, if a row waits."""
        ...
