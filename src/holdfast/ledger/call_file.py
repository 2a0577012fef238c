"""The calls of a ledger in one SQLite file, which any number of processes of one machine may have open.

How two processes do not begin one call. Each change is one immediate transaction: it reads the row, decides and writes,
and SQLite lets one process at a time do that. Another waits, for at most five seconds. A transaction is in the log and
synced when it returns (WAL, synchronous=FULL), so a kill or a power loss leaves all of it or nothing.

Why not one lock for as long as a call runs? It would end with the process, as the call does, and nothing would tell
that the call had begun. The row says so, and the identity of its process says whether it can still run.

Example: eight workers get the same call. One inserts the row and runs it, seven find the row, which says who runs it.

A forked process shares nothing with its parent: it opens the file again, and lets the parent's connection alone.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

import msgspec

from holdfast.errors import DamageError, HoldfastError, StateError, StorageFailed
from holdfast.ledger.call_row import COLUMNS, CallRow, call_checksum, digest_of
from holdfast.system.bounded_files import read_bounded
from holdfast.system.durable_files import is_abandoned, make_folder, replace_file, sync_path
from holdfast.typed_data import convert_value

BUSY_SECONDS = 5.0
"""Seconds that a transaction waits for those of other processes."""

LARGEST_LEDGER = 1 << 32
"""Bytes of the file."""

LONGEST_CALL_FIELD = 1 << 20
"""Bytes of arguments or of a result in a row. A longer result is a file of the folder beside the ledger."""

LARGEST_CALL_RESULT = 64 << 20
"""Bytes of a result in a file."""

_FORMAT = 1
_APPLICATION = 0x686C6463  # "hldc"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS call (
  scope TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, arguments TEXT NOT NULL, digest TEXT NOT NULL,
  effect TEXT NOT NULL, attempt INTEGER NOT NULL, begun_at REAL NOT NULL, begun_by TEXT NOT NULL,
  ended_at REAL NOT NULL, outcome TEXT NOT NULL, form TEXT NOT NULL, result TEXT NOT NULL, found TEXT NOT NULL,
  sum TEXT NOT NULL, PRIMARY KEY (scope, id)) WITHOUT ROWID
"""
_NAMES = ", ".join(COLUMNS)
_READ = f"SELECT {_NAMES}, sum FROM call"  # noqa: S608 - the names of the columns
_WRITE = f"INSERT OR REPLACE INTO call VALUES ({', '.join('?' * (len(COLUMNS) + 1))})"  # noqa: S608 - question marks
_AGES = (
    "SELECT scope, id, begun_by, outcome, max(begun_at, ended_at), "
    "CASE WHEN form IN ('json-file', 'text-file') THEN result ELSE '' END FROM call"
)
_TOGETHER = 500  # ids in one query: SQLite takes a thousand
_LONGEST_ROW = 4 * LONGEST_CALL_FIELD
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG})
_RETRY = 0.01

_inherited: list[sqlite3.Connection] = []
"""The connections of a parent process, which a fork never closes: closing one would end the parent's locks."""


