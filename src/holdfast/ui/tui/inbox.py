"""What one thread tells another: kept in order, handed over in batches, and never waited for by either."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
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
        self._context = copy_context()
        self._waiting: deque[T] = deque()
        self._woken = False

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to hand over, on `loop` and in the context of the caller; call it there."""
        self._context = copy_context()  # that of whoever puts something in knows of no application
        self._loop = loop
        self._drain(loop)

    def put(self, message: T) -> None:
        """Add a message, from any thread; when the loop has closed, nobody hears it."""
        self._waiting.append(message)
        loop = self._loop
        if loop is not None and not self._woken:
            self._woken = True
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._drain, loop, context=self._context)

    def _drain(self, loop: asyncio.AbstractEventLoop) -> None:
        self._woken = False  # before looking: what is put in from now on wakes again
        until = loop.time() + SLICE
        while self._waiting:
            self._take(self._waiting.popleft())
            if self._waiting and loop.time() > until:
                self._woken = True
                loop.call_soon(self._drain, loop, context=self._context)
                return
