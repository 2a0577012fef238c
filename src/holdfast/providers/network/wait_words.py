"""Says how long to wait, as a length and as a time: "in 5 h, at 17:32"."""

from __future__ import annotations

from datetime import datetime, timedelta

LONG_WAIT = 60.0
"""Seconds from which on a wait is said as a time. A shorter one is over before it is read."""

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_LONGEST = 366 * _DAY


def wait_words(seconds: float, *, now: datetime | None = None) -> str:
    """Return when a wait that begins `now` (default: at this moment, in local time) ends."""
    seconds = min(seconds, _LONGEST)
    now = now or datetime.now().astimezone()
    end = now + timedelta(seconds=seconds)
    if seconds < _HOUR:
        length = f"{round(seconds / _MINUTE)} min"
    elif seconds < 2 * _DAY:
        hours, minutes = divmod(round(seconds / _MINUTE), _MINUTE)
        length = f"{hours} h {minutes} min" if minutes else f"{hours} h"
    else:
        length = f"{round(seconds / _DAY)} days"
    day = "" if end.date() == now.date() else f"{end:%Y-%m-%d} "
    return f"in {length}, at {day}{end:%H:%M}"
