"""The deadline of a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Deadline:
    """Calls `on_expiry` after `seconds` of counted time; never if `seconds` is None."""

    def __init__(self, seconds: float | None, on_expiry: Callable[[], None]) -> None:
        self._remaining = seconds
        self._on_expiry = on_expiry
        self._timer: asyncio.TimerHandle | None = None

    def count(self) -> None:
        """Start counting time."""
        if self._remaining is not None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._remaining, self._on_expiry)

    def pause(self) -> None:
        """Stop counting time."""
        if self._timer is not None:
            self._remaining = max(0.0, self._timer.when() - asyncio.get_running_loop().time())
            self._timer.cancel()
            self._timer = None
