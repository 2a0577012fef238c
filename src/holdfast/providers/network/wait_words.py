"""Says how long to wait, as a length and as a time: "in 5 h, at 17:32". Reads what providers say of it: "in 1m30s"."""

from __future__ import annotations

import re
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


_LENGTH = re.compile(r"(?:(\d{1,4})h)?(?:(\d{1,5})m(?!s))?(?:(\d{1,9}(?:\.\d{1,9})?)(m?s))?")
_STATED = re.compile(
    r"(?:try again|retry|reset(?:s)?) (?:in|after) (\d[\d.hms]{0,20})(?= |\.?$|\. |,|\))", re.IGNORECASE
)


def read_wait(text: str) -> float | None:
    """Return the seconds of a length such as "1m30s", "12s" or "250ms", None if it is none."""
    found = _LENGTH.fullmatch(text)
    if found is None or not text:
        return None
    hours, minutes, seconds, unit = found.groups()
    return int(hours or 0) * _HOUR + int(minutes or 0) * _MINUTE + float(seconds or 0) / (1000 if unit == "ms" else 1)


def stated_wait(sentence: str) -> float | None:
    """Return the seconds after which an explanation says to try again, None if it does not."""
    found = _STATED.search(sentence)
    return None if found is None else read_wait(found[1].rstrip("."))
