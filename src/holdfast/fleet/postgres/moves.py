"""Moves a session from its folder into the record of a fleet, or back, with the same id, entries and checksums.

Crash safety. The rows are durable in the target before the source is removed, so the session always exists. A crash in
between leaves it in both places. Running the same command again finds the rows in the target, adds the missing ones,
and removes the source. If one place continued in the meantime, the move fails: rows that do not continue the chain of
checksums are refused.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from holdfast.errors import DamageError, SessionBusy, SessionUnknown, StateError, UsageError
from holdfast.fleet.postgres.claims import NotTaken, PostgresHeldSession, take
from holdfast.fleet.postgres.database import Database
from holdfast.fleet.postgres.postgres_fleet import PostgresFleet
from holdfast.fleet.postgres.postgres_store import PlainBodies
from holdfast.fleet.record import FleetSummary, InboxBody
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import SessionOpened, decode
from holdfast.session.storage.row_codec import StoredRow, verify_rows
from holdfast.session.storage.sqlite_store import SqliteStore, complete_rows


def back_up(catalog: Catalog, target: Path) -> list[str]:
    """Write every session that changed since the last backup into `target`, completely, and return their ids.

    A backup has the layout of a session folder: moved among the sessions, it is a session again. Raises `DamageError`
    for the first damaged session, after the others are written.
    """
    written: list[str] = []
    damaged: DamageError | None = None
    into = Catalog(target)
    for summary in catalog.all():
        try:
            rows = complete_rows(catalog.folder(summary.id))
        except DamageError as error:
            damaged = damaged or error
            continue
        folder = into.folder(summary.id)
        if (folder / "session.db").exists():
            there = complete_rows(folder)
            if there == rows:
                continue
            into.trash(summary.id)  # kept until the new one is complete
        store = SqliteStore.create(folder)
        try:
            store.add_rows(rows)
        finally:
            store.close()
        written.append(summary.id)
    if damaged is not None:
        raise damaged
    return written


# --- moves ---

_TTL = 300.0  # seconds that a move may take


def push(catalog: Catalog, session: str, fleet: PostgresFleet, *, place: InboxBody) -> int:
    """Move a local session into the fleet and return how many entries it has.

    Raises `SessionBusy` if another process holds it, `DamageError` if it is damaged, `UsageError` if the fleet has
    another session of this id.
    """
    folder = catalog.folder(session)
    store = SqliteStore.open(folder)  # its lease
    try:
        rows = complete_rows(folder)
        summary = FleetSummary().after(decode(row.body) for row in rows)
        fleet.add(session, place=place, summary=summary)
        with _leased(fleet.url, session) as target:
            length, link = target.store.tail
            if length > len(rows) or (length and rows[length - 1].sum != link):
                raise UsageError(
                    f"Session {session!r} of the fleet has other entries than the one here. Pull that one, or fork this"
                    " one."
                )
            target.store.add_rows(rows[length:], summary)
            target.release({**place, "pushed": len(rows)})
    finally:
        store.close()
    catalog.trash(session)
    return len(rows)


def pull(catalog: Catalog, session: str, fleet: PostgresFleet) -> int:
    """Move a session of the fleet into its folder here and return how many entries it has.

    Raises `SessionBusy` if a worker holds it, `SessionUnknown`, `UsageError` if there is a session of this id here.
    """
    folder = catalog.folder(session)
    with _leased(fleet.url, session) as source:
        if source.waiting_rows():
            raise UsageError(f"Session {session!r} has messages that wait for a worker. Let them run, or recall them.")
        rows = _rows_of(fleet.url, session)
        if (folder / "session.db").exists():
            if complete_rows(folder) != rows:
                raise UsageError(f"There is another session {session!r} here. Fork or delete that one first.")
        else:
            store = SqliteStore.create(folder)
            try:
                store.add_rows(rows)
            finally:
                store.close()
        moved = source.move_away(f"It was pulled to {socket.gethostname()}.")
    if not moved:
        raise StateError(f"Session {session!r} was taken by a worker while it was pulled. Pull it again.")
    opened = [entry for entry in (decode(row.body) for row in rows[:1]) if isinstance(entry, SessionOpened)]
    if opened:
        catalog.note(opened[0])
    return len(rows)


def _rows_of(url: str, session: str) -> tuple[StoredRow, ...]:
    database = Database(url, name="holdfast pull")
    try:
        found = database.call(
            "select seq, at, kind, body, sum from holdfast.entry where session = %s order by seq", session
        )
    finally:
        database.close()
    findings = verify_rows(found, PlainBodies()).findings
    if findings:
        raise DamageError(f"Session {session!r} of the fleet is damaged: {findings[0].what} It stays where it is.")
    return tuple(StoredRow(*cast("tuple[int, float, str, bytes, bytes]", values)) for values in found)


@contextmanager
def _leased(url: str, session: str) -> Generator[PostgresHeldSession]:
    """Yield the session while this command holds its lease; raises `SessionBusy` or `StateError`."""
    worker, database = f"move-{uuid.uuid4().hex}", Database(url, name="holdfast move")
    try:
        description = f'{{"host": "{socket.gethostname()}", "pid": {os.getpid()}, "slots": 0}}'
        database.call("select holdfast.be_born(%s, %s, %s::jsonb)", worker, _TTL, description)
        claim = take(url, session, worker)
        if isinstance(claim, NotTaken):
            match claim.verdict:
                case "busy":
                    raise SessionBusy(
                        f"Session {session!r} is driven by worker {claim.detail}.", session=session, holder=claim.detail
                    )
                case "elsewhere":
                    raise StateError(f"Session {session!r} works in a folder of {claim.detail}. Move it from there.")
                case "newer":
                    raise StateError(claim.detail)
                case _ if claim.detail.startswith("It was pulled"):
                    raise SessionUnknown(f"Session {session!r} is not in the fleet. {claim.detail}", fault="no_session")
                case _:
                    raise StateError(f"Session {session!r} is held: {claim.detail} Send it a message first.")
        try:
            yield claim
        except BaseException:
            if not claim.lost:
                claim.release()
            raise
        finally:
            claim.close()
    finally:
        database.call("select holdfast.bury(%s)", worker)
        database.close()
