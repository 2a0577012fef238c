"""Deletes a folder with everything below it, however deep it is.

A command can make folders thousands deep, and take its own right to enter them. A deletion that calls itself for each
level ends at Python's limit of such calls, and so would each later try. So nothing is ever more than one folder below
the one that is deleted: a folder found there is first moved up, beside the one that it was found in. What is left after
a kill is deleted in the same way.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_IN_USE = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR})


def delete_tree(path: str | Path, *, dir_fd: int | None = None) -> None:
    """Delete the folder `path` and all below it, and follow no link; raises `OSError`, and may be called again."""
    top = _opened(os.fspath(path), dir_fd)
    try:
        names = (f".deleted-{number}" for number in _numbers())
        while waiting := _emptied(top, into=top, names=names):
            for name in waiting:
                folder = _opened(name, top)
                try:
                    _emptied(folder, into=top, names=names)
                finally:
                    os.close(folder)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(path, dir_fd=dir_fd)


def _numbers() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def _emptied(folder: int, *, into: int, names: Iterator[str]) -> list[str]:
    """Delete the files in an open folder, and move its folders `into` another; return those, if it is the same."""
    with os.scandir(folder) as listing:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
    for name, is_folder in entries:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
        elif folder != into:
            _move(name, folder, into, names)
    return [name for name, is_folder in entries if is_folder] if folder == into else []


def _move(name: str, folder: int, into: int, names: Iterator[str]) -> None:
    for free in names:
        try:
            os.rename(name, free, src_dir_fd=folder, dst_dir_fd=into)
        except PermissionError:  # a folder that is moved must be writable itself
            os.close(_opened(name, folder, mode=0o700))
            os.rename(name, free, src_dir_fd=folder, dst_dir_fd=into)
        except OSError as error:
            if error.errno not in _IN_USE:
                raise
            continue
        return


def _opened(name: str, folder: int | None, *, mode: int = 0) -> int:
    """Return the open folder; one that its owner may not enter gets the rights that a deletion needs."""
    descriptor = -1
    try:
        descriptor = os.open(name, _FOLDER, dir_fd=folder)
        if mode or not os.access(name, os.W_OK | os.X_OK, dir_fd=folder):
            os.fchmod(descriptor, 0o700)
    except PermissionError:
        if descriptor >= 0:  # it belongs to another user: what can be deleted there is
            return descriptor
        _chmod(name, folder)
        descriptor = os.open(name, _FOLDER, dir_fd=folder)
    return descriptor


def _chmod(name: str, folder: int | None) -> None:
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, 0o700, dir_fd=folder, follow_symlinks=False)
        return
    path = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.chmod(f"/proc/self/fd/{path}", 0o700)  # noqa: PTH101 - a descriptor of such an open cannot be changed itself
    finally:
        os.close(path)
