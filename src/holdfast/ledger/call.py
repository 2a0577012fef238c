"""One call of a tool between its beginning and its end in a ledger, for `with` and for `async with`.

The beginning is durable before the body runs, the end before the statement returns. Between the two a kill leaves a
beginning without an end, which is what is known then. In an event loop the file is written on a thread: a cancellation
waits until it is known whether the beginning was written, at most as long as the file may be busy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from holdfast.errors import CallRepeated, HoldfastError, StateError
from holdfast.ledger.call_row import CallRecord, CallRow, Look, StoredOutcome

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


class CallRecorder(Protocol):
    """What a call needs of its ledger."""

    def begin(self, row: CallRow, *, is_safe: bool) -> tuple[CallRow, CallRow | None]:
        """Record a beginning. Return it, and the row of an earlier run if it was not begun for that reason."""
        ...

    def restart(self, row: CallRow, found: CallRow, *, happened: bool | None) -> CallRow:
        """Record what a look found of the run `found`, and begin again if it did not happen; return that beginning."""
        ...

    def finish(self, row: CallRow, outcome: StoredOutcome, result: object) -> None:
        """Record the end of a call."""
        ...

    def record_of(self, row: CallRow) -> CallRecord:
        """Return a stored call as it is shown."""
        ...

    def repeated(self, row: CallRow) -> CallRepeated:
        """Return the exception that says what is known of an earlier run, and that it was not run again."""
        ...


class RecordedCall:
    """A call of a ledger, entered once. Give it its `result` in the body, unless `done`: then it ran before.

    If it is `done`, `result` is the result of that run, `outcome` is `ok` or `failed`, and the body must not run it.
    """

    def __init__(self, recorder: CallRecorder, row: CallRow, *, is_safe: bool, look: Look | None) -> None:
        """Describe the call; nothing is recorded before it is entered. Use `Ledger.call`."""
        self._recorder = recorder
        self._row = row
        self._is_safe = is_safe
        self._look = look
        self._entered = False
        self._pid = 0
        self.done = False
        self.record: CallRecord | None = None
        """What is known of the earlier run, if it is `done`."""
        self.result: object = None

    @property
    def id(self) -> str:
        return self._row.id

    @property
    def outcome(self) -> str:
        """Return how the earlier run ended, "" if there was none."""
        return self.record.outcome if self.record is not None else ""

    def __enter__(self) -> Self:
        """Record that the call begins. Raise `CallRepeated` if it must not run, `StorageFailed` if that fails."""
        self._enter()
        if (open_row := self._begin()) is not None:
            self._restart(open_row, happened=_answer_of(self._look))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Record how it ended."""
        if (unrecorded := self._end(error)) is not None:
            raise unrecorded

    async def __aenter__(self) -> Self:
        """Do what `__enter__` does, without blocking the event loop."""
        self._enter()
        if (open_row := await self._begun(self._begin)) is not None:
            found = None
            if self._look is not None:
                found = self._look()
                if found is not None and not isinstance(found, bool):
                    found = await found
            await self._begun(lambda: self._restart(open_row, happened=found))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do what `__exit__` does, without blocking the event loop."""
        task, cancelled = await _run_to_end(lambda: self._end(error))
        unrecorded = task.result()
        if unrecorded is not None:
            raise unrecorded
        if cancelled is not None:
            raise cancelled

    def _enter(self) -> None:
        if self._entered:
            raise StateError(f"Call {self.id!r} was entered already. Make a new one with `ledger.call`.")
        self._entered = True
        self._pid = os.getpid()

    def _begin(self) -> CallRow | None:
        """Record the beginning, or take over the earlier result. Return the row of a run that has no known end."""
        row, found = self._recorder.begin(self._row, is_safe=self._is_safe)
        if found is None:
            self._row = row
            return None
        if found.outcome in ("ok", "failed"):
            self.done = True
            self.record = self._recorder.record_of(found)
            self.result = self.record.result
            return None
        if self._look is None:
            raise self._recorder.repeated(found)
        return found

    def _restart(self, found: CallRow, *, happened: bool | None) -> None:
        """Record what a look found, and begin again if it did not happen. Else raise `CallRepeated`."""
        self._row = self._recorder.restart(self._row, found, happened=happened)

    def _end(self, error: BaseException | None) -> HoldfastError | None:
        """Record the end. Return the exception that says that it is not recorded, unless `error` tells of it."""
        if self.done:
            return None
        if os.getpid() != self._pid:
            return (
                None
                if error is not None
                else StateError(
                    f"The end of call {self.id!r} is not recorded: it was begun in process {self._pid}, of which this "
                    "one is a fork. End it there."
                )
            )
        try:
            self._recorder.finish(self._row, _ending(error), error if error is not None else self.result)
        except HoldfastError as failure:
            if error is None:
                return failure
            error.add_note(f"And the end of call {self.id!r} is not recorded: {failure}")
        return None

    async def _begun(self, begin: Callable[[], T]) -> T:
        task, cancelled = await _run_to_end(begin)
        if cancelled is None:
            return task.result()
        if task.exception() is None and not self.done and self._row.attempt:
            await _run_to_end(lambda: self._recorder.finish(self._row, "not_started", None))
        raise cancelled


def _ending(error: BaseException | None) -> StoredOutcome:
    if error is None:
        return "ok"
    return "failed" if isinstance(error, Exception) else "interrupted"


def _answer_of(look: Look | None) -> bool | None:
    found = None if look is None else look()
    if found is not None and not isinstance(found, bool):
        raise StateError(
            "The look of `settle` is asynchronous. Use `async with`, or pass a function that returns a bool."
        )
    return found


async def _run_to_end(work: Callable[[], T]) -> tuple[asyncio.Task[T], asyncio.CancelledError | None]:
    """Run `work` on a thread until it ends. Return its task, and a cancellation that came in between."""
    import asyncio

    from holdfast.system.threads import in_daemon

    task = asyncio.create_task(in_daemon(work))
    cancelled = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    return task, cancelled
