"""The sessions of one root folder: their ids, and a summary of each for lists.

Two rules. A summary comes from `about.json`, a cache that is never truth: it is believed only while the journal's
files are the ones it was made from. A damaged session is listed with its damage named, never hidden.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from holdfast.errors import HoldfastError, SessionUnknown, StateError, UsageError
from holdfast.session.debris import is_nothing, remains
from holdfast.session.disk import ABOUT, BLOBS, DATABASE, is_abandoned, make_folder, sync_path, write_whole
from holdfast.session.entries import ModelChanged, PromptAccepted, RequestStarted, SessionOpened, Titled
from holdfast.session.store import Reading

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that is taken for another when read aloud
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_TITLE_LENGTH = 80
_NAMED = 5
TRASH = "trash"
"""The name of the folder of deleted sessions, beside that of the others."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One session in a list: `modified` is when its journal last changed, `bytes` what its folder takes on the disk.

    `damage` is a sentence if the journal is damaged, else "".
    """

    id: str
    cwd: str
    title: str
    model: str
    created: float
    modified: float
    bytes: int
    damage: str = ""


class _About(msgspec.Struct, frozen=True, kw_only=True):
    """What `about.json` holds; `stamp` is of the journal's files it was made from."""

    id: str
    cwd: str
    title: str
    model: str
    created: float
    stamp: tuple[tuple[int, int], ...]


