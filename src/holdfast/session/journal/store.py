"""The interface of a journal: append with an expected length, read, close.

`MemoryStore` and `SqliteStore` pass the same test suite, `holdfast.testing.check_store`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from holdfast.errors import AppendConflict, StateError
from holdfast.session.journal.entries import Entry, ResponseCheckpoint, decode, encode


class Finding(msgspec.Struct, frozen=True):
    """Damage found while reading: `seq` is the entry's position from 1, 0 for the whole file; `what` is a sentence."""

    seq: int
    what: str


class StoredEntry(msgspec.Struct, frozen=True):
    """One readable entry with its position: `seq` from 1, `at` in seconds since the epoch."""

    seq: int
    at: float
    entry: Entry


class Reading(msgspec.Struct, frozen=True):
    """All readable entries in order, and the findings for the others."""

    records: tuple[StoredEntry, ...]
    findings: tuple[Finding, ...] = ()


class Store(Protocol):
    """A journal held by one writer.

    Laws (`holdfast.testing.check_store`): once `append` has returned, this and any later reader reads the entries,
    in order; a failed `append` changed nothing and the next may succeed; several entries are appended all or none.
    """

    @property
    def length(self) -> int:
        """Return the number of entries, damaged ones included."""
        ...

    def read(self) -> Reading:
        """Return every entry from the first. Damage becomes a finding, never an exception."""
        ...

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        """Append `entries` durably, all or none, and return the new length.

        Raises `AppendConflict` if `expected` is not the present length, `StorageFailed` if they could not be made
        durable, `StateError` if the store is closed.
        """
        ...

    def close(self) -> None:
        """Release the lease. Closing twice is fine."""
        ...


@runtime_checkable
class StreamingStore(Protocol):
    """A store that also keeps the text which is being streamed, for the case that this process is killed.

    It is optional: without it a kill loses the text since the last append.
    """

    def keep_streamed(self, checkpoint: ResponseCheckpoint, *, expected: int) -> None:
        """Write text that the next append will hold, so that it survives a kill; it may be lost with the power.

        If no append follows, the next process that opens the journal finds it as its last entry. Raises as
        `Store.append`.
        """
        ...


@runtime_checkable
class FoldStore(Protocol):
    """A store that also keeps a written fold, so that a resumed session need not read every entry.

    It is optional, and a cache: a store without it, or that lost it, is read from the first entry.
    """

    @property
    def unfolded(self) -> int:
        """Return the bytes of the entries after the kept fold, and of all without one."""
        ...

    def keep_fold(self, state: bytes, *, version: str, expected: int, verified: int = 0) -> None:
        """Keep the fold of the first `expected` entries, by the fold of this `version`. A failure only loses it.

        `verified` is where a verification in the background continues. Raises `AppendConflict` or `StateError`.
        """
        ...

    def drop_fold(self) -> None:
        """Forget the kept fold: the next process reads every entry."""
        ...

    def read_after(self, seq: int) -> Reading | None:
        """Return the entries after `seq`, None if all must be read because of damage."""
        ...

    def some_rows(self, after: int, most: int) -> Sequence[Sequence[object]] | None:
        """Return up to `most` rows after a position, to be verified; None if the database cannot be read there."""
        ...

    def verified(self, rows: Sequence[Sequence[object]], *, after: int, before: bytes | None) -> tuple[Finding, ...]:
        """Return the damage in these rows, as `read` finds it; from any thread.

        They follow the row `after`, whose stored checksum is `before`, None if that is not known.
        """
        ...

    def outcome_texts(self, seqs: Sequence[int]) -> Mapping[int, str]:
        """Return the texts of the outcomes of calls at these positions, without those that cannot be read."""
        ...


class MemoryStore:
    """Keeps a journal in memory, for tests and for sessions that leave no trace."""

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self._rows: list[tuple[float, bytes]] = []
        self._now = now
        self._closed = False

    @property
    def length(self) -> int:
        return len(self._rows)

    def read(self) -> Reading:
        """Return every entry from the first."""
        rows = enumerate(self._rows, start=1)
        return Reading(records=tuple(StoredEntry(seq=seq, at=at, entry=decode(body)) for seq, (at, body) in rows))

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        """Append `entries` and return the new length; raises as `Store.append`."""
        if self._closed:
            msg = "The journal is closed. Open the session again."
            raise StateError(msg)
        if expected != len(self._rows):
            raise conflict(expected=expected, found=len(self._rows))
        at = self._now()
        self._rows.extend([(at, encode(entry)) for entry in entries])
        return len(self._rows)

    def close(self) -> None:
        """Refuse further appends. Reading still works."""
        self._closed = True


def conflict(*, expected: int, found: int) -> AppendConflict:
    """Return the error for an append with the wrong expected length."""
    msg = (
        f"Another process appended to the journal: it holds {found} entries (expected {expected}). Nothing was "
        "written. Read the journal again before appending."
    )
    return AppendConflict(msg, expected=expected, found=found)
