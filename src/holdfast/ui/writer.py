"""Writing to a person or a program that may read slowly, not at all, or leave.

Two rules. The event loop never waits for a reader. A reader that has gone is noticed once and never written to again.
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
    """A thread that carries out one thing after another."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._thread.start()

    def do(self, work: Callable[[], None]) -> None:
        """Have `work` done after all that came before; returns at once."""
        self._queue.put(work)

    def end(self, within: float | None) -> None:
        """Return once everything is done, or `within` seconds have passed."""
        self._queue.put(None)
        self._thread.join(within)

    def _run(self) -> None:
        for work in iter(self._queue.get, None):
            work()


class Writer:
    """Write to a stream through a courier; what is not read yet is kept in memory.

    It writes to the descriptor itself: the stream's own buffer would be locked by a write that never ends, and Python
    wants it at exit. A stream without a descriptor (in memory) is written to as it is.
    """

    def __init__(self, stream: TextIO, gone: Callable[[str], None], *, courier: Courier) -> None:
        """Call `gone`, in the courier's thread, once nothing more can be written, with the reason."""
        self.terminal = stream.isatty()
        self._stream = stream
        self._gone = gone
        self._courier = courier
        self._open = True
        self._unwritten = ""

    def write(self, text: str) -> None:
        """Have `text` written after all that came before; returns at once and never raises."""
        self._courier.do(partial(self._write, text))

    def close(self, within: float | None) -> str:
        """Return once all is written, or `within` seconds have passed.

        Returns why it could not be written, "" if it was, if there was no time, or if the reader had gone.
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
            self._gone("nobody reads it")
        except (OSError, ValueError) as error:  # a full disk; closed from elsewhere
            self._open = False
            self._unwritten = (error.strerror if isinstance(error, OSError) else "") or str(error)
            self._gone(self._unwritten)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # whoever opened it made it non-blocking
            select.select([], [descriptor], [])
