"""Reads the lines of standard input in a thread, so that the event loop never waits for them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time

import msgspec

LONGEST_LINE = 10 * 1024 * 1024
"""Maximum bytes of a line, unless its reader allows more. A longer one is skipped, and reported."""

MOST_WAITING = 64
"""Lines that are read ahead of the event loop."""

_PAUSE = 0.005
_CHUNK = 1 << 16


class Line(msgspec.Struct, frozen=True):
    """A line with its number, from 1; `text` is None if it was too long."""

    number: int
    text: bytes | None


class LineReader:
    """The lines of a descriptor, in order. After the last one, and after `stop`, `lines` gives None."""

    def __init__(self, descriptor: int, loop: asyncio.AbstractEventLoop, *, longest: int = LONGEST_LINE) -> None:
        """Create it for lines of at most `longest` bytes."""
        self.lines: asyncio.Queue[Line | None] = asyncio.Queue()
        self._descriptor = descriptor
        self._loop = loop
        self._longest = longest

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._read, name="input", daemon=True).start()

    def stop(self) -> None:
        """Put None after the lines so far, to end a caller that waits. Call it on the loop."""
        self.lines.put_nowait(None)

    def _read(self) -> None:
        number, buffer, too_long = 1, bytearray(), False
        while chunk := self._chunk():
            *complete, rest = chunk.split(b"\n")
            for piece in complete:
                buffer += piece
                self._put(Line(number, None if too_long or len(buffer) > self._longest else bytes(buffer)))
                number, too_long = number + 1, False
                buffer.clear()
            buffer += rest
            if len(buffer) > self._longest:
                too_long = True
                buffer.clear()
        if buffer or too_long:
            self._put(Line(number, None if too_long else bytes(buffer)))
        self._put(None)

    def _chunk(self) -> bytes:
        try:
            return os.read(self._descriptor, _CHUNK)
        except OSError:  # closed elsewhere: no more lines will come
            return b""

    def _put(self, line: Line | None) -> None:
        while self.lines.qsize() > MOST_WAITING and not self._loop.is_closed():
            time.sleep(_PAUSE)  # the writer waits too, once its pipe is full
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self.lines.put_nowait, line)
