"""Looks at what is at a path, never through a link: each folder on the way is opened by itself, from the first one on.

Paths are named as edits name them: in the session's folder, or absolute. Both are real paths. So whatever is a link by
now was something else then, also above the session's folder.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from holdfast.errors import ToolFailed
from holdfast.session.journal.restores import PathState
from holdfast.system.safe_paths import open_regular_in
from holdfast.undo.kept_contents import LARGEST_KEPT, KeptContents
from holdfast.undo.known_states import ABSENT_STATE, FOLDER_STATE, OTHER_STATE, folder_state

NO_SUCH_PATH = (errno.ENOENT, errno.ENOTDIR)


def look(root: Path, path: str, contents: KeptContents, *, keep: bool = False) -> PathState:
    """Return what is at a path; with `keep`, its content is kept first. What cannot be read is another thing."""
    parts = parts_of(root, path)
    if not parts:
        return FOLDER_STATE
    try:
        with open_real_parent(parts) as folder:
            return look_in(folder, parts[-1], contents, keep=keep)
    except OSError as error:
        if error.errno in NO_SUCH_PATH and not leads_through_link(parts):
            return ABSENT_STATE
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        return OTHER_STATE


def look_in(folder: int, name: str, contents: KeptContents, *, keep: bool) -> PathState:
    """Return what is at a name in an open folder; raises `OSError`."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return folder_state(mode)
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


def parts_of(root: Path, path: str) -> tuple[str, ...]:
    """Return the parts of a path from the first folder on; none of the session's own folder."""
    place = os.path.normpath(root / path)
    return () if place == str(root) else Path(place).parts[1:]


@contextmanager
def open_real_parent(parts: tuple[str, ...]) -> Generator[int]:
    """Yield the open folder that has the last part. Raises `OSError` if anything on the way is a link."""
    folder = os.open("/", _ON_THE_WAY if len(parts) > 1 else os.O_RDONLY | _NO_LINK)
    try:
        for number, part in enumerate(parts[:-1], 2):
            flags = _ON_THE_WAY if number < len(parts) else os.O_RDONLY | _NO_LINK
            above, folder = folder, os.open(part, flags, dir_fd=folder)
            os.close(above)
        yield folder
    finally:
        os.close(folder)


_NO_LINK = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ON_THE_WAY = (os.O_PATH if sys.platform == "linux" else os.O_RDONLY) | _NO_LINK  # it may be closed to reading


def leads_through_link(parts: tuple[str, ...]) -> bool:
    """Return whether a folder on the way to a place is a link: what it leads to is not looked at."""
    at = Path("/")
    for part in parts[:-1]:
        at = at / part
        if at.is_symlink():
            return True
    return False
