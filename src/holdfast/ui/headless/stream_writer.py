"""Write to a stream whose reader may be slow, blocked, or closed.

The event loop never waits for a reader. A closed reader is noticed once and never written to again.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import TextIO


class Courier:
    """A thread that runs tasks in order."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._thread.start()

    def do(self, work: Callable[[], None]) -> None:
        """Run `work` after all earlier tasks; returns immediately."""
        self._queue.put(work)

    def end(self, within: float | None) -> None:
        """Wait until everything is done, or for `within` seconds."""
        self._queue.put(None)
        self._thread.join(within)

    def _run(self) -> None:
        for work in iter(self._queue.get, None):
            work()


class Writer:
    """Writes to a stream through a courier; unread output is buffered in memory.

    It writes to the file descriptor directly: a blocked write would hold the lock of the stream's own buffer, which
    Python needs at exit. A stream without a descriptor (in memory) is written to normally.
    """

    def __init__(self, stream: TextIO, on_closed: Callable[[str], None], *, courier: Courier) -> None:
        """`on_closed` is called once, in the courier's thread, with the reason why nothing more can be written."""
        self.terminal = stream.isatty()
        self._stream = stream
        self._on_closed = on_closed
        self._courier = courier
        self._open = True
        self._unwritten = ""

    def write(self, text: str) -> None:
        """Write `text` after everything before it; returns immediately and never raises."""
        self._courier.do(partial(self._write, text))

    def close(self, within: float | None) -> str:
        """Wait until everything is written, or for `within` seconds.

        Return why it could not be written; "" if it was, if time ran out, or if the reader was closed.
        """
        self._courier.end(within)
        return self._unwritten

    def _write(self, text: str) -> None:
        if not self._open:
            return
        try:
            try:
                descriptor = self._stream.fileno()
            except OSError:
                self._stream.write(text)
            else:
                _write_all(descriptor, text.encode(self._stream.encoding, "replace"))
        except BrokenPipeError:
            self._open = False
            self._on_closed("the reader has closed it")
        except (OSError, ValueError) as error:  # disk full, or closed elsewhere
            self._open = False
            self._unwritten = (error.strerror if isinstance(error, OSError) else "") or str(error)
            self._on_closed(self._unwritten)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # another process made it non-blocking
            select.select([], [descriptor], [])
