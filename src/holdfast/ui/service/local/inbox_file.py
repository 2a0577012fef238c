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

import msgspec

from holdfast.errors import SessionBusy, StateError, StorageFailed
from holdfast.fleet.record import InboxKind, InboxRow
from holdfast.session.storage.lease import Lease
from holdfast.system.durable_files import make_folder
from holdfast.typed_data import convert_value

_SCHEMA = """
CREATE TABLE IF NOT EXISTS inbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, session TEXT NOT NULL, kind TEXT NOT NULL,
  body TEXT NOT NULL, key TEXT, sender TEXT NOT NULL, at REAL NOT NULL, seq INTEGER, done REAL,
  refused TEXT NOT NULL DEFAULT '', UNIQUE (session, key));
CREATE INDEX IF NOT EXISTS waiting ON inbox (session, id) WHERE done IS NULL;
CREATE TABLE IF NOT EXISTS driven (session TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_COLUMNS = "id, name, session, kind, body, key, sender, at, seq, done, refused"
_FORMAT = 1


class NamedRow(msgspec.Struct, frozen=True):
    """A row, and the name that its entry carries."""

    name: str
    row: InboxRow


class InboxFile:
    """The inbox of all local sessions. One process at a time has it open; any thread may call it.

    Laws (`tests/ui/service/local/test_inbox_file_laws.py`): a row that `add` returned is read back by this and any
    later process, once, in order; a key is accepted once per session; a row that is done stays done.
    """

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        """Open or create the file. Raise `StateError` if another server has it open, `StorageFailed` if it cannot."""
        self._path = path
        self._now = now
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
            self._connection = self._open_connection()
        except BaseException as error:
            self._lease.release()
            if isinstance(error, sqlite3.Error):
                raise self._failed(str(error)) from error
            raise

    def _open_connection(self) -> sqlite3.Connection:
        with contextlib.suppress(FileExistsError):
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(self._path, flags, 0o600))
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > _FORMAT:
            connection.close()
            raise StateError(
                f"Inbox {str(self._path)!r} cannot be read: a newer holdfast wrote it (format {version}, expected at "
                f"most {_FORMAT}). Upgrade holdfast."
            )
        connection.executescript(f"{_SCHEMA}PRAGMA user_version={_FORMAT};")
        return connection

    def add(self, session: str, kind: InboxKind, body: Mapping[str, object], *, key: str, sender: str) -> InboxRow:
        """Write a row, durable on return, and return it. If the session has the `key` already, return that row."""
        name = f"in-{secrets.token_hex(8)}"
        with self._lock:
            written = self._execute(
                "INSERT INTO inbox (name, session, kind, body, key, sender, at) VALUES (?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (session, key) DO NOTHING",
                (name, session, kind, msgspec.json.encode(body).decode(), key or None, sender, self._now()),
            ).rowcount
            where, value = ("name = ?", (name,)) if written else ("session = ? AND key = ?", (session, key))
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

    def waits(self) -> dict[str, float]:
        """Return the sessions with waiting rows, and when the oldest of each was written."""
        with self._lock:
            found = self._execute("SELECT session, min(at) FROM inbox WHERE done IS NULL GROUP BY session").fetchall()
        return {str(session): float(at) for session, at in found}

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
            return tuple(str(session) for (session,) in self._execute("SELECT session FROM driven").fetchall())

    def close(self) -> None:
        """Close the file. Closing twice is fine."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._connection.close()
                self._lease.release()

    def _rows(self, which: str, values: Sequence[object]) -> tuple[NamedRow, ...]:
        found = self._execute(f"SELECT {_COLUMNS} FROM inbox {which}", values)  # noqa: S608 - our own words
        return tuple(_row(values) for values in found.fetchall())

    def _execute(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        if self._closed:
            raise StateError("The inbox is closed. Start `holdfast serve` again.")
        try:
            return self._connection.execute(statement, tuple(values))
        except sqlite3.Error as error:
            raise self._failed(str(error)) from error

    def _failed(self, why: str) -> StorageFailed:
        return StorageFailed(f"Inbox {str(self._path)!r} cannot be used: {why}. Free some space, or repair its disk.")


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
