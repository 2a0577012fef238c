"""Makes a path what it was: never through a link, never a part of it, durably, and and never over anything else.

Nothing is written in place. The new file is made beside it under a `temporary` name, complete and durable; then
the two are exchanged, and what came out is looked at. If another program saved the file in that moment, it gets its
name back. What goes is renamed away first, and looked at too. So no bytes are lost, whenever the look was.

A kill leaves a temporary name. What stands there is ours (not finished, or the old file), or it is what another
program saved: that gets its name back by the next process, or stays where it is if something new has the name.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from holdfast.session.journal.restores import PathState
from holdfast.undo.kept_contents import KeptContents
from holdfast.undo.known_states import ABSENT_STATE, FOLDER_MODE, same
from holdfast.undo.path_states import NO_SUCH_PATH, leads_through_link, look_in, open_real_parent, parts_of
from holdfast.undo.renames import exchange, move_to_free

_UNFINISHED = ".part"  # behind the temporary name of what is being written
_AWAY = ".old"  # behind that of what goes
_CHANGED = "it was changed since, by something else"


class PathChanged(Exception):
    """A path is something else by now; the text says why it was left alone."""


def make(
    root: Path, path: str, expect: PathState, content: PathState, contents: KeptContents, *, temporary: str
) -> None:
    """Make a path `content`, if it is `expect`, durably. Does nothing if it is that already.

    `temporary` is a name of this step alone, beside it, which a kill may leave. Raises `PathChanged` if it is anything
    else, or cannot be changed; `OSError` if the disk is full.
    """
    parts = parts_of(root, path)
    if not parts:
        raise PathChanged("it is the folder of the session")
    try:
        with open_real_parent(parts) as folder:
            _Place(folder, parts[-1], temporary, contents).make(expect, content)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        if error.errno in NO_SUCH_PATH and content.kind == "absent" and not leads_through_link(parts):
            return
        raise PathChanged(f"it cannot be changed: {error.strerror}") from error


class _Place:
    """A name in an open folder, with the temporary name beside it."""

    def __init__(self, folder: int, name: str, temporary: str, contents: KeptContents) -> None:
        self._folder = folder
        self._name = name
        self._temporary = temporary
        self._contents = contents

    def make(self, expect: PathState, content: PathState) -> None:
        self._remove(self._temporary + _UNFINISHED)
        self._settle_away(expect)
        self._settle(expect, content)
        now = self._look(self._name)
        if same(now, content):
            return
        if not (same(now, expect) or _is_half_done(now, expect, content)):
            raise PathChanged(_CHANGED)
        status = None if now.kind == "absent" else self._status(self._name)
        if status is not None and now.kind == "file" and status.st_nlink > 1:
            raise PathChanged("it has other names (hard links), which would not change with it")
        if now.kind == content.kind and now.kind != "link" and now.object == content.object:
            self._set_mode(now, content)
        else:
            if content.kind != "absent":
                self._write(content, like=status)
            if now.kind == "folder":
                self._remove_folder()
            elif now.kind != "absent" and content.kind in ("absent", "folder"):
                self._take_away(expect)
            if content.kind != "absent":
                self._put(expect, content, is_free=now.kind in ("absent", "folder") or content.kind == "folder")
        os.fsync(self._folder)

    # --- looks --------------------------------------------------------------------------------------------------

    def _look(self, name: str) -> PathState:
        try:
            return look_in(self._folder, name, self._contents, keep=False)
        except FileNotFoundError:
            return ABSENT_STATE

    def _status(self, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=self._folder, follow_symlinks=False)

    def _remove(self, name: str) -> None:
        try:
            is_folder = stat.S_ISDIR(self._status(name).st_mode)
        except FileNotFoundError:
            return  # nothing was left
        (os.rmdir if is_folder else os.unlink)(name, dir_fd=self._folder)

    # --- what is done -------------------------------------------------------------------------------------------

    def _settle(self, expect: PathState, content: PathState) -> None:
        """Remove what an earlier attempt left at the temporary name, or give it its name back."""
        left = self._look(self._temporary)
        if left.kind == "absent":
            return
        if same(left, content) or same(left, expect):
            self._remove(self._temporary)
        elif same(self._look(self._name), content):
            self._give_back(content)
        else:
            raise PathChanged(_twice(self._temporary))

    def _settle_away(self, expect: PathState) -> None:
        """Remove what was renamed away, if it is the old file; else it gets its name back."""
        left = self._look(self._temporary + _AWAY)
        if left.kind == "absent":
            return
        if same(left, expect):
            self._remove(self._temporary + _AWAY)
            return
        try:
            move_to_free(self._folder, self._temporary + _AWAY, self._name)
        except FileExistsError:
            raise PathChanged(_twice(self._temporary + _AWAY)) from None
        raise PathChanged(_CHANGED)

    def _give_back(self, content: PathState) -> None:
        """Give what another program saved its name back; what was restored goes."""
        exchange(self._folder, self._temporary, self._name)
        if not same(self._look(self._temporary), content):  # it was saved once more: the newest has the name
            exchange(self._folder, self._temporary, self._name)
            raise PathChanged(_twice(self._temporary))
        self._remove(self._temporary)
        raise PathChanged(_CHANGED)

    def _take_away(self, expect: PathState) -> None:
        """Remove a file or a link, if it is the old file also without its name."""
        move_to_free(self._folder, self._name, self._temporary + _AWAY)
        self._settle_away(expect)

    def _remove_folder(self) -> None:
        try:
            os.rmdir(self._name, dir_fd=self._folder)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                raise PathChanged("the folder is not empty") from error
            raise

    def _set_mode(self, now: PathState, content: PathState) -> None:
        """Give what stays its permissions: all of its bytes are as they shall be."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(self._name, flags, dir_fd=self._folder)
        try:
            mode = os.fstat(descriptor).st_mode
            is_kind = stat.S_ISDIR(mode) if now.kind == "folder" else stat.S_ISREG(mode)
            if not is_kind or stat.S_IMODE(mode) != (now.mode or FOLDER_MODE):
                raise PathChanged(_CHANGED)
            os.fchmod(descriptor, content.mode or FOLDER_MODE)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _put(self, expect: PathState, content: PathState, *, is_free: bool) -> None:
        """Give what is complete at the temporary name its place."""
        if is_free:
            try:
                move_to_free(self._folder, self._temporary, self._name)
            except FileExistsError:
                self._remove(self._temporary)
                raise PathChanged(_CHANGED) from None
        elif exchange(self._folder, self._temporary, self._name):
            if same(self._look(self._temporary), expect):
                self._remove(self._temporary)
            else:
                self._give_back(content)
        elif same(self._look(self._name), expect):
            os.rename(self._temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        else:
            self._remove(self._temporary)
            raise PathChanged(_CHANGED)

    def _data(self, content: PathState) -> bytes:
        data = self._contents.get(content.object)
        if data is None:
            raise PathChanged("its content is not kept any more")
        return data

    def _write(self, content: PathState, *, like: os.stat_result | None) -> None:
        """Make a file, a link or a folder at the temporary name; a file takes the owner and the attributes of one."""
        unfinished = self._temporary + _UNFINISHED
        try:
            if content.kind == "folder":
                os.mkdir(unfinished, 0o700, dir_fd=self._folder)
                os.chmod(unfinished, content.mode or FOLDER_MODE, dir_fd=self._folder)
            else:
                data = self._data(content)
                if content.kind == "link":
                    os.symlink(os.fsdecode(data), unfinished, dir_fd=self._folder)
                else:
                    _fill(self._folder, self._name, data, content.mode, temporary=unfinished, like=like)
            os.rename(unfinished, self._temporary, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except BaseException:
            self._remove(unfinished)
            raise


def _twice(place: str) -> str:
    return f"{_CHANGED}, twice; what it was in between is in {place!r}"


def _is_half_done(now: PathState, expect: PathState, content: PathState) -> bool:
    """Return whether a kill may have left this: between a file and a folder there is a moment without either."""
    return (
        now.kind == "absent" and "absent" not in (expect.kind, content.kind) and "folder" in (expect.kind, content.kind)
    )


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
