"""What one thread tells another: kept in order, handed over in batches, and never waited for by either."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")

SLICE = 0.02
"""Seconds of handing over at a time; then the loop does what else is due, a key for instance."""


class Inbox(Generic[T]):
    """A queue into an event loop that is woken once for a burst."""

    def __init__(self, take: Callable[[T], None]) -> None:
        """Hand everything that is put in to `take`, once `open` says on which loop."""
        self._take = take
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: deque[T] = deque()
        self._woken = False

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to hand over, on `loop`; call it there."""
        self._loop = loop
        self._drain(loop)

    def put(self, message: T) -> None:
        """Add a message, from any thread; when the loop has closed, nobody hears it."""
        self._waiting.append(message)
        loop = self._loop
        if loop is not None and not self._woken:
            self._woken = True
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._drain, loop)

    def _drain(self, loop: asyncio.AbstractEventLoop) -> None:
        self._woken = False  # before looking: what is put in from now on wakes again
        until = loop.time() + SLICE
        while self._waiting:
            self._take(self._waiting.popleft())
            if self._waiting and loop.time() > until:
                self._woken = True
                loop.call_soon(self._drain, loop)
                return
