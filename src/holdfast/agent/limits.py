"""The one retry policy: what is sent again, and after how long."""

from __future__ import annotations

from holdfast.config import Limits
from holdfast.errors import ProviderFailed


def retry_delay(failed: ProviderFailed, attempt: int, *, limits: Limits, shown: bool) -> float | None:
    """Return the seconds to wait before attempt `attempt + 1`, None if there must be none.

    Never retries what was partly shown (the person would read it twice) nor what sending again cannot help. A provider
    that asks for a longer wait than `longest_backoff` is not waited for: the person is told instead.
    """
    if shown or not failed.retryable or attempt >= limits.attempts:
        return None
    asked = failed.retry_after
    if asked is not None:
        return asked if asked <= limits.longest_backoff else None
    return min(limits.backoff * 2 ** (attempt - 1), limits.longest_backoff)
