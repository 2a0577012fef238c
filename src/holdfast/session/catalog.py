"""The sessions in one root folder: their ids, and a summary of each for lists.

A summary comes from the index of the root, or from the cache `about.json` in the session's folder. Each is used only
while the journal's files have not changed since. A damaged session is listed with its damage, never hidden.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import HoldfastError, SessionBusy, SessionUnknown, StateError, UsageError
from holdfast.session.journal.entries import (
    ModelChanged,
    Moved,
    MovedBy,
    PromptAccepted,
    RequestStarted,
    SessionOpened,
    Titled,
)
from holdfast.session.journal.store import StoredEntry
from holdfast.session.session_id import is_session_id
from holdfast.session.storage.unfinished_sessions import has_blobs, is_nothing
from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.system.durable_files import ABOUT, BLOBS, DATABASE, is_abandoned, replace_file
from holdfast.typed_data import decode_json

if TYPE_CHECKING:
    from holdfast.session.session_index import IndexedSession

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # no letters that sound or look alike
_AGAIN = re.compile(r"(?<=^\d{8}-\d{4}-\w{4})-\d+$")
_NAMED = 5


def _kind(entry: type[msgspec.Struct]) -> str:
    return str(entry.__struct_config__.tag)


_NAMING_KINDS = tuple(map(_kind, (SessionOpened, Moved, ModelChanged, Titled)))
LARGE = 4 << 20
"""Bytes of a session from which on a list reads only the entries that name it, and verifies no others."""

Stamp = tuple[tuple[int, int], ...]
"""What identifies the state of a journal without reading it: modification time and size of each of its files."""
TRASH = "trash"
"""The folder of deleted sessions, next to the sessions."""


class SessionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One session in a list: `modified` is when its journal last changed, `bytes` its size on disk.

    `damage` is a sentence if the journal is damaged, else "". `repository` are names of the git repository that it was
    begun in. With `moved_by`, the session is to continue in `cwd`, wherever it worked before.
    """

    id: str
    cwd: str
    title: str
    model: str
    created: float
    modified: float
    bytes: int
    damage: str = ""
    repository: tuple[str, ...] = ()
    moved_by: MovedBy | None = None


