"""The output of a command on disk, of bounded size: its beginning and its end."""

from __future__ import annotations

import os

SPOOL_HEAD = 1_000_000
SPOOL_TAIL = 1_000_000  # the file grows to head + twice this, then is cut to head + this
SPOOL_MARK = b"\n[... output was cut here ...]\n"


class Spool:
    """A file with the beginning and the end of a command's output, of bounded size."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.size = 0
        self.error = ""

    def keep(self, data: bytes) -> None:
        """Append `data`, dropping the middle when the file is full. After an error nothing more is stored."""
        try:
            if self.size > SPOOL_HEAD + 2 * SPOOL_TAIL and not self.error:
                data = SPOOL_MARK + os.pread(self.fd, SPOOL_TAIL, self.size - SPOOL_TAIL) + data
                self.size = SPOOL_HEAD
                os.ftruncate(self.fd, self.size)
            while data and not self.error:
                written = os.pwrite(self.fd, data, self.size)
                self.size += written
                data = data[written:]
        except OSError as error:
            self.error = str(error)
