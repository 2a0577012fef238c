"""Blocking work of a tool, done in a thread that a stop or a cancellation ends soon."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


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
        return await asyncio.to_thread(work, flag)
    finally:
        flag.set()
        watcher.cancel()
