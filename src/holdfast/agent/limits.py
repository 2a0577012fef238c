"""How long and how often: every bound of a turn in one place, and the one retry policy."""

from __future__ import annotations

from typing import Annotated

import msgspec

from holdfast.errors import ProviderFailed

Seconds = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The bounds of a turn; times in seconds. None means no bound.

    The deadlines on events are generous because a reasoning model may think in silence: keep-alive bytes do not count
    as events. `max_steps` counts model requests of one turn.
    """

    max_steps: Count | None = 200
    timeout: Seconds | None = None
    first_event: Seconds = 180.0
    idle_event: Seconds = 120.0
    attempts: Count = 4
    backoff: Seconds = 1.0
    longest_backoff: Seconds = 60.0
    stop_grace: Seconds = 0.7
    drop_wait: Seconds = 0.3


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
