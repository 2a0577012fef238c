"""Tasks that were told to end and are not waited for: somebody keeps them until they do.

Two rules. The event loop keeps no task by itself: one that nobody holds may vanish half-way. What such a task raises is
looked at, or whoever runs the program is told that nobody did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Abandoned:
    """The abandoned tasks of one session."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()

    def __len__(self) -> int:
        """Return how many have not ended."""
        return len(self._tasks)

    def add(self, task: asyncio.Task[object], failed: Callable[[Exception], None] = lambda _: None) -> None:
        """Cancel a task and go on without it; `failed` is told what it raises, should it."""

        def done(task: asyncio.Task[object]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and isinstance(error := task.exception(), Exception):
                failed(error)

        task.cancel()
        self._tasks.add(task)
        task.add_done_callback(done)

    async def end(self, within: float) -> None:
        """Cancel those that are left once more, and wait so many seconds for them: nobody comes after."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within)
