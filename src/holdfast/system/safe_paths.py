"""Resolves the paths that models write, and opens them so that they cannot lead elsewhere by then.

A path is resolved and checked once. What is opened later is that resolved path, component by component, without
following links: if one was swapped for a link in between, the kernel refuses it. Functions here raise `OSError` as the
system does; `as_tool_failure` turns it into a message for the model.
"""

from __future__ import annotations

import difflib
import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from io import BufferedReader
from itertools import islice
from pathlib import Path

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.user_directories import holds_keys
from holdfast.text import valid_unicode

_FOLDER = os.O_RDONLY | os.O_DIRECTORY
# O_NONBLOCK: opening a FIFO without a writer must not block.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY

_WORDS = {
    errno.ENOENT: "does not exist",
    errno.EACCES: "cannot be accessed: permission denied",
    errno.EPERM: "cannot be accessed: permission denied",
    errno.ELOOP: "became a symbolic link since it was checked, or is a circular link",
    errno.ENOTDIR: "leads through something that is not a folder, or that became a symbolic link",
    errno.EISDIR: "is a folder, not a file",
    errno.ENAMETOOLONG: "is longer than the file system allows",
    errno.EROFS: "is on a read-only file system",
    errno.EBUSY: "is a mount point or in use, and cannot be replaced",
    errno.ENOSPC: "cannot be written: the disk is full",
    errno.EDQUOT: "cannot be written: the disk quota is exhausted",
}

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class SafePath(msgspec.Struct, frozen=True, kw_only=True):
    """A resolved path: `parts` beneath the folder `anchor`; `name` is how it is shown and journalled.

    `outside` is the absolute path if it lies outside the workspace, else None.
    """

    anchor: Path
    parts: tuple[str, ...]
    name: str
    outside: str | None

    @property
    def path(self) -> Path:
        """Return the absolute path, for messages and for programs that need one."""
        return self.anchor.joinpath(*self.parts)

    def below(self, name: str) -> SafePath:
        """Return the place `name` beneath this one (relative, without `..`; "" is this one)."""
        if not name:
            return self
        return SafePath(
            anchor=self.anchor,
            parts=(*self.parts, *name.split("/")),
            name=name if self.name == "." else f"{self.name.rstrip('/')}/{name}",
            outside=None if self.outside is None else str(Path(self.outside, name)),
        )


def resolve(root: Path, path: str) -> SafePath:
    """Return where `path`, as the model wrote it, really leads; `~`, `..` and links are resolved first.

    Raises `ToolFailed` for an impossible file name, and for the file with API keys.
    """
    if not path or valid_unicode(path) != path:
        msg = f"Path {path!r} is not a valid file name. Give a path in the workspace."
        raise ToolFailed(msg)
    try:
        real = os.path.realpath(root / os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises for ~unknown
    except OSError as error:  # a component became something else between two looks
        msg = f"Path {path!r} cannot be resolved: {error.strerror}. Look at it with glob, or use another path."
        raise ToolFailed(msg) from error
    if holds_keys(os.path.basename(real)):  # noqa: PTH119 - as realpath gives it
        msg = f"File {path!r} holds API keys and is closed to all tools. Work without it."
        raise ToolFailed(msg)
    if valid_unicode(real) != real:
        msg = f"Path {path!r} leads to a name that is not valid UTF-8, which file tools cannot open. Use bash."
        raise ToolFailed(msg)
    return locate(root, real)


def locate(root: Path, name: str) -> SafePath:
    """Return the place of a resolved `name` (relative to the workspace, or absolute). Does not access the disk."""
    path = Path(os.path.normpath(root / name))
    if path.is_relative_to(root):
        inside = path.relative_to(root)
        return SafePath(anchor=root, parts=inside.parts, name=str(inside), outside=None)
    # Outside the workspace, folders are opened normally; only the last component must not be a link.
    parts = (path.name,) if path.name else ()
    return SafePath(anchor=path.parent, parts=parts, name=str(path), outside=str(path))


@contextmanager
def open_folder(place: SafePath) -> Generator[int]:
    """Yield the open folder at `place`. No component beneath the anchor may be a link."""
    with _open_below(place.anchor, place.parts) as fd:
        yield fd


@contextmanager
def open_parent(place: SafePath, *, create: bool = False) -> Generator[int]:
    """Yield the open folder that contains `place`. With `create`, missing folders are created durably."""
    with _open_below(place.anchor, place.parts[:-1], create=create) as fd:
        yield fd


@contextmanager
def open_regular(place: SafePath) -> Generator[BufferedReader]:
    """Yield the regular file at `place`, open for reading; raises `ToolFailed` if it is anything else."""
    if not place.parts:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), place.name)
    with open_parent(place) as fd:
        file = open_regular_in(fd, place.parts[-1], shown=place.name)
    with file:
        yield file


def open_regular_in(fd: int, name: str, *, shown: str) -> BufferedReader:
    """Return the regular file `name` in the open folder `fd`. The caller closes it."""
    file = open(name, "rb", opener=lambda path, _: os.open(path, _FILE, dir_fd=fd))  # noqa: SIM115 - by dir_fd
    kind = stat.S_IFMT(os.fstat(file.fileno()).st_mode)
    if kind != stat.S_IFREG:
        file.close()
        msg = f"File {shown!r} is {_KINDS.get(kind, 'special')}, not a regular file. Use bash if you need it."
        raise ToolFailed(msg)
    return file


@contextmanager
def as_tool_failure(place: SafePath) -> Generator[None]:
    """Convert an `OSError` to a `ToolFailed` that names the place and says what to do."""
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
def _open_below(anchor: Path, parts: tuple[str, ...], *, create: bool = False) -> Generator[int]:
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


def _near(place: SafePath) -> str:
    """Return a sentence with similar names in the same folder."""
    try:
        with open_parent(place) as fd, os.scandir(fd) as listing:
            names = [entry.name for entry in islice(listing, 5000)]
    except OSError:
        return "Its folder does not exist either. Look for it with glob."
    lowered = {name.lower(): name for name in names}
    near = difflib.get_close_matches(place.parts[-1].lower(), lowered, n=3)
    if not near:
        return "Nothing in its folder has a similar name. Look for it with glob."
    return "Similar names in its folder: " + ", ".join(repr(lowered[name]) for name in near) + "."
