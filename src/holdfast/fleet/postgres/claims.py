"""Takes and releases sessions in PostgreSQL: the lease, the inbox rows of its holder, and its place."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, NamedTuple, cast

import msgspec

from holdfast.errors import LeaseLost, SessionUnknown
from holdfast.fleet.postgres.database import Database
from holdfast.fleet.postgres.postgres_store import PostgresStore
from holdfast.fleet.record import InboxKind, InboxRow, matches_entry
from holdfast.session.journal import entries as e
from holdfast.session.journal.entries import FORMAT
from holdfast.session.session_id import checked_id


class Mail:
    """Notifies the sessions of one worker of new rows, with one query for all of them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._watched: dict[str, Callable[[], None]] = {}
        self._seen: dict[str, int] = {}

    def add(self, session: str, changed: Callable[[], None]) -> None:
        """Watch the inbox of a session, and call `changed` for new rows."""
        with self._lock:
            self._watched[session] = changed
            self._seen.pop(session, None)

    def remove(self, session: str) -> None:
        """Stop watching the inbox of a session."""
        with self._lock:
            self._watched.pop(session, None)
            self._seen.pop(session, None)

    def check(self) -> None:
        """Check the inboxes once, and notify the sessions with new rows."""
        with self._lock:
            watched = list(self._watched)
        if not watched:
            return
        rows = self._database.call(
            "select session, max(id) from holdfast.inbox where done is null and session = any(%s) group by session",
            watched,
        )
        with self._lock:
            for session, newest in rows:
                assert isinstance(newest, int)
                name = str(session)
                if self._seen.get(name, 0) < newest and (changed := self._watched.get(name)) is not None:
                    self._seen[name] = newest
                    changed()

    def close(self) -> None:
        """Close the connection."""
        self._database.close()


# --- claims ---

TakeVerdict = Literal["busy", "held", "elsewhere", "dead", "newer"]


class NotTaken(NamedTuple):
    """Why a session was not taken. `detail` is its holder, its only machine, or the reason: held, a newer format."""

    verdict: TakeVerdict
    detail: str


