"""The durable inbox of the local server: one SQLite file, in which a row waits until its entry is in a journal.

How a row is acted on exactly once. The inbox and a session's journal are two files, so no transaction spans both. The
journal decides. Each row has a random `name`, and the entry that a row becomes carries it: `prompt-accepted` in
`queued`, a queued message as its `id`. The row is marked as done after that entry is durable. If the process dies
between the two, the next one finds the name in the journal, marks the row, and does nothing else.

What is known after a crash, at each point:

- before `add` returns: the row may or may not exist, and the sender repeats the request with the same key;
- after `add`, before the entry: the row waits, the next server takes it;
- after the entry, before `done`: the name is in the journal, the row is marked (`LocalHeldSession`);
- an answer is matched by its call, which is answered once in a journal; a stop is done by the crash itself; a new
  title, model or mode is set again to the same value.

A damaged file must not stop the server for good. It is set aside, and every row that can still be read is copied into a
new one. A row that is lost was either done, and then its entry is in a journal, or its sender has no result of it.

Why not keep rows in the session's own folder? A row must be written while another process has the session open.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from holdfast.errors import SessionBusy, StateError, StorageFailed
from holdfast.fleet.record import InboxKind, InboxRow
from holdfast.session.storage.lease import Lease
from holdfast.system.bounded_files import open_unblocked
from holdfast.system.durable_files import make_folder, sync_path
from holdfast.typed_data import convert_value

_SCHEMA = """
CREATE TABLE IF NOT EXISTS inbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, session TEXT NOT NULL, kind TEXT NOT NULL,
  body TEXT NOT NULL, key TEXT, sender TEXT NOT NULL, at REAL NOT NULL, seq INTEGER, done REAL,
  refused TEXT NOT NULL DEFAULT '', UNIQUE (sender, kind, session, key));