class _StoredSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `about.json`; `stamp` identifies the journal files it was made from."""

    id: str
    cwd: str
    title: str
    model: str
    created: float
    stamp: Stamp
    repository: tuple[str, ...] = ()


class Catalog:
    """Finds sessions under `root`, which need not exist yet."""

    def __init__(self, root: str | Path, *, now: Callable[[], float] = time.time) -> None:
        self._root = Path(root)
        self._now = now

    def new_id(self) -> str:
        """Return an unused id. It sorts by time (UTC minute) and can be read aloud."""
        while True:
            minute = time.strftime("%Y%m%d-%H%M", time.gmtime(self._now()))
            session = f"{minute}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}"
            try:
                if not self.folder(session).exists():
                    return session
            except OSError:  # creating it will fail too, and report why
                return session

    def folder(self, session: str) -> Path:
        """Return the path for the session with exactly that id; raises `SessionUnknown` if it is not a valid id."""
        if not is_session_id(session):
            raise SessionUnknown(
                f"Session {session!r} is not an ID (expected letters, digits and hyphens).", fault="no_session"
            )
        return self._root / session

    def find(self, session: str, *, free: bool = False) -> SessionSummary:
        """Return the summary of the only session whose id is `session` or begins with it.

        Raises `SessionUnknown`, naming similar ids, or `StateError` if its folder cannot be read. With `free`, raises
        `SessionBusy` if another process holds it, before reading anything.
        """
        exact = is_session_id(session) and self.has_session(session)
        ids = [session] if exact else self._ids()
        matches = [session] if exact else [name for name in ids if session and name.startswith(session)]
        if len(matches) == 1:
            try:
                return _summary(self.folder(matches[0]), free=free)
            except OSError as error:
                raise StateError(
                    f"Session {matches[0]!r} cannot be read: {error.strerror}. Fix "
                    f"the permissions of {str(self.folder(matches[0]))!r}."
                ) from error
        if matches:
            problem, near = f"is ambiguous: {len(matches)} IDs begin with it", matches
        else:
            import difflib

            problem, near = "does not exist", difflib.get_close_matches(session, ids, n=_NAMED, cutoff=0.5) or ids
        message = f"Session {session!r} {problem} (expected an ID or the beginning of one)."
        raise SessionUnknown(f"{message} Similar: {', '.join(near[:_NAMED])}." if near else message, fault="no_session")

    def latest(self, cwd: Path, *, free: bool = False) -> SessionSummary | None:
        """Return the most recently used session of the directory `cwd`, None if there is none; `free` as in `find`."""
        for folder in sorted(map(self.folder, self._ids()), key=last_used, reverse=True):
            cached = _cached(folder)
            if cached is None or cached.cwd == str(cwd):  # a move writes the cache
                summary = _summary_or_damage(folder, free=free and cached is not None)
                if summary.cwd == str(cwd):
                    return summary
        return None

    def latest_free(self, cwd: Path) -> tuple[SessionSummary | None, str]:
        """Return the latest session of `cwd` that no other process holds, and the ID of a newer one that is held.

        The ID is "" if none is newer. Raises `SessionBusy` if every session there is held; then nothing was read.
        """
        from holdfast.session.storage.lease import raise_if_busy

        first_busy: SessionBusy | None = None
        newer = ""
        for folder in sorted(map(self.folder, self._ids()), key=last_used, reverse=True):
            cached = _cached(folder)
            if cached is not None and cached.cwd != str(cwd):
                continue
            try:
                summary = _summary_or_damage(folder, free=cached is not None)
                if summary.cwd == str(cwd):
                    raise_if_busy(folder)
                    return summary, newer
            except SessionBusy as busy:
                first_busy, newer = first_busy or busy, newer or folder.name
        if first_busy is not None:
            raise first_busy
        return None, ""

    def all(self) -> tuple[SessionSummary, ...]:
        """Return every session, most recently used first."""
        return tuple(summary for summary, _ in self.stamped())

    def stamped(self) -> list[tuple[SessionSummary, Stamp]]:
        """Return every session, most recently used first, each with the stamp that its journal had before it was read.

        The stamp is empty if the summary must not be kept.
        """
        from holdfast.session.session_index import has_rested, index_path, read_index, write_index

        now = self._now()
        known = read_index(index_path(self._root))
        indexed: dict[str, IndexedSession] = {}
        found: list[tuple[SessionSummary, Stamp]] = []
        for session in self._named():
            stamp = _stamp_or_none(self._root, session)
            if stamp and (same := known.get(session)) is not None and same.stamp == stamp:
                indexed[session] = same
                found.append((_indexed_summary(session, same), stamp))
            elif self.has_session(session):
                summary = _summary_or_damage(self.folder(session))
                if stamp is None or summary.damage or not has_rested(stamp, now):
                    stamp = ()
                else:
                    indexed[session] = _index_entry(summary, stamp, size=summary.bytes)
                found.append((summary, stamp))
        if indexed != known:
            write_index(index_path(self._root), indexed)
        return sorted(found, key=lambda each: (each[0].modified, each[0].id), reverse=True)

    def restamped(
        self, session: str, known: tuple[SessionSummary, Stamp] | None
    ) -> tuple[SessionSummary, Stamp] | None:
        """Return one session as `stamped` does, None if there is none. What is `known` holds while its stamp does."""
        from holdfast.session.session_index import has_rested

        now, stamp = self._now(), _stamp_or_none(self._root, session)
        if known is not None and stamp and stamp == known[1]:
            return known
        if not self.has_session(session):
            return None
        summary = _summary_or_damage(self.folder(session))
        return summary, stamp if stamp and has_rested(stamp, now) else ()

    def live_summary(self, session: str, records: Sequence[StoredEntry]) -> SessionSummary:
        """Return the summary of a session whose entries are known, without reading them."""
        folder = self.folder(session)
        stamp = self.stamp(session)
        return _indexed_summary(session, _index_entry(_summarized(folder, records, stamp), stamp, size=0))

    def stamp(self, session: str) -> Stamp:
        """Return the stamp of the journal of a session that a list has, an empty one if it cannot be read."""
        return _stamp_or_none(self._root, session) or ()

    def folder_time(self) -> int:
        """Return when a session came or went last, in nanoseconds since the epoch; 0 if there never was one."""
        try:
            return self._root.stat().st_mtime_ns
        except OSError:
            return 0

    def ids(self) -> list[str]:
        """Return the id of every session, newest first, without reading any."""
        return self._ids()

    def names(self) -> set[str]:
        """Return the names of all folders that may hold a session, without looking into any."""
        return set(self._named())

    def summary(self, session: str) -> SessionSummary:
        """Return the summary of the session with exactly that id, with its damage if it cannot be read."""
        return _summary_or_damage(self.folder(session))

    def trash(self, session: str) -> Path:
        """Move the session with exactly that id to the trash and return its new path.

        Raises `SessionBusy` if another process holds it, `StateError` if it cannot be moved. Nothing is deleted.
        """
        from holdfast.session.trash import move_folder

        return move_folder(self.folder(session), self._trash)

    def trashed(self) -> tuple[SessionSummary, ...]:
        """Return every session in the trash, most recently used first."""
        return Catalog(self._trash).all()

    def restore(self, session: str) -> SessionSummary:
        """Move the only session in the trash whose id is `session` or begins with it back, and return its summary.

        Raises `SessionUnknown` if the trash has none, `UsageError` if a session has its id now, else as `trash` does.
        """
        try:
            found = Catalog(self._trash).find(session)
        except SessionUnknown as error:
            raise SessionUnknown(
                f"{error} The trash was searched: holdfast sessions list --trash.", fault="no_session"
            ) from error
        again = _AGAIN.sub("", found.id)  # the name before it was deleted twice
        if self.folder(again).exists():
            raise UsageError(
                f"Session {found.id!r} cannot be restored: there is a session {again!r} now. Delete or rename that one."
            )
        from holdfast.session.trash import move_folder

        return self.find(move_folder(self._trash / found.id, self._root, name=again).name)

    @property
    def _trash(self) -> Path:
        return self._root.with_name(TRASH)

    @property
    def word_index(self) -> Path:
        """Return the path of the index of all words."""
        return self._root.with_name(f"{self._root.name}.words")

    def note(self, opened: SessionOpened) -> None:
        """Write the summary of a new session, so that a list need not read its journal."""
        folder = self.folder(opened.session)
        summary = _StoredSummary(
            id=opened.session,
            cwd=opened.cwd,
            title="",
            model=opened.model,
            created=self._now(),
            stamp=journal_stamp(folder),
            repository=opened.repository,
        )
        _write_cache(folder, summary)

    def _ids(self) -> list[str]:
        """Return the ids, newest first, without folders that never held a journal."""
        return sorted(filter(self.has_session, self._named()), reverse=True)

    def _named(self) -> list[str]:
        """Return the names of the folders that may hold a session."""
        try:
            names = os.listdir(self._root)  # noqa: PTH208 - thousands of names, and a path for each takes longer
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UsageError(
                f"Folder {str(self._root)!r} cannot be read: {error.strerror}. "
                "Fix its permissions, or set HOLDFAST_HOME to another folder."
            ) from error
        return [name for name in names if is_session_id(name)]

    def has_session(self, session: str) -> bool:
        """Return whether there is a session with exactly that id. What a killed creation left is removed."""
        if is_nothing(folder := self.folder(session)):
            self._remove(folder)
            return False
        return _may_exist(folder / DATABASE) or _may_exist(folder / ABOUT)

    def _remove(self, folder: Path) -> None:
        """Remove an empty folder, unless another process holds it or is creating a session in it."""
        from holdfast.session.storage.lease import Lease
        from holdfast.session.trash import moved_folder
        from holdfast.system.deletion import delete_tree

        with contextlib.suppress(OSError, HoldfastError):  # it is not listed, and the next listing tries again
            lease = Lease.take(folder)
            try:
                if is_nothing(folder):
                    moved = moved_folder(folder, self._trash, folder.name)
                    if not has_blobs(moved):
                        delete_tree(moved)
            finally:
                lease.release()


def _may_exist(path: Path) -> bool:
    """Return whether `path` exists or may exist: an unreadable folder may hold another user's session."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _stamp_or_none(root: Path, session: str) -> Stamp | None:
    """Return the stamp of a session's journal, None if it cannot be read."""
    try:
        return journal_stamp(f"{root}/{session}")  # a path for each takes as long as the looking
    except OSError:  # its summary says why
        return None