class Catalog:
    """Find sessions under `root`, which need not exist yet."""

    def __init__(self, root: Path, *, now: Callable[[], float] = time.time) -> None:
        self._root = root
        self._now = now

    def new_id(self) -> str:
        """Return an id no session here has: it sorts by time, to the minute in UTC, and can be read aloud."""
        while True:
            minute = time.strftime("%Y%m%d-%H%M", time.gmtime(self._now()))
            session = f"{minute}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}"
            try:
                if not self.folder(session).exists():
                    return session
            except OSError:  # nor can it be made there: whoever tries is told why
                return session

    def folder(self, session: str) -> Path:
        """Return where the session with exactly that id is or would be; raises `SessionUnknown` if it is no id."""
        if not _ID.fullmatch(session):
            raise SessionUnknown(
                f"Session {session!r} is no id, letters, digits and hyphens were expected. See: holdfast sessions list."
            )
        return self._root / session

    def find(self, session: str, *, free: bool = False) -> Summary:
        """Return the summary of the session whose id is `session` or begins with it, if only one does.

        Raises `SessionUnknown`, naming those that come near, or `StateError` if its folder cannot be read. With `free`,
        raises `SessionBusy` if another process holds it, before any of it is read.
        """
        ids = self._ids()
        matches = [session] if session in ids else [name for name in ids if session and name.startswith(session)]
        if len(matches) == 1:
            try:
                return _summary(self.folder(matches[0]), free=free)
            except OSError as error:
                raise StateError(
                    f"Session {matches[0]!r} cannot be read: {error.strerror}, a folder of yours was expected. Correct "
                    f"the permissions of {str(self.folder(matches[0]))!r}."
                ) from error
        if matches:
            what, near = f"could be any of {len(matches)}", matches
        else:
            import difflib  # noqa: PLC0415 - only an error needs it

            what, near = "is not known", difflib.get_close_matches(session, ids, n=_NAMED, cutoff=0.5) or ids
        named = f"Near: {', '.join(near[:_NAMED])}. " if near else ""
        raise SessionUnknown(
            f"Session {session!r} {what}, an id or the beginning of one was expected. {named}See them all: "
            "holdfast sessions list."
        )

    def latest(self, cwd: Path, *, free: bool = False) -> Summary | None:
        """Return the session that was last used in the folder `cwd`, None if there is none; `free` as for `find`."""
        for folder in sorted(map(self.folder, self._ids()), key=_last_used, reverse=True):
            cached = _cached(folder)
            if cached is None or cached.cwd == str(cwd):  # where a session works never changes
                summary = _summary_or_damage(folder, free=free and cached is not None)
                if summary.cwd == str(cwd):
                    return summary
        return None

    def all(self) -> tuple[Summary, ...]:
        """Return every session, the last used first."""
        summaries = [_summary_or_damage(self.folder(session)) for session in self._ids()]
        return tuple(sorted(summaries, key=lambda summary: (summary.modified, summary.id), reverse=True))

    def trash(self, session: str) -> Path:
        """Move the session with exactly that id to the trash, beside the sessions, and return where it is now.

        Raises `SessionBusy` if another process holds it, `StateError` if it cannot be moved. Nothing of it is deleted.
        """
        from holdfast.session.lock import Lease  # noqa: PLC0415 - a list asks nobody

        folder = self.folder(session)
        try:
            lease = Lease.take(folder)
            try:
                return self._moved(folder)
            finally:
                lease.release()
        except OSError as error:
            raise StateError(
                f"Session {session!r} cannot be moved to {str(self._root.with_name(TRASH))!r}: {error.strerror}, a "
                "folder of yours was expected. Correct its permissions, or delete the session's folder yourself."
            ) from error

    def _moved(self, folder: Path) -> Path:
        """Move a session whose lease is held to the trash, and return where it is now."""
        trash = self._root.with_name(TRASH)
        make_folder(trash)
        number, target = 1, trash / folder.name
        while target.exists():  # an older one of that id, brought back and deleted again
            number, target = number + 1, trash / f"{folder.name}-{number + 1}"
        folder.rename(target)
        sync_path(trash)
        sync_path(self._root)
        return target

    def note(self, opened: SessionOpened) -> None:
        """Write the summary of a session that was just created, so that a list need not read its journal."""
        folder = self.folder(opened.session)
        about = _About(
            id=opened.session,
            cwd=opened.cwd,
            title="",
            model=opened.model,
            created=self._now(),
            stamp=_stamp(folder),
        )
        _keep(folder, about)

    def _ids(self) -> list[str]:
        """Return the ids, newest first; a folder that never came to hold a journal has none."""
        try:
            folders = list(self._root.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UsageError(
                f"Folder {str(self._root)!r} cannot be read: {error.strerror}, a folder of sessions was expected. "
                "Correct its permissions, or name another with HOLDFAST_HOME."
            ) from error
        named = [folder for folder in folders if _ID.fullmatch(folder.name)]
        return sorted((folder.name for folder in named if self._is_session(folder)), reverse=True)

    def _is_session(self, folder: Path) -> bool:
        """Return whether the folder holds a session; what a process left that was killed creating one is removed."""
        if is_nothing(folder):
            self._remove(folder)
            return False
        return _there(folder / DATABASE) or _there(folder / ABOUT)

    def _remove(self, folder: Path) -> None:
        """Remove a folder that holds nothing, unless another process holds it or makes something of it now."""
        from holdfast.session.lock import Lease  # noqa: PLC0415 - as above

        with contextlib.suppress(OSError, HoldfastError):  # it is not listed, and the next who looks tries again
            lease = Lease.take(folder)
            try:
                if is_nothing(folder):
                    gone = self._moved(folder)
                    if not remains(gone):
                        shutil.rmtree(gone, ignore_errors=True)
            finally:
                lease.release()


def _there(path: Path) -> bool:
    """Return whether `path` is there, or may be: a folder that is closed to us holds something of someone's."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _summary_or_damage(folder: Path, *, free: bool = False) -> Summary:
    try:
        return _summary(folder, free=free)
    except OSError as error:  # one folder that cannot be read must not hide the others
        damage = f"Its folder cannot be read: {error.strerror}."
        return Summary(id=folder.name, cwd="", title="", model="", created=0.0, modified=0.0, bytes=0, damage=damage)


def _summary(folder: Path, *, free: bool = False) -> Summary:
    if free:
        from holdfast.session.lock import refuse_held  # noqa: PLC0415 - a list asks nobody

        refuse_held(folder)
    stamp = _stamp(folder)  # before the journal is read: what is appended meanwhile makes the cache old
    cached, damage = _cached(folder), ""
    if cached is not None and cached.stamp == stamp:
        about = cached
    else:
        about, damage = _read(folder, stamp)
        if cached is not None and not about.cwd:  # its first entry is lost; where it worked, it must still be found
            model, created = about.model or cached.model, cached.created
            about = msgspec.structs.replace(about, cwd=cached.cwd, model=model, created=created)
        if not damage:
            _keep(folder, about)
    return Summary(
        id=folder.name,
        cwd=about.cwd,
        title=about.title,
        model=about.model,
        created=about.created,
        modified=_modified(stamp),
        bytes=_size(folder) + _size(folder / BLOBS),
        damage=damage,
    )


def _cached(folder: Path) -> _About | None:
    try:
        about = msgspec.json.decode((folder / ABOUT).read_bytes(), type=_About)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None  # missing or unreadable: it is rebuilt
    return about if about.id == folder.name else None  # a copied folder brings the cache of the original


def _read(folder: Path, stamp: tuple[tuple[int, int], ...]) -> tuple[_About, str]:
    """Return what the journal says of itself, and what is wrong with it."""
    from holdfast.session.sqlite import read_copy  # noqa: PLC0415 - a list that finds every cache fresh needs no SQLite

    try:
        reading = read_copy(folder)
        damage = " ".join(finding.what for finding in reading.findings[:1])
    except (StateError, SessionUnknown) as error:
        reading, damage = Reading(records=()), str(error)
    cwd = title = given = model = asked = ""
    for record in reading.records:
        match record.entry:
            case SessionOpened(cwd=cwd, model=model):
                pass
            case ModelChanged(model=model):
                pass
            case RequestStarted(model=asked):
                pass
            case Titled(title=given):
                pass
            case PromptAccepted(text=text) if not title:
                title = text.strip().partition("\n")[0][:_TITLE_LENGTH]
            case _:
                pass
    created = reading.records[0].at if reading.records else 0.0
    model = model or ("" if cwd else asked)  # where nothing else says it any more
    return _About(id=folder.name, cwd=cwd, title=given or title, model=model, created=created, stamp=stamp), damage


def _keep(folder: Path, about: _About) -> None:
    with contextlib.suppress(OSError):  # a full or read-only disk: it is rebuilt each time
        for left in folder.glob(f".{ABOUT}.*"):  # under any name that a version of holdfast gave it
            if is_abandoned(left):
                left.unlink()
        write_whole(folder / ABOUT, msgspec.json.encode(about))


def _stamp(folder: Path) -> tuple[tuple[int, int], ...]:
    """Return when the journal's files last changed, and their sizes."""
    found: list[tuple[int, int]] = []
    for name in (DATABASE, DATABASE + "-wal"):
        with contextlib.suppress(FileNotFoundError):  # a log is there only while, or after, the session is written
            stat = (folder / name).stat()
            found.append((stat.st_mtime_ns, stat.st_size))
    return tuple(found)


def _last_used(folder: Path) -> tuple[float, str]:
    try:
        return _modified(_stamp(folder)), folder.name
    except OSError:  # it is nobody's latest
        return 0.0, folder.name


def _modified(stamp: tuple[tuple[int, int], ...]) -> float:
    return max((nanoseconds for nanoseconds, _ in stamp), default=0) / 1e9


def _size(folder: Path) -> int:
    try:
        return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    except FileNotFoundError:  # no blobs, or one that was replaced while we looked
        return 0
