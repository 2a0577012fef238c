"""Ctrl+C held back while a process starts: an exception before its pid is known would leave it running."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupts_held_back() -> Generator[None]:
    """Run the block to its end; if one of `INTERRUPTS` came, raise `KeyboardInterrupt` behind it. Main thread only."""
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt
