"""The durable store: a session's journal in one SQLite database, opened only by the holder of its lease.

Two rules. What `append` returned for survives power loss. Damage never ends a session: what can be read is read, the
damaged file is kept, and findings say so (docs/journal.md has the whole format).
"""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

from holdfast.errors import SessionUnknown, StateError, StorageFailed
from holdfast.session.disk import BLOBS, DATABASE, make_folder, sync_path
from holdfast.session.entries import FORMAT, Entry, encode, kind
from holdfast.session.lock import Lease
from holdfast.session.rows import Blobs, Row, checksum, judge
from holdfast.session.salvage import NEW, finding, keep, settle, views
from holdfast.session.store import Finding, Reading, conflict
from holdfast.session.wal import PAGE, snapshot, wal_damage

SCHEMA = (
    "CREATE TABLE entry (seq INTEGER PRIMARY KEY CHECK (seq BETWEEN 1 AND 2147483647), "
    "at REAL NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL, sum BLOB NOT NULL)"
)
APPLICATION = 0x686C6400
"""Marks the file as ours ("hld") and repeats FORMAT in its lowest byte: one flipped bit must not lock a session out."""

_COLUMNS = "SELECT seq, at, kind, body, sum FROM entry"
_INSERT = "INSERT INTO entry (seq, at, kind, body, sum) VALUES (?, ?, ?, ?, ?)"
_LAST_SEQ = (1 << 31) - 1
_LONGEST_ROW = 1 << 20  # far over BLOB_LIMIT: a damaged length must not ask for a gigabyte
_COPIES = 3

# The file is at fault; every other error (I/O, full, busy, …) is of its surroundings, where salvage cannot help.
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG})


class SqliteStore:
    """Keep a journal in `<folder>/session.db`; one thread at a time.

    Laws (`tests/session/test_store_laws.py`): those of `Store`, also across `kill -9` and on a full disk.
    """

    def __init__(self, folder: Path, lease: Lease, *, now: Callable[[], float]) -> None:
        """Attach to a database that is there; use `create` or `open`."""
        self._path = folder / DATABASE
        self._blobs = Blobs(folder / BLOBS)
        self._lease = lease
        self._now = now
        self._closed = False
        self._failed = False
        self._blobs.clear()
        self._connection, self._findings = _attach(self._path)
        try:
            sync_path(folder)  # SQLite syncs the name of a new log itself, but is silent when that fails
        except OSError:
            self._connection.close()
            raise

    @classmethod
    def create(cls, folder: Path, *, now: Callable[[], float] = time.time) -> SqliteStore:
        """Return the empty journal of a new session; `folder` may exist if it holds none.

        Raises `StateError` if it does, `SessionBusy`, or `StorageFailed`.
        """
        with _naming(folder / DATABASE):
            make_folder(folder)
        return cls._leased(folder, now, create=True)

    @classmethod
    def open(cls, folder: Path, *, now: Callable[[], float] = time.time) -> SqliteStore:
        """Return the journal in `folder`; damage is salvaged, and `read` reports it.

        Raises `SessionUnknown`, `SessionBusy`, `StateError` if a newer holdfast wrote it, or `StorageFailed`.
        """
        _present(folder)
        return cls._leased(folder, now, create=False)

    @classmethod
    def _leased(cls, folder: Path, now: Callable[[], float], *, create: bool) -> SqliteStore:
        with _naming(folder / DATABASE):
            lease = Lease.take(folder)
            try:
                if create:
                    _create(folder)
                return cls(folder, lease, now=now)
            except BaseException:
                lease.release()
                raise

    @property
    def length(self) -> int:
        """Return how many entries the journal holds, damaged ones included."""
        self._refuse_closed()
        with _naming(self._path):
            return self._tail()[0]

    def read(self) -> Reading:
        """Return every entry from the first, with what opening and reading found damaged.

        Raises only `StorageFailed`, if the disk itself cannot be read, and `StateError` if the store is closed.
        """
        self._refuse_closed()
        with _naming(self._path):
            try:
                rows = _rows(self._connection)
            except _Damaged as damage:
                self._connection.close()
                try:
                    self._connection, found = _salvage(self._path, damage.what)
                    rows = _rows(self._connection)
                except BaseException:
                    self.close()
                    raise
                self._findings += found
        reading = judge(rows, self._blobs)
        return Reading(records=reading.records, findings=self._findings + reading.findings)

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        """Append `entries` in one transaction, durable on return, and return the new length.

        Raises `AppendConflict`, `StorageFailed` or `StateError`, having appended nothing; the store stays usable.
        """
        self._refuse_closed()
        bodies = [(kind(entry), encode(entry)) for entry in entries]
        with _naming(self._path):
            if self._connection.in_transaction:  # rolling back the last failure failed too
                self._connection.execute("ROLLBACK")
            if self._failed:  # what failed may stand in the log, and must not be taken for what was committed later
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                self._failed = False
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                length = self._insert(bodies, expected)
                self._connection.execute("COMMIT")
            except BaseException:
                self._failed = True
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        return length

    def close(self) -> None:
        """Close the database and give up the lease; closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        try:
            self._connection.close()
        finally:
            self._lease.release()

    def _insert(self, bodies: Sequence[tuple[str, bytes]], expected: int) -> int:
        seq, link = self._tail()
        if seq != expected:
            raise conflict(expected=expected, found=seq)
        at = float(self._now())
        for name, body in bodies:
            seq += 1
            link = checksum(link, seq, at, name, body)
            self._connection.execute(_INSERT, (seq, at, name, self._blobs.put(body), link))
        return seq

    def _tail(self) -> tuple[int, bytes]:
        """Return the last seq and the sum the next row is chained to."""
        values = self._connection.execute("SELECT seq, sum FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
        seq, stored = values or (0, b"")
        return seq, stored if isinstance(stored, bytes) else b""

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StateError(
                f"Journal {str(self._path)!r} is closed, an open one was expected. Open the session again."
            )


def read_copy(folder: Path) -> Reading:
    """Return what the session in `folder` holds now, from a private copy: for everyone without the lease.

    Works while another process appends, and creates nothing in `folder`. Raises `SessionUnknown`, `StateError` if a
    newer holdfast wrote it, or `StorageFailed` if it cannot be copied.
    """
    source = _present(folder)
    findings: tuple[Finding, ...] = ()
    rows: Sequence[Sequence[object]] = ()
    with _naming(source), tempfile.TemporaryDirectory(prefix="holdfast-") as scratch:
        for attempt in range(_COPIES):
            into = Path(scratch, str(attempt))
            into.mkdir()
            copy = snapshot(source, into)
            try:
                with closing(_usable(copy)) as connection:
                    rows = _rows(connection)
                break
            except _Damaged as damage:
                # A log that is being overwritten may look damaged for a moment: damage is what stays.
                if attempt == _COPIES - 1:
                    rows = _rescue(copy)
                    findings = (finding(damage.what, len(rows)),)
    reading = judge(rows, Blobs(folder / BLOBS))
    return Reading(records=reading.records, findings=findings + reading.findings)


class _Damaged(Exception):
    """The file itself is not a journal SQLite can use."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def _present(folder: Path) -> Path:
    """Return the path of the session's database; raises `SessionUnknown` if there is none."""
    for path in (folder / NEW, folder / DATABASE):
        if path.is_file():
            return path
    raise SessionUnknown(
        f"Session {folder.name!r} has no {DATABASE} in {str(folder.parent)!r}, an existing session was expected. See "
        "`holdfast sessions list`."
    )


