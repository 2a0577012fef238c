"""The one retry policy, what is sent again and after how long; and the deadline of a whole turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast.config import Limits
from holdfast.errors import ProviderFailed


def retry_delay(
    failed: ProviderFailed, attempt: int, *, limits: Limits, shown: bool, whole: bool = False
) -> float | None:
    """Return the seconds to wait before attempt `attempt + 1`, None if there must be none.

    Never retries what was partly shown (the person would read it twice) nor what sending again cannot help; nor a
    `whole` answer that did not come in its time, which may be billed and would not come the next time. A provider that
    asks for a longer wait than `longest_backoff` is not waited for: the person is told instead.
    """
    too_slow = whole and failed.fault == "silent"
    if shown or too_slow or not failed.retryable or attempt >= limits.attempts:
        return None
    asked = failed.retry_after
    if asked is not None:
        return asked if asked <= limits.longest_backoff else None
    return min(limits.backoff * 2 ** (attempt - 1), limits.longest_backoff)


def without_streaming(failed: ProviderFailed, *, fell_back: bool) -> bool:
    """Return whether the next attempt asks for the answer in one piece: once for a response, after a silence.

    Some servers, and what stands before them, hold a stream back for good and answer a plain request.
    """
    return failed.fault == "silent" and not fell_back


class Deadline:
    """Calls `late` once `seconds` have gone by that count; without `seconds`, never."""

    def __init__(self, seconds: float | None, late: Callable[[], None]) -> None:
        self._left = seconds
        self._late = late
        self._timer: asyncio.TimerHandle | None = None
        self.count()

    def count(self) -> None:
        """Let the time that goes by from now on count."""
        if self._left is not None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._left, self._late)

    def pause(self) -> None:
        """Let the time that goes by from now on not count."""
        if self._timer is not None:
            self._left = max(0.0, self._timer.when() - asyncio.get_running_loop().time())
            self._timer.cancel()
            self._timer = None
