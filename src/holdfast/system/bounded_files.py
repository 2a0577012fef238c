"""Reads files that others may have written: regular files only, at most a given size, without waiting for anything.

A plain `read_bytes` waits for ever on a named pipe without a writer, starts a device, and takes as much memory as
someone put into the file. Every reader of such a file goes through this module and has its bound
(docs/reference/limits.md lists them; `tests/contract/test_bounded_readers.py` finds a reader that does not).

Why look before opening, when the open file is looked at too? Opening a device may already do something, for example
rewind a tape. The second look finds what another process put there in between.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path
from typing import BinaryIO

STATE_FILE = 1 << 20
"""Bytes of a file with settings or a small state."""

_PIECE = 1 << 20
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read_bounded(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most `most` bytes; links are followed.

    Raises `OSError`, whose `strerror` is the reason: it is no regular file, it is too large, or the system's.
    """
    with open_unblocked(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise _too_large(path, most)
        data = read_beginning(file, most + 1)  # it may grow; and a file of the system tells no size
    if len(data) > most:
        raise _too_large(path, most)
    return data


def read_text_beginning(path: Path, most: int) -> str:
    """Return the first `most` bytes of a regular file as text; raises `OSError` or `UnicodeDecodeError`."""
    with open_unblocked(path) as file:
        return read_beginning(file, most).decode()


def open_unblocked(path: Path, flags: int = 0, *, folder: int | None = None) -> io.FileIO:
    """Return a regular file, open for reading; raises `OSError` for anything else. Never waits for a writer.

    With `folder`, an open one, `path` is relative to it.
    """
    _refuse_special(path, os.stat(path, dir_fd=folder, follow_symlinks=not flags & os.O_NOFOLLOW))
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | flags, dir_fd=folder)
    file = io.FileIO(opened)
    try:
        _refuse_special(path, os.fstat(file.fileno()))
    except OSError:
        file.close()
        raise
    return file


def read_beginning(file: BinaryIO, most: int) -> bytes:
    """Return up to `most` bytes from here on, taking memory only for what is there."""
    pieces: list[bytes] = []
    while most > 0 and (piece := file.read(min(most, _PIECE))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _refuse_special(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "special")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))


def _too_large(path: Path, most: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
