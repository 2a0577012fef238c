"""The record of a fleet in PostgreSQL, as a service uses it: lists, entries and inboxes, from any thread."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import cast, get_args

import msgspec

from holdfast.errors import SessionUnknown, UsageError
from holdfast.fleet.places.outside_values import checked_place
from holdfast.fleet.postgres.claims import inbox_rows
from holdfast.fleet.postgres.database import Database
from holdfast.fleet.postgres.postgres_store import read_session_rows, refuse_newer
from holdfast.fleet.postgres.schema import require_schema
from holdfast.fleet.record import (
    FLEET_STATES,
    FleetSession,
    FleetState,
    FleetStatus,
    FleetSummary,
    FleetWorker,
    InboxBody,
    InboxKind,
    InboxRow,
)
from holdfast.session.journal.entries import decode
from holdfast.session.journal.store import Reading, StoredEntry
from holdfast.session.session_id import checked_id
from holdfast.text import valid_unicode
from holdfast.tool_calls import Mode
from holdfast.typed_data import convert_value

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_IDLE_CONNECTIONS = 4

_STATE = """case when held <> '' then 'held' when jsonb_array_length(coalesce(face -> 'asking', '[]')) > 0 then 'asking'
    when holder is not null and holdfast.is_alive(holder) then 'running'
    when wake is not null or holder is not null then 'waiting' else 'idle' end"""

_COLUMNS = f"""id, {_STATE} as state, length, face, place, coalesce(holder, ''), extract(epoch from made)::float8,
    extract(epoch from changed)::float8, tries, held"""


class PostgresFleet:
    """The sessions of a fleet in PostgreSQL; a `FleetRecord`. Any thread may call it."""

    def __init__(self, url: str, *, now: Callable[[], float] = time.time) -> None:
        """Connect to the record; raises `StateError` for another version's schema, `StorageFailed` if unreachable."""
        self.url = url
        self._now = now
        self._idle: list[Database] = []
        self._lock = threading.Lock()
        with self._database() as database:
            require_schema(database)

    def create(
        self,
        *,
        model: str,
        place: InboxBody,
        sender: str,
        title: str = "",
        id: str = "",  # noqa: A002 - the parameter's name in `FleetRecord`
    ) -> str:
        """Return the id of a new session. The first worker that takes it writes its first entries.

        A caller may choose the `id`; if there is such a session, nothing is changed.
        """
        del sender  # the prompt that follows names it
        place = checked_place(place)
        summary = FleetSummary(
            title=valid_unicode(title), model=model, cwd=str(place.get("cwd", "")), named=bool(title)
        )
        if id:
            self.add(id, place={**place, "model": model, "title": title}, summary=summary)
            return id
        while True:
            minute = time.strftime("%Y%m%d-%H%M", time.gmtime(self._now()))
            session = f"{minute}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}"
            if self.add(session, place={**place, "model": model, "title": title}, summary=summary):
                return session

    def add(self, session: str, *, place: InboxBody, summary: FleetSummary) -> bool:
        """Add an empty session, or reopen one that was moved away. Return false if the id is in use.

        Raises `UsageError` for an id that is not one.
        """
        checked_id(session)
        with self._database() as database:
            rows = database.call(
                "select holdfast.make_session(%s, %s::jsonb, %s::jsonb)",
                session,
                msgspec.json.encode(dict(place)).decode(),
                msgspec.json.encode(summary).decode(),
            )
        return bool(rows[0][0])

    def sessions(
        self, state: FleetState | None = None, *, limit: int = 200, after: str = ""
    ) -> tuple[FleetSession, ...]:
        """Return sessions, newest first; `after` is the last id of the page before."""
        sql = (
            f"select * from (select {_COLUMNS}, made from holdfast.session where moved = '' "  # noqa: S608 - constants
            "and (%s = '' or (made, id) < (select made, id from holdfast.session where id = %s))) "
            "as listed (id, state, length, face, place, holder, created, changed, tries, held, made) "
            "where %s = '' or state = %s order by made desc, id desc limit %s"
        )
        with self._database() as database:
            rows = database.call(sql, after, after, state or "", state or "", limit)
        return tuple(_session(row) for row in rows)

    def session(self, session: str) -> FleetSession:
        """Return one session; raises `SessionUnknown`."""
        sql = f"select {_COLUMNS} from holdfast.session where id = %s and moved = ''"  # noqa: S608 - constants
        with self._database() as database:
            rows = database.call(sql, session)
        if not rows:
            raise _unknown(session)
        return _session(rows[0])

    def lengths(self, sessions: Sequence[str]) -> dict[str, int]:
        """Return the number of entries of each session; unknown ids are left out."""
        with self._database() as database:
            rows = database.call("select id, length from holdfast.session where id = any(%s)", list(sessions))
        return {str(session): cast("int", length) for session, length in rows}

    def entries(self, session: str, after: int = 0, *, limit: int = 1000) -> tuple[StoredEntry, ...]:
        """Return the readable entries with a seq above `after`, in order, at most `limit` of them.

        Raises `StateError` if some cannot be read because a newer holdfast wrote them.
        """
        with self._database() as database:
            rows = database.call(
                "select seq, at, body from holdfast.entry where session = %s and seq > %s order by seq limit %s",
                session,
                after,
                limit,
            )
            if not rows and not database.call("select from holdfast.session where id = %s", session):
                raise _unknown(session)
        found: list[StoredEntry] = []
        unreadable = False
        for seq, at, body in rows:
            try:
                entry = decode(cast("bytes", body))
            except (msgspec.DecodeError, UnicodeDecodeError):  # `reading` reports it as a finding
                unreadable = True
                continue
            found.append(StoredEntry(seq=cast("int", seq), at=cast("float", at), entry=entry))
        if unreadable:
            with self._database() as database:
                refuse_newer(database, session)
        return tuple(found)

    def reading(self, session: str) -> Reading:
        """Return every readable entry, and the damage that was found."""
        with self._database() as database:
            rows = database.call("select length, sum from holdfast.session where id = %s", session)
            if not rows:
                raise _unknown(session)
            refuse_newer(database, session)
            return read_session_rows(database, session, length=cast("int", rows[0][0]), link=cast("bytes", rows[0][1]))

    def ask(self, session: str, kind: InboxKind, body: InboxBody, *, key: str = "", sender: str = "") -> InboxRow:
        """Write a row into the inbox, durably, wake the session, and return the row; a known `key` returns its row.

        Raises `SessionUnknown`, and `UsageError` for a body that does not fit the kind.
        """
        content = checked_body(kind, body)
        key = key or secrets.token_hex(16)  # also makes it safe to try again while the server restarts
        with self._database() as database:
            rows = database.call(
                "select id, extract(epoch from at)::float8, seq, extract(epoch from done)::float8, refused, kind, "
                "body, sender, fresh from holdfast.ask(%s, %s, %s::jsonb, %s, %s)",
                session,
                kind,
                msgspec.json.encode(content).decode(),
                key,
                valid_unicode(sender),
            )
        if not rows:
            raise _unknown(session)
        row = rows[0]
        return InboxRow(
            id=cast("int", row[0]),
            session=session,
            kind=cast("InboxKind", row[5]),
            body=cast("dict[str, object]", row[6]),
            key=key,
            sender=str(row[7]),
            at=cast("float", row[1]),
            seq=cast("int | None", row[2]),
            done=cast("float | None", row[3]),
            refused=str(row[4]),
            new=bool(row[8]),
        )

    def inbox(self, session: str, *, after: int = 0, limit: int = 200) -> tuple[InboxRow, ...]:
        """Return the rows with an id above `after`, in order, including those that are done."""
        with self._database() as database:
            rows = inbox_rows(database, session, after=after, limit=limit)
            if not rows and not database.call("select from holdfast.session where id = %s", session):
                raise _unknown(session)
        return rows

    def status(self) -> FleetStatus:
        """Return the state of the fleet."""
        with self._database() as database:
            workers = database.call(
                "select id, about, extract(epoch from since)::float8, (select count(*) from holdfast.session where "
                "holder = worker.id) from holdfast.worker where until > clock_timestamp() order by since"
            )
            counts = database.call(
                f"select state, count(*) from (select {_STATE} as state from holdfast.session where moved = '') "  # noqa: S608 - constants
                "as listed group by state"
            )
            oldest = database.call(
                "select extract(epoch from clock_timestamp() - min(wake))::float8 from holdfast.session "
                "where wake is not null and held = ''"
            )
            standby = database.call("select current_setting('synchronous_standby_names')")
        notes: tuple[str, ...] = ()
        if not standby[0][0]:
            notes = ("No synchronous standby is configured (synchronous_standby_names): a failover may lose entries.",)
        return FleetStatus(
            workers=tuple(_worker(row) for row in workers),
            sessions={**dict.fromkeys(FLEET_STATES, 0), **{str(name): cast("int", count) for name, count in counts}},
            oldest=cast("float | None", oldest[0][0]),
            notes=notes,
        )

    def close(self) -> None:
        """Close the connections. Closing twice is fine."""
        with self._lock:
            idle, self._idle = self._idle, []
        for database in idle:
            database.close()

    @contextmanager
    def _database(self) -> Generator[Database]:
        with self._lock:
            database = self._idle.pop() if self._idle else Database(self.url, name="holdfast service")
        try:
            yield database
        finally:
            with self._lock:
                keep = len(self._idle) < _IDLE_CONNECTIONS
                if keep:
                    self._idle.append(database)
            if not keep:
                database.close()