def _create(folder: Path) -> None:
    if (folder / DATABASE).exists() or (folder / NEW).exists():
        raise StateError(
            f"Session {folder.name!r} already has a {DATABASE}, a new session was expected. Open it, or choose "
            "another id."
        )
    make_folder(folder / BLOBS)
    _build(folder / DATABASE)


def _attach(path: Path) -> tuple[sqlite3.Connection, tuple[Finding, ...]]:
    """Return an open database, salvaged first if it must be, with what was found."""
    settle(path)
    try:
        return _usable(path), ()
    except _Damaged as damage:
        return _salvage(path, damage.what)


def _usable(path: Path) -> sqlite3.Connection:
    """Return a connection to a file that is whole and can be written; raises `_Damaged` if it is not."""
    damage = wal_damage(path)  # first: SQLite would drop what follows the damage and reuse its place
    if damage:
        raise _Damaged(damage)
    connection = _connect(path)
    try:
        _refuse_newer(connection, path)
        _check_structure(connection)  # before anything is written: a damaged file is kept as it was found
        (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        if mode != "wal":  # a file system without it; then the deletion of the journal file must be synced too
            connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute(f"PRAGMA synchronous={'FULL' if mode == 'wal' else 'EXTRA'}")
        connection.execute("PRAGMA wal_autocheckpoint=200")
        connection.execute("DELETE FROM entry WHERE 0")  # writes nothing; a damaged header can make the file read-only
        return connection
    except sqlite3.Error as error:
        connection.close()
        forced = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY and os.access(path, os.W_OK)
        if forced or _is_damage(error):
            raise _Damaged(str(error)) from error
        raise
    except UnicodeDecodeError as error:  # SQLite quotes the schema in its message
        connection.close()
        raise _Damaged("its schema is not text") from error
    except BaseException:
        connection.close()
        raise


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=rw"  # never create: a missing file is not an empty journal
    connection = sqlite3.connect(uri, uri=True, timeout=0.2, isolation_level=None, check_same_thread=False)
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")  # the checksum judges it, not an error
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_ROW)
    connection.execute("PRAGMA locking_mode=EXCLUSIVE")  # before WAL: no -shm, so that a full disk can be read
    if sys.platform == "darwin":
        connection.execute("PRAGMA fullfsync=1")
    return connection


