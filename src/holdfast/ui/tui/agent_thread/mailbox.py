"""Messages from one thread to another: in order, delivered in batches, without waiting on either side."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Generic, TypeVar

T = TypeVar("T")

SLICE = 0.02
"""Seconds per batch; then the loop does other work, e.g. handles a key."""


class Mailbox(Generic[T]):
    """A queue into an event loop, which is woken once per burst."""

    def __init__(self, take: Callable[[T], None]) -> None:
        """Deliver every message to `take`, once `open` has been called with a loop."""
        self._take = take
        self._loop: asyncio.AbstractEventLoop | None = None
        self._context = copy_context()
        self._waiting: deque[T] = deque()
        self._woken = False

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start to deliver, on `loop` and in the context of the caller; call it on that loop."""
        self._context = copy_context()  # the context of the putting thread has no active application
        self._loop = loop
        self._drain(loop)

    def put(self, message: T) -> None:
        """Add a message, from any thread; after the loop has closed, it is dropped."""
        self._waiting.append(message)
        loop = self._loop
        if loop is not None and not self._woken:
            self._woken = True
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._drain, loop, context=self._context)

    def _drain(self, loop: asyncio.AbstractEventLoop) -> None:
        self._woken = False  # before reading: later messages wake the loop again
        until = loop.time() + SLICE
        while self._waiting:
            self._take(self._waiting.popleft())
            if self._waiting and loop.time() > until:
                self._woken = True
                loop.call_soon(self._drain, loop, context=self._context)
                return
