"""A session that a worker holds: its journal, and the inbox rows that wait for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from holdfast.fleet.record import InboxRow
from holdfast.session.journal.store import Store


class HeldSession(Protocol):
    """A session whose lease this process holds. One thread at a time.

    The look is written against this, so that it drives sessions in PostgreSQL and local ones alike.
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

    @property
    def place(self) -> dict[str, object]:
        """Return where the session works."""
        ...

    @property
    def place_before(self) -> dict[str, object]:
        """Return the place as the last holder left it: the calls that are open began there."""
        ...

    def waiting(self) -> tuple[InboxRow, ...]:
        """Return the rows that are not done, in order."""
        ...

    def name_of(self, row: InboxRow) -> str:
        """Return the id that the entry of a message carries, "" if the append itself marks its row as done."""
        ...

    def expect(self, row: InboxRow) -> None:
        """Mark `row` as done with the next append that has an entry of its kind."""
        ...

    def forget(self, row: InboxRow) -> None:
        """Expect no entry for `row` any more."""
        ...

    def close_row(self, row: InboxRow, why: str = "") -> None:
        """Mark `row` as done without an entry. `why` says why nothing was done, "" if something was."""
        ...

    def watch(self, changed: Callable[[], None]) -> None:
        """Have `changed` called, from another thread, when a row may have arrived."""
        ...

    def put_place(self, place: Mapping[str, object]) -> None:
        """Note the place that the session now has, before anything is done in it."""
        ...

    def give(
        self,
        place: Mapping[str, object] | None = None,
        *,
        parked: bool = False,
        why_held: str = "",
        again: bool = False,
    ) -> bool:
        """Give the lease back, and store the place. Return false, and keep the lease, if a row waits.

        A prompt does not count as waiting while a turn is `parked`. With `why_held` no worker takes the session until a
        user asks something of it; with `again` another worker is to take it soon.
        """
        ...