CREATE INDEX IF NOT EXISTS waiting ON inbox (session, id) WHERE done IS NULL;
CREATE TABLE IF NOT EXISTS driven (session TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_COLUMNS = "id, name, session, kind, body, key, sender, at, seq, done, refused"
_FORMAT = 2
_UPGRADE = f"""
BEGIN IMMEDIATE;
DROP INDEX IF EXISTS waiting;
ALTER TABLE inbox RENAME TO inbox_1;
{_SCHEMA}
INSERT INTO inbox ({_COLUMNS}) SELECT {_COLUMNS} FROM inbox_1;
DROP TABLE inbox_1;
PRAGMA user_version={_FORMAT};
COMMIT;
"""  # noqa: S608 - our own words
"""Format 1 had one key for all senders and kinds."""
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


LARGEST_INBOX = 1 << 32
"""Bytes of the file. A message that was read stays in it, so it grows for years, but not to this."""


class NamedRow(msgspec.Struct, frozen=True):
    """A row, and the name that its entry carries."""

    name: str
    row: InboxRow


class _Result(NamedTuple):
    """All rows that a statement found, and how many it changed."""

    rows: list[tuple[object, ...]]
    changed: int


class InboxFile:
    """The inbox of all local sessions. One process at a time has it open; any thread may call it.

    Laws (`tests/ui/service/local/test_inbox_file_laws.py`): a row that `add` returned is read back by this and any
    later process, once, in order; a key is accepted once per sender, kind and session; a row that is done stays done.
    """

    def __init__(
        self, path: Path, *, now: Callable[[], float] = time.time, notify: Callable[[str], object] = lambda _: None
    ) -> None:
        """Open or create the file. Raise `StateError` if another server has it open, `StorageFailed` if it cannot.

        `notify` gets a message if the file is damaged.
        """
        self._path = path
        self._now = now
        self._notify = notify
        self._lock = threading.Lock()
        try:
            make_folder(path.parent)
            self._lease = Lease.take(path.parent)
        except OSError as error:
            raise self._failed(error.strerror or str(error)) from error
        except SessionBusy as busy:
            raise StateError(
                f"Another `holdfast serve` serves these sessions already ({busy.holder}). Use its page, or stop it."
            ) from busy
        self._closed = False
        try:
            try:
                self._connection = self._open_connection()
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._connection = self._replaced(str(error))
        except BaseException as error:
            self._lease.release()
            if isinstance(error, (sqlite3.Error, OSError)):
                raise self._failed(str(error)) from error
            raise

    def _open_connection(self) -> sqlite3.Connection:
        with contextlib.suppress(FileExistsError):
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(self._path, flags, 0o600))
        self._look()
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._lease.guard(connection)
        return connection

    def _look(self) -> None:
        """Raise `StorageFailed` if no file of an inbox is there: SQLite would blame the disk, or read it all."""
        try:
            with open_unblocked(self._path) as file:
                size = os.fstat(file.fileno()).st_size
        except FileNotFoundError:  # a link to a file that is not there yet
            return
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error
        if size > LARGEST_INBOX:
            raise self._unusable(f"it is larger than {LARGEST_INBOX:,} bytes")

    def _unusable(self, why: str) -> StorageFailed:
        return StorageFailed(f"Inbox {str(self._path)!r} cannot be used: {why}. Move it away; a new one will be made.")

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Bring the file up to date. Raise `StateError` if it is newer, `sqlite3.DatabaseError` if it is damaged."""
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > _FORMAT:
            raise StateError(
                f"Inbox {str(self._path)!r} cannot be read: a newer holdfast wrote it (format {version}, expected at "
                f"most {_FORMAT}). Upgrade holdfast."
            )
        connection.executescript(_UPGRADE if version == 1 else f"{_SCHEMA}PRAGMA user_version={_FORMAT};")
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise _damage(str(found))

    def _replaced(self, why: str) -> sqlite3.Connection:
        """Set the damaged file aside, and return a new one with every row that could be read."""
        aside = self._path.with_name(f"{self._path.name}.damaged-{time.time_ns()}")
        for ending in (
            "-wal",
            "-shm",
            "",
        ):  # the file itself last: a kill in between leaves it to be found damaged again
            with contextlib.suppress(FileNotFoundError):
                self._path.with_name(self._path.name + ending).rename(aside.with_name(aside.name + ending))
        sync_path(self._path.parent)
        rows, driven = _readable(aside)
        connection = self._open_connection()
        connection.execute("BEGIN IMMEDIATE")
        marks = ", ".join("?" * len(_COLUMNS.split(",")))
        connection.executemany(f"INSERT OR IGNORE INTO inbox ({_COLUMNS}) VALUES ({marks})", rows)  # noqa: S608 - own words
        connection.executemany("INSERT OR IGNORE INTO driven VALUES (?)", driven)
        connection.execute("COMMIT")
        self._notify(
            f"Inbox {str(self._path)!r} is damaged: {why}. A new one has the {len(rows)} messages that could be read; "
            f"the damaged one is {aside.name!r}. Messages that were recorded are in their sessions; look whether one "
            "that still waited is missing."
        )
        return connection

    def add(self, session: str, kind: InboxKind, body: Mapping[str, object], *, key: str, sender: str) -> InboxRow:
        """Write a row, durable on return, and return it. If its `key` is known, return the row that has it."""
        name = f"in-{secrets.token_hex(8)}"
        with self._lock:
            written = self._execute(
                "INSERT INTO inbox (name, session, kind, body, key, sender, at) VALUES (?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (sender, kind, session, key) DO NOTHING",
                (name, session, kind, msgspec.json.encode(body).decode(), key or None, sender, self._now()),
            ).changed
            where, value = "name = ?", (name,)
            if not written:
                where, value = "sender = ? AND kind = ? AND session = ? AND key = ?", (sender, kind, session, key)
            (found,) = self._rows(f"WHERE {where}", value)
        return msgspec.structs.replace(found.row, new=bool(written))

    def rows(self, session: str, *, after: int = 0, limit: int = 200) -> tuple[InboxRow, ...]:
        """Return the rows of a session with an id above `after`, in order."""
        with self._lock:
            found = self._rows("WHERE session = ? AND id > ? ORDER BY id LIMIT ?", (session, after, limit))
        return tuple(each.row for each in found)

    def waiting(self, session: str) -> tuple[NamedRow, ...]:
        """Return the rows of a session that are not done, in order."""
        with self._lock:
            return self._rows("WHERE session = ? AND done IS NULL ORDER BY id", (session,))

    def used_seqs(self, session: str) -> frozenset[int]:
        """Return the positions of the entries that rows of a session became."""
        with self._lock:
            found = self._execute("SELECT seq FROM inbox WHERE session = ? AND seq IS NOT NULL", (session,)).rows
        return frozenset(cast("int", seq) for (seq,) in found)

    def waits(self) -> dict[str, float]:
        """Return the sessions with waiting rows, and when the oldest of each was written."""
        with self._lock:
            found = self._execute("SELECT session, min(at) FROM inbox WHERE done IS NULL GROUP BY session").rows
        return {str(session): cast("float", at) for session, at in found}

    def done(self, row: int, *, seq: int | None = None, refused: str = "") -> None:
        """Mark a row as done: it became entry `seq`, or nothing for the reason `refused`. The first mark counts."""
        with self._lock:
            self._execute(
                "UPDATE inbox SET done = ?, seq = ?, refused = ? WHERE id = ? AND done IS NULL",
                (self._now(), seq, refused, row),
            )

    def drive(self, session: str) -> None:
        """Record that this server drives the session: if it dies, the next one opens the session again."""
        with self._lock:
            self._execute("INSERT OR IGNORE INTO driven VALUES (?)", (session,))

    def drop(self, session: str) -> None:
        """Record that the session was closed in order."""
        with self._lock:
            self._execute("DELETE FROM driven WHERE session = ?", (session,))

    def driven(self) -> tuple[str, ...]:
        """Return the sessions that were driven and not closed."""
        with self._lock:
            return tuple(str(session) for (session,) in self._execute("SELECT session FROM driven").rows)

    def close(self) -> None:
        """Close the file. Closing twice is fine, and in a forked process nothing is closed."""
        with self._lock:
            if not self._closed:
                self._closed = True
                if self._lease.is_inherited:
                    return
                try:
                    self._connection.close()
                finally:
                    self._lease.release()

    def _rows(self, which: str, values: Sequence[object]) -> tuple[NamedRow, ...]:
        found = self._execute(f"SELECT {_COLUMNS} FROM inbox {which}", values)  # noqa: S608 - our own words
        return tuple(row for values in found.rows if (row := self._row_or_refusal(values)) is not None)

    def _row_or_refusal(self, values: Sequence[object]) -> NamedRow | None:
        """Return the row. If it is damaged, refuse it, say so once, and return None."""
        try:
            return _row(values)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            row_id, _, session, *_ = values
            why = f"Message {row_id} of session {session!r} is damaged in the inbox: {error}. Send it again."
            self._execute(
                "UPDATE inbox SET done = ?, body = '{}', refused = ? WHERE id = ?", (self._now(), why, row_id)
            )
            self._notify(why)
            return None

    def _execute(self, statement: str, values: Sequence[object] = ()) -> _Result:
        self._lease.refuse_in_child("The inbox")
        if self._closed:
            raise StateError("The inbox is closed. Start `holdfast serve` again.")
        try:
            try:
                return _result(self._connection, statement, values)
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._connection.close()
                self._connection = self._replaced(str(error))
                return _result(self._connection, statement, values)
        except (sqlite3.Error, OSError) as error:
            raise self._failed(str(error)) from error

    def _failed(self, why: str) -> StorageFailed:
        return StorageFailed(f"Inbox {str(self._path)!r} cannot be used: {why}. Free some space, or repair its disk.")


def _result(connection: sqlite3.Connection, statement: str, values: Sequence[object]) -> _Result:
    cursor = connection.execute(statement, tuple(values))
    return _Result(cursor.fetchall(), cursor.rowcount)


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Return whether the file is damaged, and not only out of reach or full."""
    return (
        getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE
    )  # SQLite itself gives it a code, Python's errors have none


