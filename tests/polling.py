"""Waiting in tests: ask again until it is so, or until a deadline says it never will be."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

HANGS = float(os.environ.get("HOLDFAST_HANGS", "300"))
"""Seconds after which what should come counts as hanging: no measure, but more than the busiest machine needs."""

_PROBE = 0.05  # seconds of work that tell how busy the machine is


def eventually(check: Callable[[], object], seconds: float = HANGS, *, every: float = 0.01) -> None:
    """Return as soon as `check()` is true; fail if it is still not after `seconds`."""
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, f"{check} was not true within {seconds} s"
        time.sleep(every)


def expect_within(seconds: float, since: float) -> None:
    """Fail if more than `seconds` passed since then, on a busy machine as many more as it is slower now."""
    passed = time.monotonic() - since
    assert passed < seconds or passed < seconds * slowness(), f"it took {passed:.1f} s (expected at most {seconds:g} s)"


def slowness() -> float:
    """Return how many times longer work takes now than on a machine that does nothing else."""
    wall, cpu = time.monotonic(), time.thread_time()
    while time.thread_time() - cpu < _PROBE:
        pass
    return max(1.0, (time.monotonic() - wall) / _PROBE)