def checked_body(kind: InboxKind, body: InboxBody) -> dict[str, object]:  # noqa: PLR0911 - a line for each kind
    """Return the body to store for a row; raises `UsageError` if it does not fit the kind."""
    match kind:
        case "prompt" | "steer" | "later":
            text = _text(kind, body, "text")
            if not text.strip():
                raise UsageError("The message is empty. Say what you want done.")
            return {"text": text}
        case "answer":
            return _answer(body)
        case "model":
            return {"model": _text(kind, body, "model")}
        case "mode":
            return {"mode": _mode(kind, body)}
        case "rename":
            return {"title": _text(kind, body, "title")}
        case "recall":
            return {"id": _text(kind, body, "id")}
        case "stop":
            return {}


def _answer(body: InboxBody) -> dict[str, object]:
    """Return the body with texts that a database takes; whether the choice is offered is known when it is read."""
    marked = body.get("marked", [])
    names = cast("list[object]", marked) if isinstance(marked, list | tuple) else [None]
    if not all(isinstance(each, str) for each in names):
        raise UsageError("Invalid `marked` of an answer (expected a list of options). Correct it.")
    content: dict[str, object] = {name: _text("answer", body, name) for name in ("question", "choice")}
    if body.get("words"):
        content["words"] = _text("answer", body, "words")
    if names:
        content["marked"] = [valid_unicode(str(each)) for each in names]
    return content


