"""A journal's database file: opened, checked, built, read, salvaged. Only this module imports sqlite3.

A damaged file is checked before anything is written to it, and only copies of it are repaired.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
import tempfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

from holdfast.errors import StateError, StorageFailed
from holdfast.session.journal.entries import FORMAT
from holdfast.session.journal.store import Finding
from holdfast.session.storage.blobs import Blobs
from holdfast.session.storage.row_codec import StoredRow, verify_rows
from holdfast.session.storage.salvage import NEW, damage_finding, finish_replacement, keep_copy, put_aside, views
from holdfast.session.storage.wal import PAGE, copy_files, wal_damage
from holdfast.system.durable_files import BLOBS, DATABASE, sync_path

SCHEMA = (
    "CREATE TABLE entry (seq INTEGER PRIMARY KEY CHECK (seq BETWEEN 1 AND 2147483647), "
    "at REAL NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL, sum BLOB NOT NULL)"
)
APPLICATION = 0x686C6400
"""Marks the file as holdfast's ("hld"). The lowest byte repeats FORMAT: one flipped bit must not lock a session out."""

_FORMATS = range(1, FORMAT + 1)

INSERT = "INSERT INTO entry (seq, at, kind, body, sum) VALUES (?, ?, ?, ?, ?)"

_COLUMNS = "SELECT seq, at, kind, body, sum FROM entry"
_LAST_SEQ = (1 << 31) - 1
_LONGEST_ROW = 1 << 20  # far above BLOB_LIMIT: a damaged length must not allocate a gigabyte

# These errors mean a damaged file. All others (I/O, full, busy) come from its surroundings; salvage cannot help.
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG})


OpenDatabase = sqlite3.Connection

KnownRow = tuple[int, bytes]
"""The position of a row, and its checksum."""


class Damaged(Exception):
    """SQLite cannot use the file as a journal."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def attach(path: Path, known: KnownRow | None = None) -> tuple[sqlite3.Connection, tuple[Finding, ...]]:
    """Return an open database, salvaged first if necessary, with the findings.

    If it has the row `known`, its pages are not all checked (`has_row`).
    """
    unused: tuple[Finding, ...] = ()
    if why := unfit(path):
        unused = (put_aside(path, why),)
    finish_replacement(path)
    try:
        return usable(path, known=known), unused
    except Damaged as damage:
        connection, found = salvage(path, damage.what)
        return connection, unused + found


def usable(path: Path, *, copy_of: Path | None = None, known: KnownRow | None = None) -> sqlite3.Connection:
    """Return a connection to an intact, writable file; raises `Damaged` if it is not.

    A message names the file that it is a copy of. With the row `known`, only what an append needs is checked.
    """
    damage = wal_damage(path)  # first: SQLite would drop what follows the damage and overwrite it
    if damage:
        raise Damaged(damage)
    connection = _connect(path)
    try:
        _refuse_newer(connection, copy_of or path)
        _check_schema(connection)
        if not has_row(connection, known):
            check_pages(connection)  # before any write: a damaged file is kept as it was found
        (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        if mode != "wal":  # a file system without WAL: the deletion of the journal file must be synced
            connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute(f"PRAGMA synchronous={'FULL' if mode == 'wal' else 'EXTRA'}")
        connection.execute("PRAGMA wal_autocheckpoint=200")
        connection.execute("DELETE FROM entry WHERE 0")  # writes nothing; a damaged header makes the file read-only
        return connection
    except sqlite3.Error as error:
        connection.close()
        forced = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY and os.access(path, os.W_OK)
        if forced or _is_damage(error):
            raise Damaged(str(error)) from error
        raise
    except UnicodeDecodeError as error:  # SQLite quotes the schema in its message
        connection.close()
        raise Damaged("its schema is not text") from error
    except BaseException:
        connection.close()
        raise


def marks(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the format as each of the two marks has it; without damage they are equal."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    return version, application ^ APPLICATION


def put_marks(connection: sqlite3.Connection, number: int = FORMAT) -> None:
    """Write both marks of a format. In a transaction, they are durable with the rest of it or not at all."""
    connection.execute(f"PRAGMA user_version={number}")
    connection.execute(f"PRAGMA application_id={APPLICATION | number}")


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=rw"  # never create: a missing file is not an empty journal
    connection = sqlite3.connect(uri, uri=True, timeout=0.2, isolation_level=None, check_same_thread=False)
    _bound(connection)
    connection.execute("PRAGMA locking_mode=EXCLUSIVE")  # before WAL: no -shm file, so that a full disk can be read
    if sys.platform == "darwin":
        connection.execute("PRAGMA fullfsync=1")
    return connection


def _bound(connection: sqlite3.Connection) -> None:
    # Invalid text is replaced, not raised: the checksum of its row finds it.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_ROW)


@contextmanager
def unchanging(path: Path) -> Generator[sqlite3.Connection]:
    """Yield a connection that reads a database without a log where it is, with no lock and no other file.

    Raises `Damaged` if it is not as holdfast writes it. It must not change in the meantime: the caller looks.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            _bound(connection)
            _refuse_newer(connection, path)
            _check_schema(connection)
            yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise Damaged(str(error)) from error


