"""The file of a debug log: at most KEPT files of LARGEST bytes, readable by their owner only."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_LARGEST = 10_000_000
"""Bytes per file. A list of ten thousand messages takes a twentieth of it."""

KEPT = 3
"""Number of files: the one being written, and two older ones."""


class LogFile:
    """Appends lines to `path`. A full file is renamed to `path`.1, and that to `path`.2. Raises `OSError`."""

    def __init__(self, path: Path, *, largest: int = _LARGEST) -> None:
        self.path = path
        self._largest = largest
        self._open()

    def write(self, line: str) -> None:
        """Append a line of ASCII, visible to readers of the file at once."""
        data = f"{line}\n".encode("ascii")
        if self._size and self._size + len(data) > self._largest:
            self._turn_over()
        self._size += os.write(self._descriptor, data)

    def close(self) -> None:
        """Close the file. Closing it again is harmless; writing to it fails."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def _open(self) -> None:
        # Never through a symbolic link, and never waiting at a pipe: a folder copied from elsewhere may contain one.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        self._descriptor = os.open(self.path, flags, 0o600)
        self._size = os.fstat(self._descriptor).st_size

    def _turn_over(self) -> None:
        self.close()
        names = [self.path, *(self.path.with_name(f"{self.path.name}.{number}") for number in range(1, KEPT))]
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            with contextlib.suppress(FileNotFoundError):
                newer.replace(older)
        self._open()