def _refuse_newer(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    newer = min(version, number := application ^ APPLICATION)
    if newer > FORMAT and number <= 0xFF:  # noqa: PLR2004 - a format's number is one byte of the mark, else it is damage
        raise StateError(
            f"Journal {str(path)!r} has format {newer}, at most {FORMAT} was expected: it was written by a newer "
            "holdfast. Nothing was changed; upgrade to read it."
        )


def _check_structure(connection: sqlite3.Connection) -> None:
    """Raise `_Damaged` if the file is not built like a journal; its rows are judged when they are read."""
    if connection.execute("SELECT name, rootpage, sql FROM sqlite_master").fetchall() != [("entry", 2, SCHEMA)]:
        raise _Damaged("its table is not the journal's")
    marks = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id")]
    if marks != [FORMAT, APPLICATION | FORMAT]:
        raise _Damaged("its format marks do not agree")
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise _Damaged(str(verdict).replace("\n", " "))


def _rows(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    try:
        return connection.execute(f"{_COLUMNS} ORDER BY seq").fetchall()
    except sqlite3.Error as error:
        if _is_damage(error):
            raise _Damaged(str(error)) from error
        raise


def _salvage(path: Path, why: str) -> tuple[sqlite3.Connection, tuple[Finding, ...]]:
    """Keep the damaged files aside, build a new database of the rows that can be read, and return it open."""
    kept = keep(path)
    rows = _rescue(path)
    _build(path.with_name(NEW), rows)
    settle(path)
    return _usable(path), (finding(why, len(rows), kept),)


def _build(path: Path, rows: Iterable[Row] = ()) -> None:
    """Put a whole new database at `path`, durably, or nothing."""
    temporary = path.with_name(DATABASE + ".tmp")
    temporary.unlink(missing_ok=True)  # left by a process that was killed here
    os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))  # SQLite would make it 0644
    with closing(_connect(temporary)) as connection:
        connection.execute("PRAGMA journal_mode=OFF")  # half a file is thrown away, and a whole one is synced below
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute(f"PRAGMA page_size={PAGE}")
        connection.execute(f"PRAGMA user_version={FORMAT}")
        connection.execute(f"PRAGMA application_id={APPLICATION | FORMAT}")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(SCHEMA)
        connection.executemany(_INSERT, rows)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode=WAL")  # here, so that the first page is never written in its place
    sync_path(temporary)
    temporary.replace(path)
    sync_path(path.parent)


def _rescue(path: Path) -> list[Row]:
    """Return the rows that can be read from a damaged database by any view of it; `path` is not changed."""
    found: dict[int, Row] = {}
    with tempfile.TemporaryDirectory(prefix="holdfast-") as scratch:
        for view in views(path, Path(scratch), build=_build):
            for query, start in (
                (f"{_COLUMNS} WHERE seq > ? ORDER BY seq LIMIT 1", 0),
                (f"{_COLUMNS} WHERE seq < ? ORDER BY seq DESC LIMIT 1", _LAST_SEQ + 1),
            ):
                for row in _walk(view, query, start):
                    found.setdefault(row.seq, row)
    return [found[seq] for seq in sorted(found)]


def _walk(path: Path, query: str, seq: int) -> Generator[Row]:
    """Yield the rows after `seq` up to the damage; the other direction gives those behind it."""
    seen: set[int] = set()
    with suppress(sqlite3.Error, UnicodeDecodeError), closing(_connect(path)) as connection:  # that is the damage
        # One row at a time: a cursor that fails withholds the good row before the bad one.
        while (values := connection.execute(query, (seq,)).fetchone()) is not None and values[0] not in seen:
            seq = values[0]
            seen.add(seq)
            row = Row.of(values)
            if row is not None and 1 <= seq <= _LAST_SEQ:
                yield row


def _is_damage(error: sqlite3.Error) -> bool:
    return error.sqlite_errorcode & 0xFF in _DAMAGE


@contextmanager
def _naming(path: Path) -> Generator[None]:
    """Raise `StorageFailed` with the file's name for what SQLite or the system says went wrong inside."""
    try:
        yield
    except OSError as error:
        raise _failed(path, error.strerror or str(error), full=error.errno in (errno.ENOSPC, errno.EDQUOT)) from error
    except sqlite3.Error as error:
        raise _failed(path, str(error), full=error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_FULL) from error


def _failed(path: Path, reason: str, *, full: bool) -> StorageFailed:
    why, todo = (f"the disk is full ({reason})", "Free some space") if full else (reason, "Check the disk")
    return StorageFailed(
        f"Journal {str(path)!r} cannot be used: {why}, a writable disk was expected. {todo} and try again; what was "
        "appended before is safe."
    )
