"""The stop of one turn: asked for once, by anyone; heard by whoever waits for anything.

A stop is a request, not a cancellation: work that is under way is told, and gets the time to say what it did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import TypeVar

from holdfast.agent.settle import Leave

T = TypeVar("T")


class Left(BaseException):
    """Unwinds a turn to its exit; the cause is already recorded. No boundary may take it for a failure."""


class Stop:
    """Whether, and why, a turn is being left."""

    def __init__(self) -> None:
        self._asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.leave: Leave | None = None

    def ask(self, leave: Leave) -> None:
        """Ask for the turn to end; the first cause stands."""
        if not self._asked.done():
            self.leave = leave
            self._asked.set_result(None)

    def go_on(self) -> None:
        """Return if nobody asked; raises `Left` if somebody did."""
        if self._asked.done():
            raise Left

    async def race(self, work: Awaitable[T], within: float | None = None) -> T:
        """Return what `work` gives; raises `Left` if a stop comes first, `TimeoutError` after `within` seconds."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, self._asked}, timeout=within, return_when=asyncio.FIRST_COMPLETED)
            self.go_on()
            if not task.done():
                raise TimeoutError
            return task.result()
        finally:
            if not task.cancel() and not task.cancelled():
                task.exception()  # it ended together with the stop: the stop is what counts


async def to_the_end(work: Coroutine[None, None, T]) -> T:
    """Return what `work` gives; a cancellation that comes meanwhile waits for it and is raised then."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    result = task.result()
    if cancelled is not None:
        raise cancelled
    return result