class CallFile:
    """Keeps calls in a SQLite file, made when it is first needed. Not for network file systems.

    Laws (`tests/ledger/test_call_file_laws.py`): those of `CallStore`, across `kill -9`, on a full disk, and for any
    number of processes: a call that is begun has one writer, and a call that has an end keeps it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._results = path.with_name(f"{path.name}-results")
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._pid = 0
        self._closed = False

    def begin(self, row: CallRow, *, may_replace: Callable[[CallRow], bool]) -> CallRow | None:
        """Write the beginning of a call and return None, or return the row that is there."""
        with self._transaction() as connection:
            found = self._rows(connection, row.scope, (row.id,))
            if row.id in found:
                there = found[row.id]
                if there is None:
                    raise DamageError(
                        f"Call {row.id!r} in ledger {str(self._path)!r} is damaged: what became of it is unknown. Look "
                        "whether it took effect, then use another id."
                    )
                if not may_replace(there):
                    return there
                row = msgspec.structs.replace(row, attempt=there.attempt + 1)
            connection.execute(_WRITE, _values(row))
        return None

    def finish(self, row: CallRow) -> bool:
        """Write the end of an attempt, or what a look found of it. Return False if it is not there without an end."""
        with self._transaction() as connection:
            there = self._rows(connection, row.scope, (row.id,)).get(row.id)
            if there is None or there.attempt != row.attempt or there.outcome not in ("", "interrupted"):
                return False
            if there.begun_by != row.begun_by:
                return False
            connection.execute(_WRITE, _values(row))
        return True

    def rows(self, scope: str, ids: Sequence[str]) -> Mapping[str, CallRow | None]:
        """Return the calls with these ids, None for a damaged row. A file that is not there has none."""
        with self._lock, self._naming():
            if self._connection is None and not self._path.exists():
                return {}
            return self._rows(self._opened(), scope, ids)

    def keep_result(self, data: bytes) -> str:
        """Keep a long result in a file of the folder beside the ledger, durably, and return its name."""
        name = f"{secrets.token_hex(16)}-{digest_of(data.decode())}"
        with self._naming():
            make_folder(self._results)
            replace_file(self._results / name, data)
        return name

    def kept_result(self, name: str) -> bytes:
        """Return a long result. Raises `DamageError` if it is missing or is not as it was written."""
        path = self._results / name
        try:
            data = read_bounded(path, LARGEST_CALL_RESULT)
        except OSError as error:
            raise DamageError(f"Result {str(path)!r} cannot be read: {error.strerror or error}.") from error
        if digest_of(data.decode(errors="replace")) != name.rpartition("-")[2]:
            raise DamageError(f"Result {str(path)!r} is damaged: it is not as it was written.")
        return data

    def prune(self, before: float, *, is_alive: Callable[[str], bool]) -> int:
        """Remove old calls, and the files of results that no call names."""
        removed = 0
        named_files: set[object] = set()
        with self._transaction() as connection:
            for scope, call, writer, outcome, at, result in connection.execute(_AGES).fetchall():
                if isinstance(at, float) and at < before and (outcome or not is_alive(str(writer))):
                    connection.execute("DELETE FROM call WHERE scope = ? AND id = ?", (scope, call))
                    removed += 1
                else:
                    named_files.add(result)
        with self._naming():
            if self._results.is_dir():
                for path in self._results.iterdir():
                    if path.name not in named_files and is_abandoned(path):  # a newer one may wait for its row
                        path.unlink(missing_ok=True)
        return removed

    def close(self) -> None:
        """Close the file. Closing twice is fine, and in a forked process nothing of the parent's is closed."""
        with self._lock:
            self._closed = True
            self._leave_inherited()
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextlib.contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        """Yield the connection in an immediate transaction, which is durable after it or not there."""
        with self._lock, self._naming():
            connection = self._opened()
            if connection.in_transaction:  # rolling back the last failure failed too
                connection.execute("ROLLBACK")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _rows(self, connection: sqlite3.Connection, scope: str, ids: Sequence[str]) -> dict[str, CallRow | None]:
        found: dict[str, CallRow | None] = {}
        for begin in range(0, len(ids), _TOGETHER):
            some = ids[begin : begin + _TOGETHER]
            marks = ", ".join("?" * len(some))
            query = f"{_READ} WHERE scope = ? AND id IN ({marks})"  # question marks alone are put in
            for values in connection.execute(query, (scope, *some)):
                found[str(values[1])] = _row(values)
        return found

    def _leave_inherited(self) -> None:
        if self._connection is not None and self._pid != os.getpid():
            import ctypes  # only in a forked process

            _inherited.append(self._connection)
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))  # never finalized, not even at the exit
            self._connection = None

    def _opened(self) -> sqlite3.Connection:
        if self._closed:
            raise StateError(f"Ledger {str(self._path)!r} is closed. Make a new `Ledger` of the same file.")
        self._leave_inherited()
        if self._connection is None:
            self._connection = self._open()
            self._pid = os.getpid()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self._path, flags, 0o600))  # SQLite would make it 0644
        self._look()
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_ROW)
            self._prepare(connection)
            sync_path(self._path.absolute().parent)
        except BaseException:
            connection.close()
            raise
        return connection

    def _look(self) -> None:
        """Refuse what is no regular file, or too large. It is not opened: closing it would end SQLite's locks on it."""
        status = self._path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise StateError(f"Ledger {str(self._path)!r} is not a regular file. Name another file.")
        if status.st_size > LARGEST_LEDGER:
            raise StorageFailed(
                f"Ledger {str(self._path)!r} is larger than {LARGEST_LEDGER:,} bytes. Move it away, and prune earlier."
            )

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the table if the file is empty. Raise `StateError` if it is of another program or a newer holdfast."""
        (version,) = _patient(connection, "PRAGMA user_version")
        (application,) = _patient(connection, "PRAGMA application_id")
        if application != _APPLICATION:
            (tables,) = _patient(connection, "SELECT count(*) FROM sqlite_master")
            if tables or application:
                raise StateError(
                    f"File {str(self._path)!r} is not a ledger: it is the database of another program. Nothing was "
                    "changed. Name another file."
                )
        elif isinstance(version, int) and version > _FORMAT:
            raise StateError(
                f"Ledger {str(self._path)!r} cannot be read: a newer holdfast wrote it (format {version}, expected at "
                f"most {_FORMAT}). Nothing was changed. Upgrade holdfast."
            )
        _patient(connection, "PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        if application != _APPLICATION:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA user_version={_FORMAT}")
            connection.execute(f"PRAGMA application_id={_APPLICATION}")
            connection.execute("COMMIT")

    @contextlib.contextmanager
    def _naming(self) -> Generator[None]:
        """Convert SQLite's and the system's errors to holdfast's, with the name of the file."""
        try:
            yield
        except HoldfastError:
            raise
        except OSError as error:
            raise self._failed(error.strerror or str(error)) from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in _DAMAGE:
                raise DamageError(
                    f"Ledger {str(self._path)!r} is damaged: {error}. Nothing was changed. Move it away and keep it: "
                    "a new one is made, and what became of the calls in this one is unknown."
                ) from error
            if code == sqlite3.SQLITE_BUSY:
                raise StorageFailed(
                    f"Ledger {str(self._path)!r} is busy: another process has been writing for {BUSY_SECONDS:g} "
                    "seconds. Try again."
                ) from error
            raise self._failed(str(error)) from error

    def _failed(self, why: str) -> StorageFailed:
        return StorageFailed(
            f"Ledger {str(self._path)!r} cannot be used: {why}. Free some space, or name a file in a folder that is "
            "there and writable. What it recorded before is safe."
        )


def _patient(connection: sqlite3.Connection, statement: str) -> tuple[object, ...] | list[object]:
    """Return the first row of a statement that SQLite refuses at once while another process opens the file."""
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return connection.execute(statement).fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(_RETRY)


def _values(row: CallRow) -> tuple[object, ...]:
    return (*msgspec.structs.astuple(row), call_checksum(row))


def _row(values: Sequence[object]) -> CallRow | None:
    """Return the row, None if it is not as it was written."""
    try:
        row = convert_value(dict(zip(COLUMNS, values, strict=False)), CallRow)
    except msgspec.ValidationError:
        return None
    return row if call_checksum(row) == values[-1] else None
