"""The stop signal of one turn: any code may set it, once, and every wait of the turn then returns.

A stop is a request, not a cancellation. Running work is signalled and gets time to report what it did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import TypeVar

from holdfast.agent.stop_cause import StopCause
from holdfast.errors import ApprovalUnavailable, InvalidRequest, ProviderFailed, StateError, UsageError
from holdfast.text import error_text, text_of

T = TypeVar("T")


class TurnStopped(BaseException):
    """Unwinds a turn to its exit. The cause is already recorded; error boundaries must let it pass."""


class StopSignal:
    """Whether and why a turn should end. Work that ignores its cancellation goes to `detached`."""

    def __init__(self, detached: DetachedTasks) -> None:
        self._detached = detached
        self._set: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.event = asyncio.Event()  # for running tools, which end by themselves
        self.cause: StopCause | None = None
        self.stopped_twice = False
        """Whether a second stop was requested; the first one is the cause."""

    def set(self, cause: StopCause) -> None:
        """Request the end of the turn, from any thread: the loop is woken. The first cause wins."""
        loop = self._set.get_loop()
        if loop.is_running() and asyncio._get_running_loop() is not loop:  # noqa: SLF001 - None without a loop
            with suppress(RuntimeError):  # it has closed in the meantime, so nothing runs
                loop.call_soon_threadsafe(self.set, cause)
        elif self._set.done():
            self.stopped_twice = True
        else:
            self.cause = cause
            self._set.set_result(None)
            self.event.set()

    def raise_if_set(self) -> None:
        """Raise `TurnStopped` if a stop was requested."""
        if self._set.done():
            raise TurnStopped

    async def race(self, work: Awaitable[T], within: float | None = None) -> T:
        """Await `work`; raises `TurnStopped` if a stop comes first, `TimeoutError` after `within` seconds."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, self._set}, timeout=within, return_when=asyncio.FIRST_COMPLETED)
            self.raise_if_set()
            if not task.done():
                raise TimeoutError
            return task.result()
        finally:
            if not task.done():
                self._detached.add(task)
            elif not task.cancelled():
                task.exception()  # it ended at the same time as the stop; the stop wins

    async def try_await(self, work: Awaitable[T], default: T, *, within: float) -> tuple[T, BaseException | None]:
        """Await `work` with a timeout. Return its result, or `default` on stop or timeout, plus any exception."""
        try:
            return await self.race(work, within), None
        except (TurnStopped, TimeoutError):
            return default, None
        except BaseException as error:  # noqa: BLE001 - the caller settles the journal first, then raises it
            return default, error


async def wait_shielded(
    work: asyncio.Future[T],
    on_interrupt: Callable[[BaseException], None] = lambda _: None,
    raised: BaseException | None = None,
) -> T:
    """Await `work` to its end, even if this task is cancelled, and raise the first exception afterwards.

    `on_interrupt` is called with each exception raised while waiting. `raised` is an exception from before the wait.
    """
    if raised is not None:
        on_interrupt(raised)
    while not work.done() and not isinstance(raised, GeneratorExit):  # the generator is being closed and cannot wait
        try:
            await asyncio.wait({work})
        except BaseException as error:  # noqa: BLE001 - raised below
            on_interrupt(error)
            raised = error if raised is None or isinstance(raised, asyncio.CancelledError) else raised
    if raised is None:
        return work.result()
    if work.done() and not work.cancelled():
        work.exception()  # the exception from outside wins
    raise raised


async def end_tasks(tasks: Collection[asyncio.Task[object]], within: float) -> None:
    """Wait up to `within` seconds for the tasks; cancel those that did not end, and wait as long again."""
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=within)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=within)


class DetachedTasks:
    """The cancelled tasks of one session that nothing waits for any more."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()

    def __len__(self) -> int:
        """Return how many tasks are still running."""
        return len(self._tasks)

    def add(self, task: asyncio.Task[object], on_error: Callable[[Exception], None] = lambda _: None) -> None:
        """Cancel the task without waiting for it. `on_error` is called if it later raises."""

        def done(task: asyncio.Task[object]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and isinstance(error := task.exception(), Exception):
                on_error(error)

        task.cancel()
        self._tasks.add(task)
        task.add_done_callback(done)

    async def end(self, within: float) -> None:
        """Cancel the remaining tasks again and wait up to `within` seconds for them."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within)


def stop_cause_of(error: BaseException) -> StopCause:
    """Return the stop cause for an exception. An unknown exception is a bug in holdfast."""
    message = text_of(error)
    match error:
        case ApprovalUnavailable():
            stop_cause = StopCause("approval", message)
        case ProviderFailed(fault="flood" | "empty" | "periodic" as fault):
            stop_cause = StopCause(fault, message.rstrip("."))
        case ProviderFailed() | UsageError():  # a usage error here means an unusable model
            stop_cause = StopCause("provider", message)
        case StateError():  # nothing can be journalled: disk full, journal closed, or another process writes it
            stop_cause = StopCause("storage", message)
        case KeyboardInterrupt():
            stop_cause = StopCause("user")
        case asyncio.CancelledError() | SystemExit() | GeneratorExit():
            stop_cause = StopCause("external")
        case InvalidRequest():
            stop_cause = StopCause("bug", message)
        case _:
            stop_cause = StopCause("bug", error_text(error))
    return stop_cause
