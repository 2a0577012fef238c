"""An event loop for tests, on a clock of its own: hours pass at once, a hang is found, anything can happen anywhere.

Two rules. Whatever comes from outside, a key, a timer or a cancellation, comes between two callbacks: those are all the
places there are, and they have numbers. The same work has the same callbacks every time.
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

TICK = 1e-6
"""Seconds that a callback takes, so that a timer can come between any two rounds of them."""

PATIENCE = 5.0
"""Real seconds that a thread may work before it counts as hanging."""

ENDLESS = 1_000_000
"""Callbacks after which work counts as going round in circles."""


class Hang(AssertionError):
    """The work waits for something that will never come; the text says where."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose hours pass at once, and which counts what it does.

    Time passes only while nothing can run. A thread that the work starts is waited for, and delivers in a fixed order;
    while a socket or a pipe is watched, time is real. With `seed`, steps of tasks that are ready together run in
    another order, the same for the same seed. With `watch`, resumptions are counted and `throw_at` may be used: tasks
    are then wrapped, which costs a little.
    """

    def __init__(self, *, seed: int | None = None, watch: bool = False) -> None:
        self._skipping = _Skipping(self)
        super().__init__(self._skipping)
        self._wake_ups = len(self._skipping.get_map())  # what a loop watches to be woken by threads and signals
        self._order = None if seed is None else random.Random(seed)  # noqa: S311 - an order, not a secret
        self._ready: deque[asyncio.Handle] = _Ready(self._before)  # what `asyncio` calls from, in its own words
        self._actions: dict[int, list[Callable[[], object]]] = {}
        self._throws: dict[int, Callable[[], BaseException]] = {}
        self._next: asyncio.Handle | None = None
        self._own_threads = set(threading.enumerate())
        self._delivered: list[tuple[int, asyncio.Handle]] = []
        self.callbacks = 0
        """How many callbacks have run."""
        self.resumptions = 0
        """How many times a suspended task was resumed, if that is watched."""
        self.rounds: list[float] = []
        """When each round of callbacks began: the times at which a timer can come."""
        if watch:
            self.set_task_factory(_watched)

    def time(self) -> float:
        """Return the seconds of its own clock."""
        return self._skipping.now + self.callbacks * TICK

    def at(self, number: int, action: Callable[[], object]) -> None:
        """Call `action` right before callback `number`, counted from 0 over the life of the loop.

        It runs where a signal would: what it raises comes out of the loop.
        """
        self._actions.setdefault(number, []).append(action)

    def throw_at(self, number: int, error: Callable[[], BaseException]) -> None:
        """Raise what `error` gives in the task resumed as number `number`, from 0, in place of what it waits for."""
        self._throws[number] = error

    def where(self) -> str:
        """Return what comes next, for an action: where the task that is about to run is suspended."""
        return "the end" if self._next is None else _place(self._next)

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: object, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """Arrange for `callback` to run; what threads arrange runs in the order in which they were started."""
        if threading.current_thread() in self._own_threads or self.is_closed():
            return super().call_soon_threadsafe(callback, *args, context=context)
        handle = asyncio.Handle(callback, args, self, context)
        self._delivered.append((threading.get_native_id(), handle))  # the system numbers them as they start
        return handle

    def deliver(self) -> bool:
        """Wait for the threads that the work started, and return whether they had anything to say."""
        for thread in threading.enumerate():
            if thread not in self._own_threads:
                thread.join(PATIENCE)
                if thread.is_alive():
                    raise Hang(f"Thread {thread.name!r} still works after {PATIENCE:g} s, an end was expected.")
        delivered, self._delivered = self._delivered, []
        self._ready.extend(handle for _, handle in sorted(delivered, key=lambda each: each[0]))
        return bool(delivered)

    def watches(self) -> bool:
        """Return whether anything real is waited for."""
        return len(self._skipping.get_map()) > self._wake_ups

    def waiting(self) -> str:
        """Return where every task waits."""
        return "; ".join(sorted(f"{task.get_name()} at {suspended_at(task)}" for task in asyncio.all_tasks(self)))

    def resumed(self) -> BaseException | None:
        """Count a resumption, and return what is to be raised in its place."""
        self.resumptions += 1
        error = self._throws.pop(self.resumptions - 1, None)
        return None if error is None else error()

    def _before(self, ready: deque[asyncio.Handle]) -> asyncio.Handle:
        """Return the callback to run now, having done what was to be done before it."""
        handle = ready[0]
        del ready[0]
        if self._order is not None and _task(handle) is not None:
            # Not past a callback: those are called in the order in which they were asked for.
            steps = takewhile(lambda other: _task(other) is not None, ready)
            chosen = self._order.randrange(1 + sum(1 for _ in steps))
            if chosen:
                handle, ready[chosen - 1] = ready[chosen - 1], handle
        if handle.cancelled():
            return handle
        self._next = handle
        number, self.callbacks = self.callbacks, self.callbacks + 1
        if number == ENDLESS:  # once: what is cancelled then may end
            ready.appendleft(handle)
            raise Hang(f"Work goes on after {ENDLESS} callbacks, an end was expected: {self.waiting()}.")
        try:
            for action in self._actions.pop(number, ()):
                action()
        except BaseException:
            ready.appendleft(handle)  # a signal that ends the loop takes nothing from it
            raise
        return handle


def virtually(work: Coroutine[Any, Any, T], *, seed: int | None = None) -> T:
    """Return what `work` gives on a `VirtualLoop`; raises `Hang` if it waits for what never comes."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(seed=seed)) as runner:
        return runner.run(work)


