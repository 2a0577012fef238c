"""The file of a debug log: lines, in at most KEPT files of LARGEST bytes, for their owner alone."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

LARGEST = 10_000_000
"""Bytes of one file; a list of ten thousand messages takes a twentieth of it."""

KEPT = 3
"""Files that there may be: the one written to, and two before it."""


class LogFile:
    """Appends lines to `path`; full, it becomes `path` with .1, and that .2. Raises `OSError` as the disk does."""

    def __init__(self, path: Path, *, largest: int = LARGEST) -> None:
        self.path = path
        self._largest = largest
        self._open()

    def write(self, line: str) -> None:
        """Append a line of ASCII; whoever reads the file sees it at once."""
        data = f"{line}\n".encode("ascii")
        if self._size and self._size + len(data) > self._largest:
            self._turn_over()
        self._size += os.write(self._descriptor, data)

    def close(self) -> None:
        """Close the file; writing to it afterwards fails, closing it again does not."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def _open(self) -> None:
        # Never through a link: a folder that was copied from somewhere may hold one.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(self.path, flags, 0o600)
        self._size = os.fstat(self._descriptor).st_size

    def _turn_over(self) -> None:
        self.close()
        names = [self.path, *(self.path.with_name(f"{self.path.name}.{number}") for number in range(1, KEPT))]
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            with contextlib.suppress(FileNotFoundError):
                newer.replace(older)
        self._open()
