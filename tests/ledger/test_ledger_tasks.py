"""In an event loop: the file is written on a thread, a cancellation is an interruption, and nothing is lost between."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import CallRepeated, StateError
from holdfast.ledger import Ledger
from holdfast.ledger.call_file import CallFile
from holdfast.ledger.call_row import CallRow


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "calls.db")


async def run(ledger: Ledger, call: str, value: object, **more: Any) -> object:
    async with ledger.call(call, "tool", **more) as entered:
        if not entered.done:
            entered.result = value
    return entered.result


async def test_a_call_that_has_ended_is_not_run_again(ledger: Ledger) -> None:
    assert await run(ledger, "c1", [1]) == [1]
    assert await run(ledger, "c1", [2]) == [1]


async def test_many_tasks_of_one_call_run_it_once(ledger: Ledger) -> None:
    async def one(number: int) -> object:
        try:
            async with ledger.call("c1", "tool", replay="safe") as call:
                await asyncio.sleep(0.01)
                call.result = call.result if call.done else number
        except CallRepeated:
            return "repeated"
        return call.result

    results = await asyncio.gather(*(one(number) for number in range(20)))
    ran = {each for each in results if each != "repeated"}
    assert len(ran) == 1
    assert ledger.outcomes(["c1"])["c1"].result in ran


async def test_many_calls_at_once_all_have_their_own_result(ledger: Ledger) -> None:
    assert await asyncio.gather(*(run(ledger, f"c{at}", at) for at in range(30))) == list(range(30))
    assert [each.result for each in ledger.outcomes(f"c{at}" for at in range(30)).values()] == list(range(30))


async def test_a_cancellation_is_recorded_as_an_interruption(ledger: Ledger) -> None:
    began = asyncio.Event()

    async def work() -> None:
        async with ledger.call("c1", "tool"):
            began.set()
            await asyncio.sleep(3600)

    task = asyncio.create_task(work())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ledger.outcomes(["c1"])["c1"].outcome == "interrupted"
    with pytest.raises(CallRepeated):
        await run(ledger, "c1", "again")


async def test_an_exception_is_a_failure(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="no"):
        async with ledger.call("c1", "tool"):
            raise ValueError("no")
    assert ledger.outcomes(["c1"])["c1"].text == "ValueError: no"


class _Held(CallFile):
    """A file whose next write waits, on its thread, until the test lets it go."""

    def __init__(self, path: Path, where: str) -> None:
        super().__init__(path)
        self.where = where
        self.came = threading.Event()
        self.free = threading.Event()

    def begin(self, row: CallRow, *, may_replace: Callable[[CallRow], bool]) -> CallRow | None:
        self._hold("begin")
        return super().begin(row, may_replace=may_replace)

    def finish(self, row: CallRow) -> bool:
        self._hold("finish")
        return super().finish(row)

    def _hold(self, where: str) -> None:
        if where == self.where:
            self.where = ""
            self.came.set()
            assert self.free.wait(300)


@pytest.mark.parametrize(("where", "outcome", "ran"), [("begin", "not_started", False), ("finish", "ok", True)])
async def test_a_cancellation_while_the_file_is_written_waits_for_it(
    tmp_path: Path, where: str, outcome: str, *, ran: bool
) -> None:
    held = _Held(tmp_path / "calls.db", where)
    ledger = Ledger(held)
    effects: list[int] = []

    async def work() -> None:
        async with ledger.call("c1", "tool") as call:
            effects.append(1)
            call.result = "done"

    task = asyncio.create_task(work())
    await asyncio.to_thread(held.came.wait)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()  # and once more
    await asyncio.sleep(0)
    assert not task.done()
    held.free.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bool(effects) is ran
    assert ledger.outcomes(["c1"])["c1"].outcome == outcome
    assert await run(ledger, "c1", "again") == ("done" if ran else "again")


async def test_the_loop_goes_on_while_the_file_is_written(tmp_path: Path) -> None:
    held = _Held(tmp_path / "calls.db", "begin")
    task = asyncio.create_task(run(Ledger(held), "c1", "done"))
    await asyncio.to_thread(held.came.wait)
    await asyncio.sleep(0.01)  # the loop runs
    assert not task.done()
    held.free.set()
    assert await task == "done"


@pytest.mark.parametrize("found", [False, True, None])
async def test_an_asynchronous_look_decides(ledger: Ledger, *, found: bool | None) -> None:
    with pytest.raises(KeyboardInterrupt), ledger.call("c1", "tool"):
        raise KeyboardInterrupt

    async def look() -> bool | None:
        await asyncio.sleep(0)
        return found

    if found is False:
        assert await run(ledger, "c1", "again", settle=look) == "again"
    else:
        with pytest.raises(CallRepeated):
            await run(ledger, "c1", "again", settle=look)


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_an_asynchronous_look_outside_a_loop_is_refused(ledger: Ledger) -> None:
    with pytest.raises(KeyboardInterrupt), ledger.call("c1", "tool"):
        raise KeyboardInterrupt

    async def look() -> bool:
        return False

    with pytest.raises(StateError, match="Use `async with`"), ledger.call("c1", "tool", settle=look):
        pytest.fail("it ran")


async def test_a_decorated_coroutine_runs_once_for_an_id(ledger: Ledger) -> None:
    ran: list[int] = []

    @ledger.recorded()
    async def add(number: int) -> int:
        ran.append(number)
        return number + 1

    assert await add("c1", 1) == 2
    assert await add("c1", number=1) == 2
    assert ran == [1]
