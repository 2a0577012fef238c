"""Renames that lose nothing: onto a free name only, or by exchange, so that what was there can be looked at.

Between a look and a rename another program may save the file. So what is replaced is exchanged with what replaces it,
looked at behind that, and given its name back if it is not the old file. Linux has both as one system call. Where
it or the file system has not, there is a second look right before the rename, and a moment is left.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable

_NOREPLACE = 1
_EXCHANGE = 2
_NOT_THERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def _system_call() -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    try:
        return library.renameat2
    except AttributeError:  # an old C library
        return None


_RENAMEAT2 = _system_call()


def exchange(folder: int, one: str, other: str) -> bool:
    """Exchange what two names in an open folder are; return whether the system can."""
    return _renamed(folder, one, other, _EXCHANGE)


def move_to_free(folder: int, source: str, target: str) -> None:
    """Rename in an open folder; raises `FileExistsError` if there is something at the target."""
    if not _renamed(folder, source, target, _NOREPLACE):
        try:
            os.stat(target, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(source, target, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)


def _renamed(folder: int, source: str, target: str, flag: int) -> bool:
    if _RENAMEAT2 is None:
        return False
    if _RENAMEAT2(folder, os.fsencode(source), folder, os.fsencode(target), flag) == 0:
        return True
    found = ctypes.get_errno()
    if found in _NOT_THERE:
        return False
    raise OSError(found, os.strerror(found), target)
