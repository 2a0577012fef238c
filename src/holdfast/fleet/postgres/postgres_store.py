"""A session's journal in PostgreSQL, written under a lease that is checked in the same transaction as each append.

How there is only one writer. A worker may be dead, stopped or cut off, and its successor cannot know which. So the
successor takes a new lease, a random token, and from then on an append with the old token matches no row. The same
statement checks the length and the chained checksum: a writer whose tail differs from the server's, because a failover
lost its last commits, is refused as well.

Why not a lease with a time limit that each writer checks? A process that was stopped between its check and its write
would write anyway. The statement that writes must be the one that checks.

In doubt. When the connection breaks during an append, the server may or may not have committed it. The store reconnects
and locks the session's row, which waits for a transaction that may still be committing. After that, either the entry at
the new length has the checksum that this process computed, or it was not written. Only then is the append sent again.

Example: the server restarts while a turn runs. Each append waits for the server, checks, and continues; the turn
notices nothing. If the server is unreachable for longer than the patience, the append raises `StorageFailed`, and the
turn ends as it does on a full disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence

import msgspec

from holdfast.errors import LeaseLost, StateError
from holdfast.fleet.postgres.database import Database
from holdfast.fleet.record import FleetSummary
from holdfast.session.journal.entries import FORMAT, Entry, TurnEnded, encode, kind
from holdfast.session.journal.store import Finding, Reading, conflict
from holdfast.session.storage.lease import forked
from holdfast.session.storage.row_codec import StoredRow, checksum, verify_rows

_APPEND = (
    "select holdfast.append(%s, %s::uuid, %s, %s, %s::float8[], %s::text[], %s::bytea[], %s::bytea[], "
    "%s::bigint[], %s::int[], %s::jsonb, %s, %s)"
)

_NO_PROGRESS = frozenset({"crash", "external", "storage"})
"""Causes of a turn's end that do not count as progress, when the crashes of a session are counted."""

RowMatcher = Callable[[Sequence[Entry]], list[tuple[int, int]]]
"""Returns the inbox rows that become entries of an append: the id of each, and the place of its entry, from 1."""


class PlainBodies:
    """Bodies that are stored in the rows themselves."""

    def body(self, stored: bytes) -> bytes:
        """Return the stored bytes."""
        return stored


