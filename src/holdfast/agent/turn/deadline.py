"""The deadline of a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Deadline:
    """Calls `late` after `seconds` of counted time; never without `seconds`."""

    def __init__(self, seconds: float | None, late: Callable[[], None]) -> None:
        self._left = seconds
        self._late = late
        self._timer: asyncio.TimerHandle | None = None

    def count(self) -> None:
        """Start counting time."""
        if self._left is not None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._left, self._late)

    def pause(self) -> None:
        """Stop counting time."""
        if self._timer is not None:
            self._left = max(0.0, self._timer.when() - asyncio.get_running_loop().time())
            self._timer.cancel()
            self._timer = None
