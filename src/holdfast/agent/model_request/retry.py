"""The retry policy: what is sent again, and after how long."""

from __future__ import annotations

from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed


def retry_delay(
    failed: ProviderFailed,
    attempt: int,
    *,
    limits: Limits,
    shown: bool,
    non_streaming: bool = False,
    empty: int = 0,
) -> float | None:
    """Return the seconds to wait before attempt `attempt + 1`, None if there is no further attempt.

    Never retries an answer that was partly shown (the user would read it twice), an error that a retry cannot fix, or a
    `non_streaming` answer that timed out (it may be billed and would time out again). If the provider asks for a longer
    wait than `longest_backoff`, the user gets the error instead. Responses that were no answer, `empty` of them so far,
    are retried `retry_empty` times and at once, also if their thinking was shown.
    """
    if failed.fault == "empty":
        return 0.0 if empty <= limits.retry_empty and attempt < limits.attempts else None
    too_slow = non_streaming and failed.fault == "silent"
    if shown or too_slow or not failed.retryable or attempt >= limits.attempts:
        return None
    requested = failed.retry_after
    if requested is not None:
        return requested if requested <= limits.longest_backoff else None
    return min(limits.backoff * 2 ** (attempt - 1), limits.longest_backoff)


def without_streaming(failed: ProviderFailed, *, fell_back: bool, patient: bool = False) -> bool:
    """Return whether to ask for the answer without streaming: once per response, after a silence.

    Some servers, or proxies in front of them, never deliver a stream but do answer a plain request. A server of the
    user's own (`patient`) is still reading the prompt, and would have to begin again.
    """
    return failed.fault == "silent" and not fell_back and not patient
