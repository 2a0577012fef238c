"""The durable store: a session's journal in one SQLite database, opened only by the holder of its lease.

Entries survive power loss once `append` has returned. Damage never ends a session: all readable entries are read, the
damaged file is kept, and findings report it (docs/reference/journal.md describes the format).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import DamageError, HoldfastError, SessionBusy, SessionUnknown, StateError, StorageFailed
from holdfast.session.journal.entries import FORMAT, CallEnded, Entry, ResponseCheckpoint, decode, encode, kind
from holdfast.session.journal.store import Finding, Reading, StoredEntry, conflict
from holdfast.session.storage import database
from holdfast.session.storage.blobs import Blobs
from holdfast.session.storage.lease import Lease, raise_if_busy
from holdfast.session.storage.row_codec import StoredRow, checksum, single_rows, verify_rows
from holdfast.session.storage.salvage import NEW, damage_finding, unused
from holdfast.session.storage.wal import snapshot
from holdfast.system.durable_files import BLOBS, DATABASE, STREAMED, make_folder, sync_path

if TYPE_CHECKING:
    from holdfast.session.storage.fold_cache import SavedFold
    from holdfast.session.storage.streamed_text import StreamedFile

_COPIES = 3

_REMOVING = 3.0  # seconds that others may take to remove an empty folder, which they may find again and again


class SqliteStore:
    """Keeps a journal in `<folder>/session.db`. One thread at a time, and only in the process that opened it.

    Laws (`tests/session/journal/test_store_laws.py`): those of `Store`, also across `kill -9` and on a full disk.
    """

    def __init__(self, folder: Path, lease: Lease, *, now: Callable[[], float], fold_version: str = "") -> None:
        """Attach to an existing database; use `create` or `open`."""
        self._folder = folder
        self._path = folder / DATABASE
        self._blobs = Blobs(folder / BLOBS)
        self._lease = lease
        self._now = now
        self._closed = False
        self._failed = False
        self.appended_at = 0.0
        """The time of the last append, as stored in its entries; 0 before the first."""
        self._streamed: StreamedFile | None = None
        self._blobs.clear()
        saved: SavedFold | None = None
        if fold_version:
            from holdfast.session.storage.fold_cache import read_fold

            saved = read_fold(folder, fold_version)
        known = None if saved is None else (saved.seq, saved.sum)
        self._connection, self._findings = database.attach(self._path, known)
        lease.guard(self._connection)
        try:
            sync_path(folder)  # SQLite also syncs the name of a new log, but ignores a failure
            self.saved_fold = saved if not self._findings and database.has_row(self._connection, known) else None
            """The written fold of this journal, None if all entries must be read."""
            self._unfolded = 0 if self.saved_fold is not None else self._path.stat().st_size
            self._take_streamed(folder)
        except BaseException:
            self._connection.close()
            raise

    @classmethod
    def create(cls, folder: str | Path, *, now: Callable[[], float] = time.time) -> SqliteStore:
        """Return the empty journal of a new session; `folder` may exist if it holds none.

        Raises `StateError` if it does, `SessionBusy`, or `StorageFailed`.
        """
        folder = Path(folder)
        with database.naming_new(folder):
            lease = _claimed(folder)
        return cls._leased(folder, lease, now, create=True)

    @classmethod
    def open(cls, folder: str | Path, *, now: Callable[[], float] = time.time, fold_version: str = "") -> SqliteStore:
        """Return the journal in `folder`. Damage is salvaged, and `read` reports it.

        With a `fold_version`, and a fold of it that was written for this journal, that is `saved_fold`.

        Raises `SessionUnknown`, `SessionBusy`, `StateError` if a newer holdfast wrote it, or `StorageFailed`.
        """
        folder = Path(folder)
        _present(folder)
        with database.naming(folder / DATABASE):
            lease = Lease.take(folder)
        return cls._leased(folder, lease, now, create=False, fold_version=fold_version)

    @classmethod
    def _leased(
        cls, folder: Path, lease: Lease, now: Callable[[], float], *, create: bool, fold_version: str = ""
    ) -> SqliteStore:
        with database.naming_new(folder) if create else database.naming(folder / DATABASE):
            try:
                if create:
                    _create(folder)
                return cls(folder, lease, now=now, fold_version=fold_version)
            except BaseException:
                lease.release()
                raise

    @property
    def length(self) -> int:
        """Return the number of entries, damaged ones included."""
        self._refuse_closed()
        with database.naming(self._path):
            return self._tail()[0]

    def read(self) -> Reading:
        """Return every entry from the first, and the damage found when opening and reading.

        Raises `StorageFailed` if the disk cannot be read, and `StateError` if the store is closed.
        """
        self._refuse_closed()
        with database.naming(self._path):
            try:
                rows = database.read_rows(self._connection)
            except database.Damaged as damage:
                self._connection.close()
                try:
                    self._connection, found = database.salvage(self._path, damage.what)
                    self._lease.guard(self._connection)
                    rows = database.read_rows(self._connection)
                except BaseException:
                    self.close()
                    raise
                self._findings += found
        reading = verify_rows(rows, self._blobs)
        return Reading(records=reading.records, findings=self._findings + reading.findings)

    def read_after(self, seq: int, *, before: bytes | None = None) -> Reading | None:
        """Return the entries after `seq`, whose checksum is `before` if known. None if all must be read: with damage.

        Raises `StorageFailed` or `StateError` as `read` does.
        """
        self._refuse_closed()
        with database.naming(self._path):
            try:
                rows = database.later_rows(self._connection, seq)
            except database.Damaged:
                return None
        reading = verify_rows(rows, self._blobs, after=seq, before=before)
        folded = self.saved_fold.seq if self.saved_fold is not None else 0
        bodies = (row.body for row in map(StoredRow.of, rows) if row is not None and row.seq > folded)
        self._unfolded = sum(map(len, bodies))
        return None if reading.findings else reading

    def some_rows(self, after: int, most: int) -> Sequence[Sequence[object]] | None:
        """Return up to `most` rows after a position, to be verified; None if the database cannot be read there."""
        self._refuse_closed()
        with database.naming(self._path):
            try:
                return database.later_rows(self._connection, after, most=most)
            except database.Damaged:
                return None

    def verified(self, rows: Sequence[Sequence[object]], *, after: int, before: bytes | None) -> tuple[Finding, ...]:
        """Return the damage in some rows, as `read` finds it; from any thread."""
        return verify_rows(rows, self._blobs, after=after, before=before).findings

    def outcome_texts(self, seqs: Sequence[int]) -> Mapping[int, str]:
        """Return the texts of the outcomes of calls at these positions, without those that cannot be read."""
        self._refuse_closed()
        texts: dict[int, str] = {}
        with database.naming(self._path):
            for row in database.rows_at(self._connection, seqs):
                for record in single_rows([row], self._blobs) or ():
                    if isinstance(record.entry, CallEnded):
                        texts[record.seq] = record.entry.text
        return texts

    @property
    def unfolded(self) -> int:
        """Return the bytes of the entries after the kept fold, and of all without one."""
        return self._unfolded

    def keep_fold(self, state: bytes, *, version: str, expected: int, verified: int = 0) -> None:
        """Keep the fold of the first `expected` entries, as `FoldStore.keep_fold` says."""
        from holdfast.session.storage.fold_cache import SavedFold, write_fold

        self._refuse_closed()
        with database.naming(self._path):
            length, link = self._tail()
        if length != expected:
            raise conflict(expected=expected, found=length)
        with suppress(OSError):  # a cache, and the disk may be full
            write_fold(self._folder, SavedFold(seq=length, sum=link, state=state, verified=verified), version)
        self._unfolded = 0

    def drop_fold(self) -> None:
        """Forget the kept fold: the next process reads every entry."""
        from holdfast.session.storage.fold_cache import drop_fold

        drop_fold(self._folder)
        self._unfolded = self._path.stat().st_size

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        """Append `entries` in one transaction, durable on return, and return the new length.

        Raises `AppendConflict`, `StorageFailed` or `StateError`; then nothing was appended, and the store stays usable.
        """
        self._refuse_closed()
        bodies = [(kind(entry), encode(entry)) for entry in entries]
        with database.naming(self._path):
            at = float(self._now())
            if self._connection.in_transaction:  # rolling back the last failure failed too
                self._connection.execute("ROLLBACK")
            if self._failed:  # the failed write may be in the log, and must not count as committed later
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                self._failed = False
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                length = self._insert(bodies, expected, at)
                self._connection.execute("COMMIT")
            except BaseException:
                self._failed = True
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        self.appended_at = at
        self._unfolded += sum(len(body) for _, body in bodies)
        return length

    def keep_streamed(self, checkpoint: ResponseCheckpoint, *, expected: int) -> None:
        """Write text that the next append will hold, without a sync: it survives a kill, not a power loss.

        Raises `AppendConflict`, `StorageFailed` or `StateError`; the store stays usable.
        """
        self._refuse_closed()
        with database.naming(self._path.with_name(STREAMED)):
            if (length := self._tail()[0]) != expected:
                raise conflict(expected=expected, found=length)
            if self._streamed is None:
                from holdfast.session.storage.streamed_text import StreamedFile

                self._streamed = StreamedFile(self._path.parent)
            self._streamed.write(checkpoint, after=expected)

    def _take_streamed(self, folder: Path) -> None:
        """Append the text that a killed process had streamed last."""
        if not (folder / STREAMED).exists():
            return
        from holdfast.session.storage.streamed_text import streamed_text

        length = self._tail()[0]
        with suppress(StorageFailed):  # a full disk: the session can be read anyway
            if (found := streamed_text(folder, after=length)) is not None:
                self.append([found], expected=length)
            (folder / STREAMED).unlink()

    def add_rows(self, rows: Sequence[StoredRow]) -> None:
        """Fill an empty journal with the rows of another, as they are, in one transaction, durable on return.

        Raises `AppendConflict` if it is not empty, `StorageFailed` or `StateError`.
        """
        self._refuse_closed()
        with database.naming(self._path):
            if seq := self._tail()[0]:
                raise conflict(expected=0, found=seq)
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                for row in rows:
                    values = (row.seq, row.at, row.kind, self._blobs.put(row.body), row.sum)
                    self._connection.execute(database.INSERT, values)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the database and release the lease. Closing twice is fine. In a forked process nothing is closed."""
        if self._closed:
            return
        self._closed = True
        if self._lease.is_inherited:
            return
        if self._streamed is not None:
            self._streamed.close()
        try:
            self._connection.close()
        finally:
            self._lease.release()

    def _insert(self, bodies: Sequence[tuple[str, bytes]], expected: int, at: float) -> int:
        seq, link = self._tail()
        if seq != expected:
            raise conflict(expected=expected, found=seq)
        if bodies and database.marks(self._connection) != (FORMAT, FORMAT):
            database.put_marks(self._connection)  # the first append to a journal of an older format
        for name, body in bodies:
            seq += 1
            link = checksum(link, seq, at, name, body)
            self._connection.execute(database.INSERT, (seq, at, name, self._blobs.put(body), link))
        return seq

    def _tail(self) -> tuple[int, bytes]:
        """Return the last seq and the checksum that the next row is chained to."""
        values = self._connection.execute("SELECT seq, sum FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
        seq, stored = values or (0, b"")
        return seq, stored if isinstance(stored, bytes) else b""

    def _refuse_closed(self) -> None:
        self._lease.refuse_in_child(f"Journal {str(self._path)!r}")
        if self._closed:
            raise StateError(f"Journal {str(self._path)!r} is closed. Open the session again.")


def _claimed(folder: Path) -> Lease:
    """Return the lease on a folder, which is created if it is missing.

    A process that lists sessions in between may take the folder for a leftover of a dead process and remove it.
    """
    give_up = time.monotonic() + _REMOVING
    while True:
        make_folder(folder)
        try:
            return Lease.take(folder)
        except FileNotFoundError:
            if time.monotonic() > give_up:
                raise
        except SessionBusy:
            if (folder / DATABASE).exists() or time.monotonic() > give_up:
                raise
            time.sleep(0.001)


def read_copy(folder: str | Path) -> Reading:
    """Return the content of the session in `folder` without the lease: from a private copy, unless it is at rest.

    Works while another process appends, and creates nothing in `folder`. Raises `SessionUnknown`, `StateError` if a
    newer holdfast wrote it, or `StorageFailed` if it cannot be copied.
    """
    folder = Path(folder)
    rows, findings = _copied(folder)
    reading = verify_rows(rows, Blobs(folder / BLOBS))
    records = reading.records
    if (streamed := _left_streaming(folder, rows)) is not None:
        records += (StoredEntry(seq=streamed.seq, at=streamed.at, entry=decode(streamed.body)),)
    return Reading(records=records, findings=findings + reading.findings)


def read_rows_of(folder: Path, kinds: Sequence[str], *, first: str) -> tuple[StoredEntry, ...] | None:
    """Return the entries of these kinds and the first one of the kind `first`, None if all must be read.

    Each is verified by itself; the others are not read. Raises `SessionUnknown`.
    """
    from holdfast.session.storage.resting_journal import resting_rows_of

    path = _present(folder)
    rows = None if path.name == NEW or (folder / STREAMED).exists() else resting_rows_of(path, kinds, first=first)
    return None if rows is None else single_rows(rows, Blobs(folder / BLOBS))


def complete_rows(folder: Path) -> tuple[StoredRow, ...]:
    """Return the rows of the session in `folder` as they are, with full bodies, for storage elsewhere.

    Raises as `read_copy` does, and `DamageError` if any is damaged: a copy must not look sound.
    """
    rows, findings = _copied(folder)
    blobs = Blobs(folder / BLOBS)
    found = findings + verify_rows(rows, blobs).findings
    if found:
        raise DamageError(
            f"Session {folder.name!r} is damaged: {found[0].what} Open it once with holdfast -r {folder.name}, which "
            "keeps what can be read, then try again."
        )
    stored = [StoredRow.of(values) for values in rows]
    complete = tuple(row._replace(body=blobs.body(row.body)) for row in stored if row is not None)
    streamed = _left_streaming(folder, rows)
    return complete if streamed is None else (*complete, streamed)


def _left_streaming(folder: Path, rows: Sequence[Sequence[object]]) -> StoredRow | None:
    """Return the row that the next process to open the session will append first, None if there is none.

    None also while a process has the session open: its next entry will be another one.
    """
    last = StoredRow.of(rows[-1]) if rows else None
    if last is None or not (folder / STREAMED).exists():
        return None
    from holdfast.session.storage.streamed_text import streamed_text

    if (streamed := streamed_text(folder, after=last.seq)) is None:
        return None
    try:
        raise_if_busy(folder)
        at = (folder / STREAMED).stat().st_mtime
    except (HoldfastError, OSError):
        return None
    name, body = kind(streamed), encode(streamed)
    return StoredRow(last.seq + 1, at, name, body, checksum(last.sum, last.seq + 1, at, name, body))


def _copied(folder: Path) -> tuple[Sequence[Sequence[object]], tuple[Finding, ...]]:
    """Return the rows of the database at rest or of a private copy, and findings about unusable files."""
    source, findings = _readable(folder)
    from holdfast.session.storage.resting_journal import resting_rows

    at_rest = resting_rows(source)
    if at_rest is not None:
        return at_rest, findings
    rows: Sequence[Sequence[object]] = ()
    with database.naming(source), tempfile.TemporaryDirectory(prefix="holdfast-") as scratch:
        for attempt in range(_COPIES):
            into = Path(scratch, str(attempt))
            into.mkdir()
            copy = snapshot(source, into)
            try:
                with closing(database.usable(copy, copy_of=source)) as connection:
                    rows = database.read_rows(connection)
                break
            except database.Damaged as damage:
                # A log being overwritten may look damaged for a moment; real damage persists.
                if attempt == _COPIES - 1:
                    rows = database.rescue(copy)
                    findings += (damage_finding(damage.what, len(rows)),)
    return rows, findings


def _readable(folder: Path) -> tuple[Path, tuple[Finding, ...]]:
    """Return the file that holds the journal, and findings about an unusable replacement."""
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
    raise SessionUnknown(f"Session {folder.name!r} has no {DATABASE} in {str(folder.parent)!r}.", fault="no_session")


def _create(folder: Path) -> None:
    for path in (folder / DATABASE, folder / NEW):
        if path.exists() and not path.is_file():
            what = "a folder" if path.is_dir() else "no regular file"
            raise StateError(
                f"Journal {str(path)!r} cannot be used: it is {what} (expected a file). Move it away, or choose "
                "another folder for the session."
            )
    if (folder / DATABASE).exists() or (folder / NEW).exists():
        raise StateError(
            f"Session {folder.name!r} already exists: its folder has a {DATABASE}. Open it, or choose another ID."
        )
    make_folder(folder / BLOBS)
    database.write_database(folder / DATABASE)