def rows_of_kinds(connection: sqlite3.Connection, kinds: Sequence[str], first: str) -> list[tuple[object, ...]]:
    """Return the rows of these kinds and the first one of the kind `first`, in order. No other body is read."""
    marks = ", ".join("?" * len(kinds))
    query = (  # question marks alone are put in
        f"{_COLUMNS} WHERE kind IN ({marks}) UNION ALL "  # noqa: S608 - likewise
        f"SELECT * FROM ({_COLUMNS} WHERE kind = ? ORDER BY seq LIMIT 1) ORDER BY seq"
    )
    return connection.execute(query, (*kinds, first)).fetchall()


def _refuse_newer(connection: sqlite3.Connection, path: Path) -> None:
    version, number = marks(connection)
    newer = min(version, number)
    if newer > FORMAT and number <= 0xFF:  # noqa: PLR2004 - a format's number is one byte of the mark, else it is damage
        raise StateError(
            f"Journal {str(path)!r} cannot be read: it was written by a newer holdfast (format {newer}, expected at "
            f"most {FORMAT}). Nothing was changed. Upgrade holdfast to read it."
        )


def _check_schema(connection: sqlite3.Connection) -> None:
    """Raise `Damaged` if the file is not a journal."""
    if connection.execute("SELECT name, rootpage, sql FROM sqlite_master").fetchall() != [("entry", 2, SCHEMA)]:
        raise Damaged("its table is not the journal's")
    version, number = marks(connection)
    if version != number or version not in _FORMATS:
        raise Damaged("its format marks do not agree")


def check_pages(connection: sqlite3.Connection) -> None:
    """Raise `Damaged` if a page is not as it must be; reads them all."""
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise Damaged(str(verdict).replace("\n", " "))


def has_row(connection: sqlite3.Connection, known: KnownRow | None) -> bool:
    """Return whether the row is the journal's, and an append can overwrite nothing: no page is marked as free."""
    if known is None:
        return False
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    row = connection.execute("SELECT sum FROM entry WHERE seq = ?", (known[0],)).fetchone()
    return free == 0 and row is not None and row[0] == known[1]


def later_rows(connection: sqlite3.Connection, seq: int, *, most: int = -1) -> list[tuple[object, ...]]:
    """Return the stored rows after `seq` in order, up to `most` of them; raises `Damaged` if they cannot be read."""
    try:
        return connection.execute(f"{_COLUMNS} WHERE seq > ? ORDER BY seq LIMIT ?", (seq, most)).fetchall()
    except sqlite3.Error as error:
        if _is_damage(error):
            raise Damaged(str(error)) from error
        raise


def rows_at(connection: sqlite3.Connection, seqs: Sequence[int]) -> list[tuple[object, ...]]:
    """Return the stored rows at these positions that can be read."""
    found: list[tuple[object, ...]] = []
    for seq in seqs:
        try:
            found += connection.execute(f"{_COLUMNS} WHERE seq = ?", (seq,)).fetchall()
        except sqlite3.Error as error:
            if not _is_damage(error):
                raise
    return found


def read_rows(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    """Return the stored rows in order of seq; raises `Damaged` if the file cannot be read to its end."""
    try:
        return connection.execute(f"{_COLUMNS} ORDER BY seq").fetchall()
    except sqlite3.Error as error:
        if _is_damage(error):
            raise Damaged(str(error)) from error
        raise


def salvage(path: Path, why: str) -> tuple[sqlite3.Connection, tuple[Finding, ...]]:
    """Keep the damaged files, build a new database from the readable rows, and return it open."""
    copy = keep_copy(path)
    found = rescue(path)
    write_database(path.with_name(NEW), found, number=_readable_mark(path))
    finish_replacement(path)
    return usable(path), (damage_finding(why, len(found), copy),)


def _readable_mark(path: Path) -> int:
    """Return the format of a damaged database: the higher mark that can be one, FORMAT if none can be read.

    A salvage raises no format, so that an older holdfast can still read a session to which nothing new was appended.
    """
    with tempfile.TemporaryDirectory(prefix="holdfast-") as scratch:
        copy = copy_files(path, Path(scratch, "marks"))
        found: list[int] = []
        with suppress(sqlite3.Error, UnicodeDecodeError), closing(_connect(copy)) as connection:  # unreadable: none
            found = [number for number in marks(connection) if number in _FORMATS]
    return max(found, default=FORMAT)


def unfit(path: Path) -> str:
    """Return why the replacement file must not be used, "" if it may or there is none.

    It is usable if it is intact and holds every entry that can be read without it.
    """
    new = path.with_name(NEW)
    if not new.is_file() or not path.is_file():
        return ""
    with tempfile.TemporaryDirectory(prefix="holdfast-") as scratch:
        try:
            with closing(usable(copy_files(new, Path(scratch, "new")))) as connection:
                in_new = {(values[0], values[-1]) for values in read_rows(connection)}
        except Damaged as damage:
            return damage.what
    found = rescue(path)
    readable = {record.seq for record in verify_rows(found, Blobs(path.with_name(BLOBS))).records}
    missing = next((row.seq for row in found if row.seq in readable and (row.seq, row.sum) not in in_new), 0)
    return f"entry {missing} of {DATABASE} is not in it" if missing else ""


def write_database(path: Path, rows: Iterable[StoredRow] = (), *, number: int = FORMAT) -> None:
    """Put a complete new database of format `number` at `path`, durably, or nothing."""
    temporary = path.with_name(DATABASE + ".tmp")
    temporary.unlink(missing_ok=True)  # left by a killed process
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(temporary, flags, 0o600))  # SQLite would make it 0644
    with closing(_connect(temporary)) as connection:
        connection.execute("PRAGMA journal_mode=OFF")  # half a file is discarded, and a complete one is synced below
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute(f"PRAGMA page_size={PAGE}")
        put_marks(connection, number)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(SCHEMA)
        connection.executemany(INSERT, rows)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode=WAL")  # here, so that the first page is never rewritten in place
    sync_path(temporary)
    temporary.replace(path)
    sync_path(path.parent)