class PostgresStore:
    """Keeps a journal as rows of PostgreSQL, for the holder of its lease. One thread at a time.

    Laws (`tests/fleet/test_postgres_store_laws.py`): those of `Store`, also while the server crashes.
    """

    def __init__(  # noqa: PLR0913 - the results of `take`
        self,
        database: Database,
        session: str,
        *,
        lease: str,
        length: int,
        link: bytes,
        now: Callable[[], float] = time.time,
        match_rows: RowMatcher = lambda _: [],
        rows_done: Callable[[Collection[int]], None] = lambda _: None,
    ) -> None:
        """Write a session that had `length` entries when the lease was taken, the last with the checksum `link`.

        The rows that `match_rows` returns are marked as done in the transaction of the append, and then told to
        `rows_done`.
        """
        self._database = database
        self._session = session
        self._lease = lease
        self._length = length
        self._link = link
        self._now = now
        self._match_rows = match_rows
        self._rows_done = rows_done
        self._closed = False
        self._pid = os.getpid()
        self.summary = FleetSummary()

    @property
    def length(self) -> int:
        """Return the number of entries, damaged ones included."""
        self._refuse_closed()
        self._find_tail()
        return self._length

    def read(self) -> Reading:
        """Return every entry from the first, and the damage that was found."""
        self._refuse_closed()
        self._find_tail()
        reading = read_session_rows(self._database, self._session, length=self._length, link=self._link)
        self.summary = FleetSummary().after(record.entry for record in reading.records)
        return reading

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        """Append `entries` in one transaction, durable on return, and return the new length.

        Raises `AppendConflict`, `LeaseLost`, `StorageFailed` or `StateError`; then nothing was appended. Only if the
        server stayed unreachable may the entries have been appended: the next append or read finds out.
        """
        self._refuse_closed()
        encoded = [(kind(entry), encode(entry)) for entry in entries]
        if expected != self._length:
            self._find_tail()
            if expected != self._length:
                raise conflict(expected=expected, found=self._length)
        if not entries:
            return expected
        length, at, sums = expected + len(entries), float(self._now()), list[bytes]()
        for seq, (name, body) in enumerate(encoded, start=expected + 1):
            sums.append(checksum(sums[-1] if sums else self._link, seq, at, name, body))
        matches, summary = self._match_rows(entries), self.summary.after(entries)
        verdict = self._sent(
            length,
            sums[-1],
            self._session,
            self._lease,
            expected,
            self._link,
            [at] * len(entries),
            [name for name, _ in encoded],
            [body for _, body in encoded],
            sums,
            [row for row, _ in matches],
            [place for _, place in matches],
            msgspec.json.encode(summary).decode(),
            any(isinstance(entry, TurnEnded) and entry.cause not in _NO_PROGRESS for entry in entries),
        )
        if verdict == "lost":
            raise LeaseLost(
                f"Session {self._session!r} was taken over by another worker. Nothing more is written here."
            )
        if verdict != "ok":
            self._find_tail()
            raise conflict(expected=expected, found=self._length)
        self._length, self._link, self.summary = length, sums[-1], summary
        self._rows_done([row for row, _ in matches])
        return length

    def add_rows(self, rows: Sequence[StoredRow], summary: FleetSummary) -> None:
        """Append rows of another journal unchanged, all or none; raises as `append` does.

        They must continue this journal: the first of them follows its last row.
        """
        self._refuse_closed()
        if not rows:
            return
        length, link = rows[-1].seq, rows[-1].sum
        expected = rows[0].seq - 1
        if expected != self._length:
            raise conflict(expected=expected, found=self._length)
        verdict = self._sent(
            length,
            link,
            self._session,
            self._lease,
            expected,
            self._link,
            [row.at for row in rows],
            [row.kind for row in rows],
            [row.body for row in rows],
            [row.sum for row in rows],
            [],
            [],
            msgspec.json.encode(summary).decode(),
            False,  # noqa: FBT003 - a column of the statement
        )
        if verdict != "ok":
            raise conflict(expected=expected, found=self.length)
        self._length, self._link, self.summary = length, link, summary

    @property
    def tail(self) -> tuple[int, bytes]:
        """Return the last known length, and the checksum of the last entry."""
        return self._length, self._link

    def close(self) -> None:
        """Refuse further appends. The caller that took the lease releases it."""
        self._closed = True

    def _sent(self, length: int, link: bytes, *values: object) -> str:
        """Send the append and return the verdict. Before sending again, check whether it was written already."""
        sent = False

        def attempt() -> str:
            nonlocal sent
            if sent and self._is_written(length, link):
                return "ok"
            sent = True
            verdict = str(self._database.once(_APPEND, *values, FORMAT)[0][0])
            return "ok" if verdict != "ok" and self._is_written(length, link) else verdict

        return self._database.patiently(attempt)

    def _is_written(self, seq: int, link: bytes) -> bool:
        return bool(self._database.once("select holdfast.is_written(%s, %s, %s)", self._session, seq, link)[0][0])

    def _find_tail(self) -> None:
        for length, link in self._database.call(
            "select length, sum from holdfast.session where id = %s", self._session
        ):
            assert isinstance(length, int)
            assert isinstance(link, bytes)
            self._length, self._link = length, link

    def _refuse_closed(self) -> None:
        if os.getpid() != self._pid:  # both processes would speak over one connection
            raise forked(f"The journal of session {self._session!r}", self._pid)
        if self._closed:
            raise StateError(f"The journal of session {self._session!r} is closed. Open the session again.")


def refuse_newer(database: Database, session: str) -> None:
    """Raise `StateError` if a newer holdfast wrote the session."""
    if why := database.call("select holdfast.newer_format(%s, %s)", session, FORMAT)[0][0]:
        raise StateError(str(why))


def read_session_rows(database: Database, session: str, *, length: int, link: bytes) -> Reading:
    """Return the entries of a session and the damage; it has `length` entries, the last with the checksum `link`."""
    rows = database.call(
        "select seq, at, kind, body, sum from holdfast.entry where session = %s and seq <= %s order by seq",
        session,
        length,
    )
    reading = verify_rows(rows, PlainBodies())
    last, stored = (rows[-1][0], rows[-1][-1]) if rows else (0, b"")
    assert isinstance(last, int)
    if (last, stored) == (length, link):
        return reading
    what = f"Entries {last + 1} to {length} are missing." if last < length else "The last entry is not the one written."
    return msgspec.structs.replace(reading, findings=(*reading.findings, Finding(seq=last + 1, what=what)))
