"""Delays Ctrl+C while a process starts: an exception before its pid is known would leave it running."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def delayed_interrupts() -> Generator[None]:
    """Run the block to its end, then raise `KeyboardInterrupt` if one of `INTERRUPTS` came. Main thread only."""
    received: list[int] = []
    handlers = {number: signal.signal(number, lambda number, _: received.append(number)) for number in INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if received:
        raise KeyboardInterrupt
