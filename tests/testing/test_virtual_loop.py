"""The event loop of the tests: its clock, its hangs, what can happen in it, and that it is the same every time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from holdfast.system.threads import in_daemon
from holdfast.testing.virtual_loop import Hang, VirtualLoop, run_virtual
from polling import expect_within


def run(loop: VirtualLoop, work: Callable[[], object]) -> object:
    try:
        return loop.run_until_complete(work())  # pyright: ignore[reportArgumentType, reportUnknownVariableType] - a coroutine
    finally:
        loop.close()


def test_hours_pass_at_once_and_in_order() -> None:
    async def work() -> list[float]:
        loop = asyncio.get_running_loop()
        seen: list[float] = []
        loop.call_later(7200, lambda: seen.append(loop.time()))
        await asyncio.sleep(3600)
        seen.append(loop.time())
        await asyncio.sleep(3601)
        return seen

    started = time.monotonic()
    assert run_virtual(work()) == pytest.approx([3600, 7200])
    expect_within(10, started)


def test_a_hang_is_found_and_says_where() -> None:
    async def waits_for_ever() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Hang, match=r"test_virtual_loop.py:\d+:waits_for_ever"):
        run_virtual(waits_for_ever())


def test_going_round_in_circles_is_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.testing.virtual_loop.ENDLESS", 1000)

    async def circles() -> None:
        while True:  # noqa: ASYNC110 - that is the fault
            await asyncio.sleep(0)

    with pytest.raises(Hang, match="did not end within 1000 callbacks"):
        run_virtual(circles())


async def steps() -> int:
    done = 0
    for _ in range(5):
        await asyncio.sleep(1)
        done += 1
    return done


def test_something_can_happen_before_every_callback() -> None:
    undisturbed = VirtualLoop()
    assert run(undisturbed, steps) == 5
    places: set[str] = set()
    for number in range(undisturbed.callbacks):
        loop = VirtualLoop()
        task = loop.create_task(steps())
        loop.at(number, lambda loop=loop: places.add(loop.where()))
        loop.at(number, task.cancel)
        try:
            assert loop.run_until_complete(task) == 5
            assert number == undisturbed.callbacks - 1  # only the last comes too late
        except asyncio.CancelledError:
            assert task.cancelled()
        finally:
            loop.close()
    assert any(place.startswith("testing/test_virtual_loop.py:") and place.endswith(":steps") for place in places)


def test_what_an_action_raises_comes_out_of_the_loop_and_loses_nothing() -> None:
    def raises() -> None:
        raise KeyboardInterrupt

    loop = VirtualLoop()
    task = loop.create_task(steps())
    loop.at(3, raises)
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(task)
    assert loop.run_until_complete(task) == 5
    loop.close()


def test_an_exception_takes_the_place_of_what_a_task_waits_for() -> None:
    async def work() -> list[str]:
        events: list[str] = []
        for _ in range(3):
            try:
                await asyncio.sleep(1)
                events.append("slept")
            except OSError as error:
                events.append(str(error))
        return events

    for number, expected in enumerate((["at 0", "slept", "slept"], ["slept", "at 1", "slept"])):
        loop = VirtualLoop(watch=True)
        loop.throw_at(number, lambda number=number: OSError(f"at {number}"))
        assert run(loop, work) == expected
        assert loop.resumptions == 3


def test_threads_are_waited_for_and_deliver_in_the_order_they_began() -> None:
    async def work() -> tuple[list[int], float]:
        order: list[int] = []

        async def one(number: int) -> None:
            await in_daemon(lambda: time.sleep(0.02 * (3 - number)))
            order.append(number)

        await asyncio.gather(*(one(number) for number in range(4)))
        return order, asyncio.get_running_loop().time()

    order, took = run_virtual(work())
    assert order == [0, 1, 2, 3]
    assert took < 0.01  # a thread takes no time


def test_a_thread_that_never_ends_is_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.testing.virtual_loop._PATIENCE", 0.05)
    release = threading.Event()
    with pytest.raises(Hang, match="did not end within"):
        run_virtual(in_daemon(release.wait))
    release.set()


def test_time_is_real_while_a_pipe_is_watched() -> None:
    async def work() -> float:
        process = await asyncio.create_subprocess_exec("sleep", "0.05")
        await process.wait()
        return asyncio.get_running_loop().time()

    assert run_virtual(work()) < 60


def test_an_order_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    async def work() -> str:
        order: list[str] = []

        async def one(name: str) -> None:
            await asyncio.sleep(1)
            order.append(name)

        await asyncio.gather(*map(one, "abcd"))
        return "".join(order)

    orders = {seed: run_virtual(work(), seed=seed) for seed in range(20)}
    assert orders == {seed: run_virtual(work(), seed=seed) for seed in range(20)}
    assert len(set(orders.values())) > 3
    assert run_virtual(work()) == "abcd"
