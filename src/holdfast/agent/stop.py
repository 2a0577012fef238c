"""The stop of one turn: asked for once, by anyone; heard by whoever waits for anything.

A stop is a request, not a cancellation: work that is under way is told, and gets the time to say what it did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from holdfast.agent.abandoned import Abandoned
from holdfast.agent.settle import Leave

T = TypeVar("T")


class Left(BaseException):
    """Unwinds a turn to its exit; the cause is already recorded. No boundary may take it for a failure."""


class Stop:
    """Whether, and why, a turn is being left; work that does not end when it is cancelled goes to `abandoned`."""

    def __init__(self, abandoned: Abandoned) -> None:
        self._abandoned = abandoned
        self._asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.leave: Leave | None = None
        self.again = False
        """Whether somebody asked once more: too late to be the cause of the end."""

    def ask(self, leave: Leave) -> None:
        """Ask for the turn to end; the first cause stands."""
        if self._asked.done():
            self.again = True
        else:
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
            if not task.done():
                self._abandoned.add(task)
            elif not task.cancelled():
                task.exception()  # it ended together with the stop: the stop is what counts

    async def learn(self, look: Awaitable[T], unknown: T, *, within: float) -> tuple[T, BaseException | None]:
        """Return what `look` gives, `unknown` on a stop or after so many seconds, and what was raised meanwhile."""
        try:
            return await self.race(look, within), None
        except (Left, TimeoutError):
            return unknown, None
        except BaseException as error:  # noqa: BLE001 - what is in the journal comes first, then it is raised
            return unknown, error


async def to_the_end(
    work: asyncio.Future[T],
    interrupted: Callable[[BaseException], None] = lambda _: None,
    raised: BaseException | None = None,
) -> T:
    """Return what `work` gives; what is raised meanwhile in whoever waits is told, waits for it, and is raised then.

    `raised` is what was raised in them before.
    """
    if raised is not None:
        interrupted(raised)
    while not work.done() and not isinstance(raised, GeneratorExit):  # after that, nobody is there to wait
        try:
            await asyncio.wait({work})
        except BaseException as error:  # noqa: BLE001 - raised below
            interrupted(error)
            raised = error if raised is None or isinstance(raised, asyncio.CancelledError) else raised
    if raised is None:
        return work.result()
    if work.done() and not work.cancelled():
        work.exception()  # what was raised outside comes first
    raise raised
