"""Looks at what is at a path, and makes it what it was: never through a link, never a part of it, and durably.

Paths are named as edits name them: in the session's folder, or absolute. Nothing is written in place: a temporary file
beside it takes over its owner, its attributes and its place, so that a kill leaves the old content or the new one.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from holdfast.errors import ToolFailed
from holdfast.session.journal.restores import PathState
from holdfast.system.safe_paths import SafePath, locate, open_parent, open_regular_in
from holdfast.undo.kept_contents import LARGEST_KEPT, KeptContents

ABSENT_STATE = PathState("absent")
OTHER_STATE = PathState("other")
FOLDER_STATE = PathState("folder")
FILE_MODE = 0o644
FOLDER_MODE = 0o755
_GONE = (errno.ENOENT, errno.ENOTDIR)


class PathChanged(Exception):
    """A path is something else by now; the text says why it was left alone."""


def same(one: PathState, other: PathState) -> bool:
    """Return whether two states are the same to a user: a link and a folder have no mode of their own."""
    if one.kind != other.kind or one.kind == "other":
        return False
    return one.kind == "folder" or (one.object == other.object and (one.kind == "link" or one.mode == other.mode))


def look(root: Path, path: str, contents: KeptContents, *, keep: bool = False) -> PathState:
    """Return what is at a path; with `keep`, its content is kept first. What cannot be read is `other`."""
    place = locate(root, path)
    if not place.parts:
        return FOLDER_STATE
    try:
        with open_parent(place) as folder:
            return _look_in(folder, place.parts[-1], contents, keep=keep)
    except OSError as error:
        if error.errno in _GONE and not _leads_through_link(place):
            return ABSENT_STATE
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        return OTHER_STATE


def _look_in(folder: int, name: str, contents: KeptContents, *, keep: bool) -> PathState:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return FOLDER_STATE
    if stat.S_ISLNK(status.st_mode):
        content = os.fsencode(os.readlink(name, dir_fd=folder))
        return PathState("link", contents.put(content) if keep else contents.name(content))
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_KEPT:
        return OTHER_STATE
    try:
        with open_regular_in(folder, name, shown=name) as file:
            content = file.read(LARGEST_KEPT + 1)
    except ToolFailed:
        return OTHER_STATE
    if len(content) > LARGEST_KEPT:
        return OTHER_STATE
    return PathState("file", contents.put(content) if keep else contents.name(content), mode)


def _leads_through_link(place: SafePath) -> bool:
    """Return whether a folder on the way to a place is a link: what it leads to is not looked at."""
    at = place.anchor
    for part in place.parts[:-1]:
        at = at / part
        if at.is_symlink():
            return True
    return False


def make(
    root: Path, path: str, expect: PathState, content: PathState, contents: KeptContents, *, temporary: str
) -> None:
    """Make a path `content`, if it is `expect`, durably. Does nothing if it is that already.

    `temporary` is the name of the file that is written beside it, and that a kill may leave. Raises `PathChanged` if it
    is anything else, or cannot be changed; `OSError` if the disk is full.
    """
    place = locate(root, path)
    if not place.parts:
        raise PathChanged("it is the folder of the session")
    try:
        with open_parent(place) as folder:
            _remove_temporary(folder, temporary)
            _make_in(folder, place.parts[-1], expect, content, contents, temporary=temporary)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        if error.errno in _GONE and content.kind == "absent" and not _leads_through_link(place):
            return
        raise PathChanged(f"it cannot be changed: {error.strerror}") from error


def _make_in(
    folder: int, name: str, expect: PathState, content: PathState, contents: KeptContents, *, temporary: str
) -> None:
    try:
        now = _look_in(folder, name, contents, keep=False)
    except FileNotFoundError:
        now = ABSENT_STATE
    if same(now, content):
        return
    if not same(now, expect):
        raise PathChanged("it was changed since, by something else")
    status = None if now.kind == "absent" else os.stat(name, dir_fd=folder, follow_symlinks=False)
    if status is not None and now.kind == "file" and status.st_nlink > 1:
        raise PathChanged("it has other names (hard links), which would not change with it")
    if content.kind in ("absent", "folder") or now.kind == "folder":
        _remove(folder, name, now)
    if content.kind == "folder":
        os.mkdir(name, content.mode or FOLDER_MODE, dir_fd=folder)
    elif content.kind in ("file", "link"):
        _write(folder, name, content, contents, temporary=temporary, like=status)
    os.fsync(folder)


def _remove(folder: int, name: str, now: PathState) -> None:
    if now.kind == "folder":
        try:
            os.rmdir(name, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                raise PathChanged("the folder is not empty") from error
            raise
    elif now.kind != "absent":
        os.unlink(name, dir_fd=folder)


def _write(
    folder: int,
    name: str,
    content: PathState,
    contents: KeptContents,
    *,
    temporary: str,
    like: os.stat_result | None,
) -> None:
    """Put a file or a link in its place, in one step; it keeps the owner and the attributes of the one there now."""
    data = contents.get(content.object)
    if data is None:
        raise PathChanged("its content is not kept any more")
    try:
        if content.kind == "link":
            os.symlink(os.fsdecode(data), temporary, dir_fd=folder)
        else:
            _fill(folder, name, data, content.mode, temporary=temporary, like=like)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        _remove_temporary(folder, temporary)
        raise


def _fill(folder: int, name: str, data: bytes, mode: int, *, temporary: str, like: os.stat_result | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if like is not None and stat.S_ISREG(like.st_mode):
            status = os.fstat(descriptor)
            if (status.st_uid, status.st_gid) != (like.st_uid, like.st_gid):
                os.fchown(descriptor, like.st_uid, like.st_gid)
            _copy_attributes(folder, name, descriptor)
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)


def _copy_attributes(folder: int, name: str, descriptor: int) -> None:
    """Give an open file the extended attributes of the file of that name, as far as the user may."""
    with suppress(OSError):  # a file system without them
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            for each in os.listxattr(source):
                with suppress(OSError):  # one that only the system may set
                    os.setxattr(descriptor, each, os.getxattr(source, each))
        finally:
            os.close(source)


def _remove_temporary(folder: int, temporary: str) -> None:
    with suppress(FileNotFoundError):  # nothing was left
        os.unlink(temporary, dir_fd=folder)
