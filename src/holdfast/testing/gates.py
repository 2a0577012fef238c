"""Gates where scripted replies wait until a test, in any thread, releases them."""

from __future__ import annotations

import asyncio
import threading


class Gates:
    """Gates by name; an opened gate stays open. A reply waits on its event loop, a test blocks its thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._reached: set[str] = set()
        self._open: set[str] = set()
        self._waiters: list[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def wait_open(self, name: str) -> None:
        """Wait until the gate is open."""
        waiter = (name, asyncio.get_running_loop(), asyncio.Event())
        with self._changed:
            self._reached.add(name)
            self._changed.notify_all()
            if name in self._open:
                return
            self._waiters.append(waiter)
        try:
            await waiter[2].wait()
        finally:
            with self._changed:
                self._waiters.remove(waiter)

    def release(self, name: str) -> None:
        """Open the gate, for replies that wait now and later."""
        with self._changed:
            self._open.add(name)
            for waiting, loop, event in self._waiters:
                if waiting == name:
                    loop.call_soon_threadsafe(event.set)

    def reached(self, name: str) -> bool:
        """Return whether a reply has reached the gate."""
        with self._changed:
            return name in self._reached

    def wait_for(self, name: str, *, timeout: float) -> None:
        """Block until a reply has reached the gate. Raise `TimeoutError`."""
        with self._changed:
            if not self._changed.wait_for(lambda: name in self._reached, timeout):
                raise TimeoutError(
                    f"No reply reached gate {name!r} within {timeout:g} s (expected one that holds there)."
                )
