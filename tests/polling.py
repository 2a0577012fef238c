"""Waiting in tests: ask again until it is so, or until a deadline says it never will be."""

from __future__ import annotations

import time
from collections.abc import Callable


def eventually(check: Callable[[], object], seconds: float = 10.0, *, every: float = 0.01) -> None:
    """Return as soon as `check()` is true; fail if it is still not after `seconds`."""
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, f"{check} was not true within {seconds} s"
        time.sleep(every)
