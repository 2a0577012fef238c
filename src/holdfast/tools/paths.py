"""Where a path the model wrote really leads, and opening it so that it cannot lead elsewhere by then.

Two rules. A path is judged once, resolved, and what is opened later is that resolved path, component by component,
never following a link: one that was flipped to a link meanwhile is refused by the kernel. Functions here raise
`OSError` as the system gives it; `told` turns it into words for the model.
"""

from __future__ import annotations

import difflib
import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from itertools import islice
from pathlib import Path

from holdfast.config import holds_keys
from holdfast.errors import ToolFailed
from holdfast.text import valid_unicode

_FOLDER = os.O_RDONLY | os.O_DIRECTORY
# O_NONBLOCK: opening a FIFO nobody writes to must not wait.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY

_WORDS = {
    errno.ENOENT: "does not exist",
    errno.EACCES: "may not be accessed: permission denied",
    errno.EPERM: "may not be accessed: permission denied",
    errno.ELOOP: "is a symbolic link that was not there when it was looked up, or links in a circle",
    errno.ENOTDIR: "leads through something that is not a folder, or that became a symbolic link",
    errno.EISDIR: "is a folder, a file was expected",
    errno.ENAMETOOLONG: "is longer than the file system allows",
    errno.EROFS: "is on a read-only file system",
    errno.ENOSPC: "cannot be written: the disk is full",
    errno.EDQUOT: "cannot be written: the disk quota is used up",
}

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A resolved path: `parts` beneath the folder `anchor`; `name` is how it is shown and journalled.

    `outside` is the absolute path if it lies outside the workspace, else None.
    """

    anchor: Path
    parts: tuple[str, ...]
    name: str
    outside: str | None

    @property
    def path(self) -> Path:
        """Return the absolute path, for showing and for programs that are given one."""
        return self.anchor.joinpath(*self.parts)

    def below(self, name: str) -> Place:
        """Return the place `name` (relative, "" for this one, without `..`) beneath this one."""
        if not name:
            return self
        return Place(
            anchor=self.anchor,
            parts=(*self.parts, *name.split("/")),
            name=name if self.name == "." else f"{self.name.rstrip('/')}/{name}",
            outside=None if self.outside is None else str(Path(self.outside, name)),
        )


def resolve(root: Path, path: str) -> Place:
    """Return where `path`, as the model wrote it, really is; `~`, `..` and links are followed first.

    Raises `ToolFailed` if no file could have that name, and for the one that holds keys.
    """
    if not path or valid_unicode(path) != path:
        msg = f"Path {path!r} is not a file name, a path in the workspace was expected. Call it again with one."
        raise ToolFailed(msg)
    try:
        real = os.path.realpath(root / os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises for ~unknown
    except OSError as error:  # a link became something else between two looks at it
        msg = f"Path {path!r} cannot be followed: {error.strerror}. Look at it with glob, or name another."
        raise ToolFailed(msg) from error
    if holds_keys(os.path.basename(real)):  # noqa: PTH119 - as realpath gives it
        msg = f"File {path!r} holds keys of providers, which no tool may have. Work without it."
        raise ToolFailed(msg)
    if valid_unicode(real) != real:
        msg = f"Path {path!r} leads to a name that is not valid UTF-8, such files cannot be opened here. Use bash."
        raise ToolFailed(msg)
    return placed(root, real)


def placed(root: Path, name: str) -> Place:
    """Return the place a resolved `name` means (relative to the workspace, or absolute); never looks at the disk."""
    path = Path(os.path.normpath(root / name))
    if path.is_relative_to(root):
        inside = path.relative_to(root)
        return Place(anchor=root, parts=inside.parts, name=str(inside), outside=None)
    # What lies outside is opened plainly as far as its folder; only its last component may not be a link.
    parts = (path.name,) if path.name else ()
    return Place(anchor=path.parent, parts=parts, name=str(path), outside=str(path))


@contextmanager
def folder(place: Place) -> Generator[int]:
    """Give the open folder at `place`; no component beneath the anchor may be a link."""
    with _descended(place.anchor, place.parts) as fd:
        yield fd


@contextmanager
def parent(place: Place, *, create: bool = False) -> Generator[int]:
    """Give the open folder that holds `place`; with `create`, missing folders beneath the anchor are made durably."""
    with _descended(place.anchor, place.parts[:-1], create=create) as fd:
        yield fd


@contextmanager
def opened(place: Place) -> Generator[BufferedReader]:
    """Give the regular file at `place`, open for reading; raises `ToolFailed` if it is anything else."""
    if not place.parts:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), place.name)
    with parent(place) as fd:
        file = opened_in(fd, place.parts[-1], shown=place.name)
    with file:
        yield file


def opened_in(fd: int, name: str, *, shown: str) -> BufferedReader:
    """Return the regular file `name` of the open folder `fd`; the caller closes it."""
    file = open(name, "rb", opener=lambda path, _: os.open(path, _FILE, dir_fd=fd))  # noqa: SIM115 - by dir_fd
    kind = stat.S_IFMT(os.fstat(file.fileno()).st_mode)
    if kind != stat.S_IFREG:
        file.close()
        msg = f"File {shown!r} is {_KINDS.get(kind, 'special')}, a regular file was expected. Use bash if you need it."
        raise ToolFailed(msg)
    return file


@contextmanager
def told(place: Place) -> Generator[None]:
    """Turn an `OSError` of the body into a `ToolFailed` that names the place and says what to do."""
    try:
        yield
    except FileNotFoundError as error:
        msg = f"File {place.name!r} does not exist. {_near(place)}"
        raise ToolFailed(msg) from error
    except OSError as error:
        words = _WORDS.get(error.errno or 0, f"cannot be used: {error.strerror}")
        msg = f"File {place.name!r} {words}. Look at it with glob or bash, or use another path."
        raise ToolFailed(msg) from error


@contextmanager
def _descended(anchor: Path, parts: tuple[str, ...], *, create: bool = False) -> Generator[int]:
    fd = os.open(anchor, _FOLDER)
    try:
        for part in parts:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=fd)
                    os.fsync(fd)
            above, fd = fd, os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=fd)
            os.close(above)
        yield fd
    finally:
        os.close(fd)


def _near(place: Place) -> str:
    """Return a sentence with the names most like the missing one in its folder."""
    try:
        with parent(place) as fd, os.scandir(fd) as listing:
            names = [entry.name for entry in islice(listing, 5000)]
    except OSError:
        return "Its folder does not exist either. Look for it with glob."
    lowered = {name.lower(): name for name in names}
    near = difflib.get_close_matches(place.parts[-1].lower(), lowered, n=3)
    if not near:
        return "Nothing in its folder has a similar name. Look for it with glob."
    return "Similar names in its folder: " + ", ".join(repr(lowered[name]) for name in near) + "."