def _damage(why: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(why)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _readable(path: Path) -> tuple[list[Sequence[object]], list[Sequence[object]]]:
    """Return the rows of a damaged file that can be read, from both ends, and the sessions that were driven."""
    rows: dict[object, Sequence[object]] = {}
    driven: list[Sequence[object]] = []
    connection = sqlite3.connect(path)
    try:
        for order in ("ASC", "DESC"):
            with contextlib.suppress(sqlite3.DatabaseError):
                for row in connection.execute(f"SELECT {_COLUMNS} FROM inbox NOT INDEXED ORDER BY id {order}"):  # noqa: S608 - own words
                    rows[row[0]] = row
        with contextlib.suppress(sqlite3.DatabaseError):
            driven.extend(connection.execute("SELECT session FROM driven"))
    finally:
        connection.close()
    return [rows[each] for each in sorted(rows, key=str)], driven


def _row(values: Sequence[object]) -> NamedRow:
    row_id, name, session, kind, body, key, sender, at, seq, done, refused = values
    fields = {
        "id": row_id,
        "session": session,
        "kind": kind,
        "body": msgspec.json.decode(str(body)),
        "key": key or "",
        "sender": sender,
        "at": at,
        "seq": seq,
        "done": done,
        "refused": refused,
    }
    return NamedRow(str(name), convert_value(fields, InboxRow))
