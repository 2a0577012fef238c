"""Blocking work in a thread that nobody need wait for: not the event loop, not a stop, not the end of the process."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_daemon(work: Callable[[], T]) -> T:
    """Return what `work` gives in a thread, or raise what it raises; a cancellation does not wait for it.

    `asyncio.to_thread` will not do: its threads are joined when the loop closes, however long they take.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(give: Callable[[], None]) -> None:
        if not future.done():
            give()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - handed to whoever awaits, or they would wait for ever
            fit = isinstance(error, Exception) and not isinstance(
                error, StopIteration
            )  # what a future takes, and a loop
            failed = error if fit else RuntimeError(f"{type(error).__name__}: {error}")
            give = functools.partial(future.set_exception, failed)
        else:
            give = functools.partial(future.set_result, result)
        with suppress(RuntimeError):  # the loop has closed: nobody awaits any more
            loop.call_soon_threadsafe(deliver, give)

    threading.Thread(target=run, name="blocking work", daemon=True).start()
    return await future


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return what `work` gives in a thread, or raise what it raises; raises `TimeoutError` if it takes longer.

    It holds up whoever calls it, also an event loop: for a loop there is `in_daemon`.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            future.set_exception(error)

    threading.Thread(target=run, name="bounded work", daemon=True).start()
    return future.result(seconds)


async def in_thread(work: Callable[[threading.Event], T], stop: asyncio.Event) -> T:
    """Return what `work` gives in a thread; the event it is handed is set on a stop, and when the caller is cancelled.

    `work` must look at it often and then return what it has.
    """
    flag = threading.Event()

    async def mirror() -> None:
        await stop.wait()
        flag.set()

    watcher = asyncio.create_task(mirror())
    try:
        return await in_daemon(functools.partial(work, flag))
    finally:
        flag.set()
        watcher.cancel()
