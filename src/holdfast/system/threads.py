"""Blocking work on daemon threads: neither the event loop, nor a stop, nor process exit waits for it."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from holdfast.text import error_text

T = TypeVar("T")


class ForeignExit(Exception):
    """Stands for an exception that must not travel as it is: in a task it would end the loop, such as `SystemExit`.

    `error` is the exception. Its text is not read: that is code of others, which may fail too.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(type(error).__name__)
        self.error = error


def described(error: BaseException) -> str:
    """Return the type and the text of an exception of others, which may have none, or fail to say it."""
    return error_text(error.error if isinstance(error, ForeignExit) else error)


async def in_daemon(work: Callable[[], T]) -> T:
    """Run `work` on a daemon thread and return its result or raise its exception. A cancellation does not wait.

    `asyncio.to_thread` is unsuitable: its threads are joined when the loop closes, however long they take.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(set_outcome: Callable[[], None]) -> None:
        if not future.done():
            set_outcome()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - handed to the awaiting task, which would wait for ever otherwise
            is_accepted = isinstance(error, Exception) and not isinstance(
                error, StopIteration
            )  # the types call_soon_threadsafe accepts
            failed = error if is_accepted else ForeignExit(error)
            set_outcome = functools.partial(future.set_exception, failed)
        else:
            set_outcome = functools.partial(future.set_result, result)
        with suppress(RuntimeError):  # the loop has closed, so nothing awaits it
            loop.call_soon_threadsafe(deliver, set_outcome)

    threading.Thread(target=run, name="blocking work", daemon=True).start()
    return await future


def run_within(seconds: float, work: Callable[[], T]) -> T:
    """Run `work` on a thread; raises its exception, or `TimeoutError` if it takes longer.

    It blocks the caller. On an event loop use `in_daemon`.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - handed to the waiting caller
            future.set_exception(error)

    threading.Thread(target=run, name="bounded work", daemon=True).start()
    return future.result(seconds)


async def in_thread(work: Callable[[threading.Event], T], stop: asyncio.Event) -> T:
    """Run `work` on a thread and return its result. Its event is set on a stop or when the caller is cancelled.

    `work` must check it often, and return its result so far once it is set.
    """
    flag = threading.Event()
    if stop.is_set():
        flag.set()

    async def mirror() -> None:
        await stop.wait()
        flag.set()

    watcher = asyncio.create_task(mirror())
    try:
        return await in_daemon(functools.partial(work, flag))
    finally:
        flag.set()
        watcher.cancel()
