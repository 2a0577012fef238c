"""An event loop for tests with a virtual clock: it skips waiting, detects hangs and injects failures anywhere.

Anything from outside (a key, a timer, a cancellation) happens between two callbacks; these places are numbered. The
same work runs the same callbacks every time.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import random
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from itertools import takewhile
from pathlib import Path
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")

CLOCK_STEP = 1e-6
"""Virtual seconds per callback, so that a timer can fire between any two rounds of callbacks."""

_PATIENCE = 5.0
"""Real seconds that a thread may work before it counts as hanging."""

ENDLESS = 1_000_000
"""Number of callbacks after which the work counts as an endless loop."""


class Hang(AssertionError):
    """The work waits for something that never happens; the message says where."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that skips waiting and counts its callbacks.

    Time passes only while nothing can run. The loop waits for threads that the work starts, and delivers their results
    in a fixed order; while a socket or a pipe is watched, time is real. With `seed`, tasks that are ready together run
    in another order, the same for the same seed. With `watch`, resumptions are counted and `throw_at` works; tasks are
    then wrapped, which makes them a little slower.
    """

    def __init__(self, *, seed: int | None = None, watch: bool = False) -> None:
        self._virtual_selector = _SkippingSelector(self)
        super().__init__(self._virtual_selector)
        self._wake_ups = len(self._virtual_selector.get_map())  # the loop's own descriptors, for threads and signals
        self._order = None if seed is None else random.Random(seed)  # noqa: S311 - an order, not a secret
        self._ready: deque[asyncio.Handle] = _ReadyQueue(self._next_callback)  # asyncio's own attribute
        self._actions: dict[int, list[Callable[[], object]]] = {}
        self._throws: dict[int, Callable[[], BaseException]] = {}
        self._next: asyncio.Handle | None = None
        self._own_threads = set(threading.enumerate())
        self._thread_callbacks: list[tuple[int, asyncio.Handle]] = []
        self.callbacks = 0
        """How many callbacks have run."""
        self.resumptions = 0
        """How many times a suspended task was resumed, with `watch`."""
        self.rounds: list[float] = []
        """When each round of callbacks began: the times at which a timer can fire."""
        if watch:
            self.set_task_factory(_create_watched_task)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._virtual_selector.now + self.callbacks * CLOCK_STEP

    def at(self, number: int, action: Callable[[], object]) -> None:
        """Call `action` right before callback `number`, counted from 0 over the life of the loop.

        It runs where a signal handler would run: its exceptions leave the loop.
        """
        self._actions.setdefault(number, []).append(action)

    def throw_at(self, number: int, error: Callable[[], BaseException]) -> None:
        """Raise `error()` in the task at resumption `number`, counted from 0, in place of the awaited result."""
        self._throws[number] = error

    def where(self) -> str:
        """Return where the task that runs next is suspended; for use in an action."""
        return "the end" if self._next is None else _place(self._next)

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: object, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """Schedule `callback`. Callbacks from threads run in the order in which the threads were started."""
        if threading.current_thread() in self._own_threads or self.is_closed():
            return super().call_soon_threadsafe(callback, *args, context=context)
        handle = asyncio.Handle(callback, args, self, context)
        self._thread_callbacks.append((threading.get_native_id(), handle))  # the system numbers threads as they start
        return handle

    def deliver(self) -> bool:
        """Wait for the threads that the work started. Return whether they scheduled anything."""
        for thread in threading.enumerate():
            if thread not in self._own_threads:
                thread.join(_PATIENCE)
                if thread.is_alive():
                    raise Hang(f"Thread {thread.name!r} did not end within {_PATIENCE:g} s.")
        callbacks, self._thread_callbacks = self._thread_callbacks, []
        self._ready.extend(handle for _, handle in sorted(callbacks, key=lambda each: each[0]))
        return bool(callbacks)

    def watches(self) -> bool:
        """Return whether a socket, pipe or process is watched."""
        return len(self._virtual_selector.get_map()) > self._wake_ups

    def waiting(self) -> str:
        """Return where every task waits."""
        return "; ".join(sorted(f"{task.get_name()} at {suspended_at(task)}" for task in asyncio.all_tasks(self)))

    def count_resumption(self) -> BaseException | None:
        """Count a resumption. Return the exception to raise in its place, if any."""
        self.resumptions += 1
        error = self._throws.pop(self.resumptions - 1, None)
        return None if error is None else error()

    def _next_callback(self, ready: deque[asyncio.Handle]) -> asyncio.Handle:
        """Return the callback to run now, after the actions planned before it."""
        handle = ready[0]
        del ready[0]
        if self._order is not None and _task(handle) is not None:
            # Not past a callback: callbacks run in the order in which they were scheduled.
            steps = takewhile(lambda other: _task(other) is not None, ready)
            chosen = self._order.randrange(1 + sum(1 for _ in steps))
            if chosen:
                handle, ready[chosen - 1] = ready[chosen - 1], handle
        if handle.cancelled():
            return handle
        self._next = handle
        number, self.callbacks = self.callbacks, self.callbacks + 1
        if number == ENDLESS:  # once only, so that cancelled work can end
            ready.appendleft(handle)
            raise Hang(f"Work did not end within {ENDLESS} callbacks: {self.waiting()}.")
        try:
            for action in self._actions.pop(number, ()):
                action()
        except BaseException:
            ready.appendleft(handle)  # a signal that ends the loop must not lose the callback
            raise
        return handle


def run_virtual(work: Coroutine[Any, Any, T], *, seed: int | None = None) -> T:
    """Run `work` on a `VirtualLoop` and return its result. Raise `Hang` if it waits for something that never comes."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(seed=seed)) as runner:
        return runner.run(work)


