"""Text of an answer that is still streamed, in a file next to the journal: it survives a kill, not a power loss.

A synced append for each piece would cost too much, so the journal gets the text once a second. In between each piece is
written here without a sync, which takes microseconds, and which a killed process leaves in the system's memory. The
next append to the journal holds all of it, in its own transaction, before any other fact. So a line counts only while
the journal has exactly the length that the line names, and this file is never the truth about anything older.

Why not append to the journal without a sync? After a power loss its log could have holes with later commits behind
them, which is what damage looks like. And a number of an entry that someone has read could be given to another entry.

Example: a model has streamed 0.7 s of text since the last append, entry 17, and the process is killed. The file has
three lines for length 17. The next process that opens the session appends them as entry 18, a `response-checkpoint`,
and then settles the turn as after any crash.
"""

from __future__ import annotations

import errno
import os
import zlib
from contextlib import suppress
from pathlib import Path

import msgspec

from holdfast.session.journal.entries import ResponseCheckpoint
from holdfast.system.bounded_files import read_bounded
from holdfast.system.durable_files import STREAMED
from holdfast.typed_data import decode_json

MOST_STREAMED = 4 << 20
"""Bytes of the file that are read; more was never written by holdfast."""


class _Line(msgspec.Struct, frozen=True, array_like=True):
    after: int
    step: int
    text: str
    thinking: str


class StreamedFile:
    """The file of one open session. It is created with the first text, and removed by `close`."""

    def __init__(self, folder: Path) -> None:
        """Open nothing yet."""
        self._path = folder / STREAMED
        self._descriptor: int | None = None
        self._after = -1
        self._has_hole = False  # a piece could not be written: what follows it is not written either

    def write(self, checkpoint: ResponseCheckpoint, *, after: int) -> None:
        """Add text that a journal of length `after` does not hold yet. Raises `OSError`; the file stays usable.

        Behind a piece that could not be written none is, until the journal is longer: the text would have a hole.
        """
        if self._descriptor is None:
            self._path.unlink(missing_ok=True)  # a killed process left it, and `streamed_text` has read it
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o600)
        if self._after != after:
            os.ftruncate(self._descriptor, 0)
            self._after, self._has_hole = after, False
        body = msgspec.json.encode(_Line(after, checkpoint.step, checkpoint.text, checkpoint.thinking))
        line = b"%08x %b\n" % (zlib.crc32(body), body)
        if self._has_hole:
            raise OSError(errno.ENOSPC, "an earlier piece of the answer could not be kept")
        self._has_hole = True
        if os.write(self._descriptor, line) != len(line):  # half a line is no line
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._has_hole = False

    def close(self) -> None:
        """Remove the file: what it held is in the journal."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
            with suppress(OSError):  # it counts for nothing once the journal is longer
                self._path.unlink(missing_ok=True)


def streamed_text(folder: Path, *, after: int) -> ResponseCheckpoint | None:
    """Return the text that was streamed after entry `after` and is not in the journal, None if there is none."""
    try:
        data = read_bounded(folder / STREAMED, MOST_STREAMED)
    except OSError:  # there is none, or another process put something else there: it is no text of holdfast
        return None
    lines: list[_Line] = []
    for line in data.split(b"\n")[:-1]:
        found = _decoded(line)
        if found is None or found.after != after or (lines and found.step != lines[0].step):
            break  # what follows a torn line was not written after it
        lines.append(found)
    if not lines:
        return None
    return ResponseCheckpoint(
        step=lines[0].step,
        text="".join(line.text for line in lines),
        thinking="".join(line.thinking for line in lines),
    )


def _decoded(line: bytes) -> _Line | None:
    checksum, _, body = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(body):
        return None
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        return decode_json(body, _Line)
    return None
