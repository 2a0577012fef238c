"""Work on a thread for a call: it ends with the call's stop, and after a time limit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from holdfast.errors import ToolFailed
from holdfast.system.threads import in_thread
from holdfast.tools.tool import ToolOutput

_LAST_WORD = 0.3  # seconds for stopped work to return what it has


async def run_bounded(
    work: Callable[[threading.Event], ToolOutput], stop: asyncio.Event, *, seconds: float, stopped: str, late: str
) -> ToolOutput:
    """Run `work` on a thread; return its output, or an interrupted output with the text `stopped`.

    Raises `ToolFailed` with the text `late` if it takes longer than `seconds`. The thread is not waited for.
    """
    working = asyncio.ensure_future(in_thread(work, stop))
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({working, stopping}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if stop.is_set():
            await asyncio.wait({working}, timeout=_LAST_WORD)
        if working.done():
            return working.result()
    finally:
        working.cancel()
        stopping.cancel()
    if stop.is_set():
        return ToolOutput(text=stopped, interrupted=True)
    raise ToolFailed(late)