def suspended_at(task: asyncio.Task[Any]) -> str:
    """Return where the task waits, as FILE:LINE:FUNCTION, outside asyncio if possible."""
    found: FrameType | None = None
    inner: object = task.get_coro()
    while inner is not None:
        match inner:
            case _WatchedCoroutine():
                frame, inner = None, inner.work
            case CoroutineType():
                frame, inner = inner.cr_frame, inner.cr_await
            case GeneratorType():
                frame, inner = inner.gi_frame, inner.gi_yieldfrom  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - it may wait for anything
            case AsyncGeneratorType():
                frame, inner = inner.ag_frame, inner.ag_await
            case _:
                break
        if frame is not None and (found is None or not frame.f_code.co_filename.startswith(_ASYNCIO)):
            found = frame
    if found is None:
        return "its end"
    return f"{'/'.join(Path(found.f_code.co_filename).parts[-2:])}:{found.f_lineno}:{found.f_code.co_name}"


_ASYNCIO = os.path.dirname(asyncio.__file__)  # noqa: PTH120 - as code objects have it


class _SkippingSelector(selectors.DefaultSelector):
    """A selector that does not sleep: it advances the loop's clock instead."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        loop = self._loop
        loop.rounds.append(loop.time())
        delivered = loop.deliver()
        ready = super().select(0)
        if ready or delivered or timeout == 0:
            return ready
        if loop.watches():
            began = time.monotonic()
            ready = super().select(timeout)
            self.now += time.monotonic() - began
            return ready
        if timeout is None:
            raise Hang(f"Work never ends: nothing is ready, due or watched: {loop.waiting()}.")
        self.now += timeout
        return ready


class _ReadyQueue(deque[asyncio.Handle]):
    """The queue of ready callbacks; taking the first returns the one that `take` chooses."""

    def __init__(self, take: Callable[[deque[asyncio.Handle]], asyncio.Handle]) -> None:
        super().__init__()
        self._take = take

    def popleft(self) -> asyncio.Handle:
        return self._take(self)


class _WatchedCoroutine(Coroutine[object, object, object]):
    """A task's coroutine whose resumptions are counted, and can raise an injected exception."""

    def __init__(self, loop: VirtualLoop, work: Coroutine[Any, Any, Any]) -> None:
        self._loop = loop
        self._started = False
        self.work = work
        self.__qualname__ = work.__qualname__

    def send(self, value: object) -> object:
        if not self._started:
            self._started = True
        elif (error := self._loop.count_resumption()) is not None:
            return self.work.throw(error)
        return self.work.send(value)

    def throw(self, *error: Any) -> object:  # noqa: ANN401 - a protocol with three forms
        return self.work.throw(*error)

    def close(self) -> None:
        self.work.close()

    def __await__(self) -> NoReturn:
        raise TypeError(f"Coroutine {self.__qualname__!r} belongs to a task: only that task may step it.")


def _create_watched_task(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:  # noqa: ANN401 - as asyncio has it
    assert isinstance(loop, VirtualLoop)
    return asyncio.Task(_WatchedCoroutine(loop, work), loop=loop, **options)


def _task(handle: asyncio.Handle) -> asyncio.Task[object] | None:
    """Return the task that the callback steps."""
    callback: object = handle._callback  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue] # noqa: SLF001 - nothing public says what a handle calls
    owner = getattr(callback, "__self__", None)
    return owner if isinstance(owner, asyncio.Task) else None  # pyright: ignore[reportUnknownVariableType] - of whatever it gives


def _place(handle: asyncio.Handle) -> str:
    task = _task(handle)
    if task is not None:
        return suspended_at(task)
    callback: object = handle._callback  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue] # noqa: SLF001 - nothing public says what a handle calls
    return str(getattr(callback, "__qualname__", callback))