def rescue(path: Path) -> list[StoredRow]:
    """Return the rows readable from a damaged database in any of its views. `path` is not changed."""
    found: dict[int, StoredRow] = {}
    with tempfile.TemporaryDirectory(prefix="holdfast-") as scratch:
        for view in views(path, Path(scratch), build=write_database):
            for query, start in (
                (f"{_COLUMNS} WHERE seq > ? ORDER BY seq LIMIT 1", 0),
                (f"{_COLUMNS} WHERE seq < ? ORDER BY seq DESC LIMIT 1", _LAST_SEQ + 1),
            ):
                for row in _walk(view, query, start):
                    found.setdefault(row.seq, row)
    return [found[seq] for seq in sorted(found)]


def _walk(path: Path, query: str, seq: int) -> Generator[StoredRow]:
    """Yield the rows after `seq` up to the damage. The opposite direction gives the rows on its other side."""
    seen: set[int] = set()
    with suppress(sqlite3.Error, UnicodeDecodeError), closing(_connect(path)) as connection:  # the damage starts here
        # One row at a time: a failing cursor would also lose the good row before the bad one.
        while (values := connection.execute(query, (seq,)).fetchone()) is not None and values[0] not in seen:
            seq = values[0]
            seen.add(seq)
            row = StoredRow.of(values)
            if row is not None and 1 <= seq <= _LAST_SEQ:
                yield row


def _is_damage(error: sqlite3.Error) -> bool:
    return error.sqlite_errorcode & 0xFF in _DAMAGE


@contextmanager
def naming(path: Path) -> Generator[None]:
    """Convert SQLite and OS errors to `StorageFailed` with the file's name."""
    try:
        yield
    except OSError as error:
        raise _failed(path, error.strerror or str(error), _todo(error)) from error
    except sqlite3.Error as error:
        raise _failed(path, str(error), _SQLITE_TODO.get(error.sqlite_errorcode & 0xFF, "")) from error


@contextmanager
def naming_new(folder: Path) -> Generator[None]:
    """Convert errors while the folder of a new session is made: it has no journal yet."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        is_system = isinstance(error, OSError)
        reason = (error.strerror if is_system else None) or str(error)
        todo = _todo(error) if is_system else _SQLITE_TODO.get(error.sqlite_errorcode & 0xFF, "")
        if not todo and is_system and error.errno != errno.EIO:
            todo = _OTHER_HOME  # a folder that cannot be made, such as one in /proc
        raise StorageFailed(
            f"No session can be stored in {str(folder.parent)!r}: {_why(reason, todo)}. Nothing was done. "
            f"{todo or _CHECK}"
        ) from error


_CHECK = "Check the disk and try again."
_FREE_SPACE = "Free some space and try again."
_OTHER_HOME = "Make its folder writable, or set HOLDFAST_HOME to a folder that is."
_SQLITE_TODO = {
    sqlite3.SQLITE_FULL: _FREE_SPACE,
    sqlite3.SQLITE_READONLY: _OTHER_HOME,
    sqlite3.SQLITE_CANTOPEN: _OTHER_HOME,
    sqlite3.SQLITE_PERM: _OTHER_HOME,
}


def _todo(error: OSError) -> str:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return _FREE_SPACE
        case errno.EROFS | errno.EACCES | errno.EPERM | errno.ENOTDIR:
            return _OTHER_HOME
        case _:
            return ""


def _failed(path: Path, reason: str, todo: str) -> StorageFailed:
    return StorageFailed(
        f"Journal {str(path)!r} cannot be used: {_why(reason, todo)}. {todo or _CHECK} "
        "Everything appended before is safe."
    )


def _why(reason: str, todo: str) -> str:
    return f"the disk is full ({reason})" if todo == _FREE_SPACE else reason