class PostgresHeldSession:
    """A session in PostgreSQL whose lease this process holds; a `HeldSession`."""

    def __init__(  # noqa: PLR0913 - the results of `take`
        self,
        database: Database,
        session: str,
        *,
        lease: str,
        length: int,
        link: bytes,
        tries: int,
        place: dict[str, object],
        previous_holder: str,
        crashed: bool,
        mail: Mail | None = None,
    ) -> None:
        self.id = session
        self.crashed = crashed
        self.tries = tries
        self.place = self.place_before = place
        self.previous_holder = previous_holder
        self.lost = False
        self._database = database
        self._lease = lease
        self._expected: list[InboxRow] = []
        self._mail = mail
        self.store = PostgresStore(
            database,
            session,
            lease=lease,
            length=length,
            link=link,
            match_rows=self._match_rows,
            rows_done=self._forget_rows,
        )

    def waiting_rows(self) -> tuple[InboxRow, ...]:
        """Return the rows that are not done, in order."""
        return inbox_rows(self._database, self.id, waiting=True)

    def name_of(self, row: InboxRow) -> str:
        """Return the id that the entry of a message carries."""
        return f"in-{row.id}"

    def expect(self, row: InboxRow) -> None:
        """Mark `row` as done in the transaction of the next append that has an entry of its kind."""
        if all(each.id != row.id for each in self._expected):
            self._expected.append(row)

    def forget(self, row: InboxRow) -> None:
        """Expect no more entry for `row`."""
        self._expected = [each for each in self._expected if each.id != row.id]

    def _forget_rows(self, rows: Collection[int]) -> None:
        """Expect nothing more for rows that are done: the next entry like theirs belongs to another row."""
        self._expected = [each for each in self._expected if each.id not in rows]

    def close_row(self, row: InboxRow, why: str = "") -> None:
        """Mark `row` as done without an entry. `why` says why it was refused, "" if it was carried out."""
        self.forget(row)
        rows = self._database.call(
            "select holdfast.close_rows(%s, %s::uuid, %s::bigint[], %s)", self.id, self._lease, [row.id], why
        )
        self._lose_unless(rows[0][0])

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed`, from another thread, whenever a row may have arrived."""
        if self._mail is not None:
            self._mail.add(self.id, changed)

    def put_place(self, place: Mapping[str, object]) -> None:
        """Store the session's new place, before anything is done there."""
        self.place = dict(place)
        self._lose_unless(
            self._database.call(
                "select holdfast.put_place(%s, %s::uuid, %s::jsonb)", self.id, self._lease, _json(self.place)
            )[0][0]
        )

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
        verdict = self._database.call(
            "select holdfast.give(%s, %s::uuid, %s::jsonb, %s, %s, %s)",
            self.id,
            self._lease,
            None if place is None else _json(place),
            parked,
            hold_reason,
            requeue,
        )[0][0]
        if verdict == "more":
            return False
        self.close()
        self.lost = verdict == "lost"
        return True

    def move_away(self, why: str) -> bool:
        """Mark the session as moved elsewhere, and return whether this process still had the lease."""
        moved = self._database.call("select holdfast.move_away(%s, %s::uuid, %s)", self.id, self._lease, why)
        self.lost = True
        return bool(moved[0][0])

    def close(self) -> None:
        """Stop watching the inbox and close the connection. The lease is not released."""
        if self._mail is not None:
            self._mail.remove(self.id)
        self.store.close()
        self._database.close()

    def _lose_unless(self, owns_lease: object) -> None:
        if not owns_lease:
            self.lost = True
            raise LeaseLost(f"Session {self.id!r} was taken over by another worker.")

    def _match_rows(self, entries: Sequence[e.Entry]) -> list[tuple[int, int]]:
        """Return the id of each expected row that has an entry among these, with its place, from 1."""
        matches: list[tuple[int, int]] = []
        for row in self._expected:
            for place, entry in enumerate(entries, start=1):
                if place not in {each for _, each in matches} and matches_entry(row, entry, name=self.name_of(row)):
                    matches.append((row.id, place))
                    break
        return matches


def take(url: str, session: str, worker: str, *, mail: Mail | None = None) -> PostgresHeldSession | NotTaken:
    """Take the lease on a session for a worker, or return why not. Raises `SessionUnknown` for an unknown id."""
    checked_id(session)
    database = Database(url, name=f"holdfast session {session}")
    try:
        found = database.call("select * from holdfast.take(%s, %s, %s)", session, worker, FORMAT)
    except BaseException:
        database.close()
        raise
    verdict, lease, length, link, tries, place, crashed, holder = found[0]
    if verdict == "taken":
        assert isinstance(length, int)
        assert isinstance(link, bytes)
        assert isinstance(tries, int)
        return PostgresHeldSession(
            database,
            session,
            lease=str(lease),
            length=length,
            link=link,
            tries=tries,
            place=cast("dict[str, object]", place),
            previous_holder=str(holder),
            crashed=bool(crashed),
            mail=mail,
        )
    database.close()
    if verdict == "unknown":
        raise SessionUnknown(f"Session {session!r} is not in the fleet.", fault="no_session")
    return NotTaken(cast("TakeVerdict", verdict), str(holder))


def inbox_rows(
    database: Database, session: str, *, after: int = 0, limit: int = 1000, waiting: bool = False
) -> tuple[InboxRow, ...]:
    """Return rows of a session's inbox with an id above `after`, in order; with `waiting` only those not done."""
    rows = database.call(
        "select id, session, kind, body, key, sender, extract(epoch from at)::float8, seq, "
        "extract(epoch from done)::float8, refused from holdfast.inbox "
        "where session = %s and id > %s and (done is null or not %s) order by id limit %s",
        session,
        after,
        waiting,
        limit,
    )
    return tuple(
        InboxRow(
            id=cast("int", row[0]),
            session=str(row[1]),
            kind=cast("InboxKind", row[2]),
            body=cast("dict[str, object]", row[3]),
            key=str(row[4]),
            sender=str(row[5]),
            at=cast("float", row[6]),
            seq=cast("int | None", row[7]),
            done=cast("float | None", row[8]),
            refused=str(row[9]),
        )
        for row in rows
    )


def _json(value: Mapping[str, object]) -> str:
    return msgspec.json.encode(value).decode()
