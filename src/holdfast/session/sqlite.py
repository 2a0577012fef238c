"""The durable store: a session's journal in one SQLite database, opened only by the holder of its lease.

Two rules. What `append` returned for survives power loss. Damage never ends a session: what can be read is read, the
damaged file is kept, and findings say so (docs/journal.md has the whole format).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from holdfast.errors import SessionUnknown, StateError
from holdfast.session import database
from holdfast.session.disk import BLOBS, DATABASE, make_folder, sync_path
from holdfast.session.entries import Entry, encode, kind
from holdfast.session.lock import Lease
from holdfast.session.rows import Blobs, checksum, judge
from holdfast.session.salvage import NEW, finding, unused
from holdfast.session.store import Finding, Reading, conflict
from holdfast.session.wal import snapshot

_COPIES = 3


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
        self._connection, self._findings = database.attach(self._path)
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
        with database.naming(folder / DATABASE):
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
        with database.naming(folder / DATABASE):
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
        with database.naming(self._path):
            return self._tail()[0]

    def read(self) -> Reading:
        """Return every entry from the first, with what opening and reading found damaged.

        Raises only `StorageFailed`, if the disk itself cannot be read, and `StateError` if the store is closed.
        """
        self._refuse_closed()
        with database.naming(self._path):
            try:
                rows = database.rows(self._connection)
            except database.Damaged as damage:
                self._connection.close()
                try:
                    self._connection, found = database.salvage(self._path, damage.what)
                    rows = database.rows(self._connection)
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
        with database.naming(self._path):
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
            self._connection.execute(database.INSERT, (seq, at, name, self._blobs.put(body), link))
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
    source, findings = _readable(folder)
    rows: Sequence[Sequence[object]] = ()
    with database.naming(source), tempfile.TemporaryDirectory(prefix="holdfast-") as scratch:
        for attempt in range(_COPIES):
            into = Path(scratch, str(attempt))
            into.mkdir()
            copy = snapshot(source, into)
            try:
                with closing(database.usable(copy)) as connection:
                    rows = database.rows(connection)
                break
            except database.Damaged as damage:
                # A log that is being overwritten may look damaged for a moment: damage is what stays.
                if attempt == _COPIES - 1:
                    rows = database.rescue(copy)
                    findings += (finding(damage.what, len(rows)),)
    reading = judge(rows, Blobs(folder / BLOBS))
    return Reading(records=reading.records, findings=findings + reading.findings)


def _readable(folder: Path) -> tuple[Path, tuple[Finding, ...]]:
    """Return the file that holds the journal, and what is wrong with a replacement for it that does not count."""
    path = _present(folder)
    with database.naming(path):
        if path.name == NEW and (why := database.unfit(folder / DATABASE)):
            return folder / DATABASE, (unused(why),)
    return path, ()


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
    database.build(folder / DATABASE)
