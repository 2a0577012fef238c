"""The interface of a held session: its journal, its place, and the inbox rows that wait for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from holdfast.fleet.record import InboxRow
from holdfast.session.journal.store import Store


class HeldSession(Protocol):
    """A session whose lease this process holds. One thread at a time.

    `SessionDriver` uses only this interface, so it drives sessions in PostgreSQL and local ones alike.
    """

    @property
    def id(self) -> str:
        """Return the session's id."""
        ...

    @property
    def store(self) -> Store:
        """Return the journal. Its appends raise `LeaseLost` after another process has taken the lease."""
        ...

    @property
    def crashed(self) -> bool:
        """Return whether the previous holder died while it held the session."""
        ...

    @property
    def tries(self) -> int:
        """Return how many holders have died since a turn last finished."""
        ...

    @property
    def place(self) -> dict[str, object]:
        """Return where the session works."""
        ...

    @property
    def place_before(self) -> dict[str, object]:
        """Return the place as the previous holder left it: open calls began there."""
        ...

    def waiting_rows(self) -> tuple[InboxRow, ...]:
        """Return the rows that are not done, in order."""
        ...

    def name_of(self, row: InboxRow) -> str:
        """Return the id that the entry of a message carries."""
        ...

    def expect(self, row: InboxRow) -> None:
        """Mark `row` as done with the next append that has an entry of its kind."""
        ...

    def forget(self, row: InboxRow) -> None:
        """Expect no more entry for `row`."""
        ...

    def close_row(self, row: InboxRow, why: str = "") -> None:
        """Mark `row` as done without an entry. `why` says why it was refused, "" if it was carried out."""
        ...

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed`, from another thread, whenever a row may have arrived."""
        ...

    def put_place(self, place: Mapping[str, object]) -> None:
        """Store the session's new place, before anything is done there."""
        ...

    def release(
        self,
        place: Mapping[str, object] | None = None,
        *,
        parked: bool = False,
        hold_reason: str = "",
        requeue: bool = False,
    ) -> bool:
        """Release the lease and store the place. If a row waits, return false and keep the lease.

        A prompt does not count as waiting while a turn is `parked`. With a `hold_reason` no worker takes the session
        until a user sends it something. With `requeue` another worker should take it soon.
        """
        ...