def _indexed_summary(session: str, indexed: IndexedSession) -> SessionSummary:
    return SessionSummary(
        id=session,
        cwd=indexed.cwd,
        title=indexed.title,
        model=indexed.model,
        created=indexed.created,
        modified=modified(indexed.stamp),
        bytes=indexed.bytes,
        repository=indexed.repository,
    )


def _index_entry(summary: SessionSummary | _StoredSummary, stamp: Stamp, *, size: int) -> IndexedSession:
    from holdfast.session.session_index import IndexedSession

    return IndexedSession(
        cwd=summary.cwd,
        title=summary.title,
        model=summary.model,
        created=summary.created,
        bytes=size,
        stamp=stamp,
        repository=summary.repository,
    )


def _summary_or_damage(folder: Path, *, free: bool = False) -> SessionSummary:
    try:
        return _summary(folder, free=free)
    except OSError as error:  # one unreadable folder must not hide the others
        damage = f"Its folder cannot be read: {error.strerror}."
        return SessionSummary(
            id=folder.name, cwd="", title="", model="", created=0.0, modified=0.0, bytes=0, damage=damage
        )


def _summary(folder: Path, *, free: bool = False) -> SessionSummary:
    if free:
        from holdfast.session.storage.lease import raise_if_busy

        raise_if_busy(folder)
    stamp = journal_stamp(folder)  # taken before reading: a later append then invalidates the cache
    cached, damage = _cached(folder), ""
    if cached is not None and cached.stamp == stamp:
        summary = cached
    else:
        summary, damage = _read(folder, stamp)
        if cached is not None and not summary.cwd:  # the first entry is lost; keep the directory from the cache
            model, created = summary.model or cached.model, cached.created
            summary = msgspec.structs.replace(summary, cwd=cached.cwd, model=model, created=created)
        if not damage:
            _write_cache(folder, summary, durable=cached is not None)
    return SessionSummary(
        id=folder.name,
        cwd=summary.cwd,
        title=summary.title,
        model=summary.model,
        created=summary.created,
        modified=modified(stamp),
        bytes=folder_size(folder) + folder_size(folder / BLOBS),
        damage=damage,
        repository=summary.repository,
    )