def suspended_at(task: asyncio.Task[Any]) -> str:
    """Return where the task waits, as FILE:LINE:FUNCTION, outside asyncio if it can be."""
    found: FrameType | None = None
    inner: object = task.get_coro()
    while inner is not None:
        match inner:
            case _Watched():
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


class _Skipping(selectors.DefaultSelector):
    """Waits for nothing that is not real: what the loop would have slept is added to its clock instead."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        loop = self._loop
        loop.rounds.append(loop.time())
        said = loop.deliver()
        ready = super().select(0)
        if ready or said or timeout == 0:
            return ready
        if loop.watches():
            began = time.monotonic()
            ready = super().select(timeout)
            self.now += time.monotonic() - began
            return ready
        if timeout is None:
            raise Hang(f"Nothing is ready, due or watched, an end was expected: {loop.waiting()}.")
        self.now += timeout
        return ready


class _Ready(deque[asyncio.Handle]):
    """The callbacks that are ready: whoever takes the first gets the one that `take` chooses."""

    def __init__(self, take: Callable[[deque[asyncio.Handle]], asyncio.Handle]) -> None:
        super().__init__()
        self._take = take

    def popleft(self) -> asyncio.Handle:
        return self._take(self)


class _Watched(Coroutine[object, object, object]):
    """A task's coroutine whose resumptions are counted, and replaced by what is to be thrown."""

    def __init__(self, loop: VirtualLoop, work: Coroutine[Any, Any, Any]) -> None:
        self._loop = loop
        self._started = False
        self.work = work
        self.__qualname__ = work.__qualname__

    def send(self, value: object) -> object:
        if not self._started:
            self._started = True
        elif (error := self._loop.resumed()) is not None:
            return self.work.throw(error)
        return self.work.send(value)

    def throw(self, *error: Any) -> object:  # noqa: ANN401 - a protocol with three forms
        return self.work.throw(*error)

    def close(self) -> None:
        self.work.close()

    def __await__(self) -> NoReturn:
        raise TypeError(f"Coroutine {self.__qualname__!r} belongs to a task, only that was expected to step it.")


def _watched(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:  # noqa: ANN401 - as asyncio has it
    assert isinstance(loop, VirtualLoop)
    return asyncio.Task(_Watched(loop, work), loop=loop, **options)


def _task(handle: asyncio.Handle) -> asyncio.Task[object] | None:
    """Return the task of which the callback is a step."""
    callback: object = handle._callback  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue] # noqa: SLF001 - nothing public says what a handle calls
    owner = getattr(callback, "__self__", None)
    return owner if isinstance(owner, asyncio.Task) else None  # pyright: ignore[reportUnknownVariableType] - of whatever it gives


def _place(handle: asyncio.Handle) -> str:
    task = _task(handle)
    if task is not None:
        return suspended_at(task)
    callback: object = handle._callback  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue] # noqa: SLF001 - nothing public says what a handle calls
    return str(getattr(callback, "__qualname__", callback))