def _text(kind: InboxKind, body: InboxBody, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise UsageError(f"A row of the kind {kind!r} lacks `{name}` (expected a text). Add it.")
    return valid_unicode(value)


def _mode(kind: InboxKind, body: InboxBody) -> str:
    mode = _text(kind, body, "mode")
    if mode not in get_args(Mode):
        raise UsageError(f"Unknown mode {mode!r} (expected one of {', '.join(get_args(Mode))}).")
    return mode


def _session(row: tuple[object, ...]) -> FleetSession:
    summary = convert_value(row[3], FleetSummary)
    return FleetSession(
        id=str(row[0]),
        state=cast("FleetState", row[1]),
        length=cast("int", row[2]),
        title=summary.title,
        model=summary.model,
        cwd=summary.cwd,
        place=cast("dict[str, object]", row[4]),
        holder=str(row[5]),
        asking=summary.asking,
        created=cast("float", row[6]),
        changed=cast("float", row[7]),
        tries=cast("int", row[8]),
        held=str(row[9]),
        cost=summary.cost,
    )


def _worker(row: tuple[object, ...]) -> FleetWorker:
    description = cast("dict[str, object]", row[1])
    return FleetWorker(
        id=str(row[0]),
        host=str(description.get("host", "")),
        pid=cast("int", description.get("pid", 0)),
        slots=cast("int", description.get("slots", 0)),
        holds=cast("int", row[3]),
        since=cast("float", row[2]),
    )


def _unknown(session: str) -> SessionUnknown:
    return SessionUnknown(f"Session {session!r} is not in the fleet.", fault="no_session")