def _cached(folder: Path) -> _StoredSummary | None:
    try:
        summary = decode_json(read_bounded(folder / ABOUT, STATE_FILE), _StoredSummary)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None  # missing or unreadable: it is rebuilt
    return summary if summary.id == folder.name else None  # a copied folder contains the original's cache


def _read(folder: Path, stamp: Stamp) -> tuple[_StoredSummary, str]:
    """Return the summary read from the journal, and the journal's damage.

    Of a large journal that no process has open only the entries that make the summary are read.
    """
    from holdfast.session.storage.sqlite_store import read_copy

    damage = ""
    try:
        records = _few_records(folder, stamp)
        if records is None:
            reading = read_copy(folder)
            records, damage = reading.records, " ".join(finding.what for finding in reading.findings[:1])
    except (StateError, SessionUnknown) as error:
        records, damage = (), str(error)
    return _summarized(folder, records, stamp), damage


def _few_records(folder: Path, stamp: Stamp) -> tuple[StoredEntry, ...] | None:
    """Return the entries that the summary of a large session needs, None if all are to be read."""
    if sum(size for _, size in stamp) + folder_size(folder / BLOBS) < LARGE:
        return None
    from holdfast.session.storage.sqlite_store import read_rows_of

    records = read_rows_of(folder, _NAMING_KINDS, first=_kind(PromptAccepted))
    return records if records and isinstance(records[0].entry, SessionOpened) else None


def _summarized(folder: Path, records: Sequence[StoredEntry], stamp: Stamp) -> _StoredSummary:
    from holdfast.session.titles import prompt_title

    cwd = title = name = model = requested = ""
    repository: tuple[str, ...] = ()
    for record in records:
        match record.entry:
            case SessionOpened(cwd=cwd, model=model, repository=repository):
                pass
            case Moved(to=cwd):
                pass
            case ModelChanged(why="fallback"):
                pass  # the next prompt goes to the chosen model
            case ModelChanged(model=model):
                pass
            case RequestStarted(model=requested):
                pass
            case Titled(title=name):
                pass
            case PromptAccepted(text=text) if not title:
                title = prompt_title(text)
            case _:
                pass
    created = records[0].at if records else 0.0
    model = model or ("" if cwd else requested)  # the entries that name it may be lost
    return _StoredSummary(
        id=folder.name,
        cwd=cwd,
        title=name or title,
        model=model,
        created=created,
        stamp=stamp,
        repository=repository,
    )


def _write_cache(folder: Path, summary: _StoredSummary, *, durable: bool = True) -> None:
    """Write the cache. Only one in the place of another must be durable: it may know the folder of a lost entry."""
    with contextlib.suppress(OSError):  # a full or read-only disk: it is rebuilt each time
        for left in folder.glob(f".{ABOUT}.*"):  # leftovers of any holdfast version
            if is_abandoned(left):
                left.unlink()
        replace_file(folder / ABOUT, msgspec.json.encode(summary), durable=durable)


def journal_stamp(folder: Path | str) -> Stamp:
    """Return the stamp of the journal in `folder`; take it before reading, so that a later append makes it differ."""
    found: list[tuple[int, int]] = []
    path = os.path.join(folder, DATABASE)  # noqa: PTH118 - thousands of times in a list, and it is faster
    for name in (path, path + "-wal"):
        try:
            stat = os.stat(name)  # noqa: PTH116 - likewise
        except FileNotFoundError:  # the log exists only during, or after, a write session
            continue
        found.append((stat.st_mtime_ns, stat.st_size))
    return tuple(found)


def last_used(folder: Path) -> tuple[float, str]:
    """Return when the journal last changed, and the folder's name, to sort by; 0 if that cannot be read."""
    try:
        return modified(journal_stamp(folder)), folder.name
    except OSError:  # not a candidate
        return 0.0, folder.name


def modified(stamp: Stamp) -> float:
    """Return when the journal last changed, in seconds since the epoch."""
    return max((nanoseconds for nanoseconds, _ in stamp), default=0) / 1e9


def folder_size(folder: Path) -> int:
    """Return the bytes of the files of a folder, without those of folders in it."""
    try:
        return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    except FileNotFoundError:  # no blobs, or one replaced in the meantime
        return 0
