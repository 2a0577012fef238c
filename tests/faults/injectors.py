"""What happens to a turn from outside, at which points it can, and what may come of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from report import record
from scenario_runner import IDLE_WITHIN, Making, Play, Subject
from scenarios import Scenario

from holdfast.agent.agent import Agent
from holdfast.agent.cancellation import StopSignal
from holdfast.agent.stop_cause import StopCause
from holdfast.agent.turn.turn import Turn
from holdfast.session.journal.entries import Cause
from holdfast.testing.virtual_loop import CLOCK_STEP
from tiers import DEEP, SEED

Point = Any  # a number of a callback, or a time: the injector's own

LONG = 2_000.0
"""Virtual seconds that a turn may go on after something that did not ask it to end: deadlines and retries."""


@dataclass(frozen=True, slots=True)
class Injector:
    """Something that happens to a turn: `points` of an undisturbed run, `strike` to arm one of them.

    `causes` are what the turn may say it ended by, besides its own; `raises` is what may come out of it, `surely` that
    it must; `patience` is how long it may then take to end; `seed` the order of what is ready together.
    """

    name: str
    points: Callable[[Play], Sequence[Point]]
    strike: Callable[[Play, Point], None]
    causes: frozenset[Cause]
    raises: type[BaseException] | None = None
    surely: bool = False
    patience: float = IDLE_WITHIN
    seed: Callable[[Point], int | None] = lambda _: None


def callbacks(play: Play) -> Sequence[Point]:
    """Return the number of every callback."""
    return range(play.callbacks)


def resumptions(play: Play) -> Sequence[Point]:
    """Return the number of every resumption of a task."""
    return range(play.resumptions)


def rounds(play: Play) -> Sequence[Point]:
    """Return every time at which a timer can come."""
    return sorted({round(time, 6) for time in play.rounds})


def _cancel(play: Play) -> None:
    play.task.cancel()


def _stop(play: Play) -> None:
    play.subject.stop()


def _again(first: Callable[[Play], None], then: Callable[[Play], None], distance: int) -> Callable[[Play, Point], None]:
    """Return what does one thing at a callback, and another so many callbacks later."""

    def strike(play: Play, number: Point) -> None:
        play.strike(number, lambda: first(play))
        play.strike(number + distance, lambda: then(play))

    return strike


def _once(action: Callable[[Play], object]) -> Callable[[Play, Point], None]:
    return lambda play, number: play.strike(number, lambda: action(play))


def _around(
    how: Callable[[Coroutine[Any, Any, None], float], Coroutine[Any, Any, None]],
) -> Callable[[Play, Point], None]:
    """Return what puts a bound around the turn that passes at a time."""

    def strike(play: Play, time: Point) -> None:
        play.loop.call_at(time, lambda: play.strikes(timer=True))
        play.around = lambda work: how(work, time)

    return strike


async def _timeout(work: Coroutine[Any, Any, None], time: float) -> None:
    async with asyncio.timeout_at(time):
        await work


async def _wait_for(work: Coroutine[Any, Any, None], time: float) -> None:
    await asyncio.wait_for(work, max(time - asyncio.get_running_loop().time(), CLOCK_STEP))


def _deadline(play: Play, time: Point) -> None:
    play.limits = msgspec.structs.replace(play.limits, timeout=max(time, CLOCK_STEP))
    make = play.making

    def making(play: Play) -> Subject:
        """Return the agent; its deadline strikes when it says so: each turn has its own, and not all time counts."""
        agent = make(play)
        assert isinstance(agent, Agent)
        next_turn = agent._next_turn

        def watched(stop: StopSignal) -> Turn:
            set_ = stop.set

            def struck(cause: StopCause) -> None:
                if cause.cause == "timeout" and stop.cause is None:
                    play.strikes(timer=True)
                set_(cause)

            stop.set = struck
            return next_turn(stop)

        agent._next_turn = watched
        return agent

    play.making = making


def _raise(error: type[BaseException]) -> Callable[[Play, Point], None]:
    def strike(play: Play, number: Point) -> None:
        def action() -> None:
            if not play.task.done():
                play.strikes()
                raise error(f"at {number}")

        play.loop.at(number, action)

    return strike


def _throw(error: type[BaseException]) -> Callable[[Play, Point], None]:
    def strike(play: Play, number: Point) -> None:
        def create_error() -> BaseException:
            play.strikes()
            return error(f"thrown at {number}")

        play.loop.throw_at(number, create_error)

    return strike


def _ordered(play: Play) -> Sequence[Point]:
    return [(seed, number) for seed in range(ORDERS) for number in range(play.callbacks)]


ORDERS = 20
"""How many orders of steps that are ready together are tried."""

USER: frozenset[Cause] = frozenset({"user"})
EXTERNAL: frozenset[Cause] = frozenset({"external"})
FAULTS: frozenset[Cause] = frozenset({"bug", "provider"})


def _twice(distance: int) -> Injector:
    strike = _again(_cancel, _cancel, distance)
    return Injector(f"cancel twice, {distance} apart", callbacks, strike, EXTERNAL, raises=asyncio.CancelledError)


FROM_OUTSIDE = (
    Injector("stop", callbacks, _once(_stop), USER),
    Injector("stop twice", callbacks, _again(_stop, _stop, 3), USER),
    Injector("cancel", callbacks, _once(_cancel), EXTERNAL, raises=asyncio.CancelledError),
    *map(_twice, (1, 2, 3, 5, 8)),
    Injector(
        "stop, then cancel",
        callbacks,
        _again(_stop, _cancel, 3),
        EXTERNAL | USER,
        raises=asyncio.CancelledError,
    ),
    Injector("asyncio.timeout", rounds, _around(_timeout), EXTERNAL, raises=TimeoutError),
    Injector("asyncio.wait_for", rounds, _around(_wait_for), EXTERNAL, raises=TimeoutError),
    Injector("limits.timeout", rounds, _deadline, frozenset({"timeout"})),
    Injector("the session is closed", callbacks, _once(Play.close_session), EXTERNAL),
    Injector("the loop closes", callbacks, _once(Play.close_loop), EXTERNAL, raises=asyncio.CancelledError),
    Injector(
        "stop, in another order",
        _ordered,
        lambda play, point: _once(_stop)(play, point[1]),
        USER,
        seed=lambda point: point[0],
    ),
)

EXCEPTIONS = (
    *(
        Injector(f"{error.__name__} thrown", resumptions, _throw(error), FAULTS, raises=error, patience=LONG)
        for error in (RuntimeError, OSError)
    ),
    Injector(
        "CancelledError thrown",
        resumptions,
        _throw(asyncio.CancelledError),
        FAULTS | EXTERNAL,
        raises=asyncio.CancelledError,
        patience=LONG,
    ),
    *(
        Injector(f"{error.__name__} {how}", points, strike(error), EXTERNAL | USER, raises=error, surely=True)
        for error in (KeyboardInterrupt, SystemExit)
        for how, points, strike in (("thrown", resumptions, _throw), ("between callbacks", callbacks, _raise))
    ),
)


def tried(scenario: Scenario, injector: Injector, *, making: Making | None = None, some: int = 6) -> list[str]:
    """Return what is not as it must be after the injector struck, at every point or at `some` of them."""
    points = chosen_points(scenario, injector, making=making, some=None if DEEP else some)
    complaints: list[str] = []
    slowest = 0.0
    for point in points:
        play = struck(scenario, injector, point, making=making)
        slowest = max(slowest, play.took)
        where = " and ".join(play.struck)
        complaints += [f"point {point}, {where}: {complaint}" for complaint in play.complaints]
    record(
        scenario.name if making is None else f"{scenario.name} ({making.__name__})",
        injector.name,
        points=len(points),
        of=len(injector.points(_usual(scenario, making, watch=injector.points is resumptions))),
        violations=complaints,
        slowest=round(slowest, 3) if injector.patience == IDLE_WITHIN else None,
        known_bad=making is not None,
    )
    return complaints


def struck(scenario: Scenario, injector: Injector, point: Point, *, making: Making | None = None) -> Play:
    """Return the play in which the injector struck at the point."""
    play = Play(scenario, making=making, seed=injector.seed(point), watch=injector.points is resumptions)
    play.patience = injector.patience
    play.run(lambda: injector.strike(play, point))
    play.complaints += _surprises(injector, play, _usual(scenario, making, watch=injector.points is resumptions))
    return play


def chosen_points(
    scenario: Scenario, injector: Injector, *, making: Making | None = None, some: int | None
) -> Sequence[Point]:
    """Return the points at which the injector can strike; of many the first, the last, and `some` in all."""
    points = injector.points(_usual(scenario, making, watch=injector.points is resumptions))
    if some is None or len(points) <= some:
        return points
    choice = random.Random(f"{SEED} {scenario.name} {injector.name}")
    between = sorted(choice.sample(range(1, len(points) - 1), some - 2))
    return [points[0], *(points[index] for index in between), points[-1]]


@cache
def _usual(scenario: Scenario, making: Making | None, *, watch: bool) -> Play:
    """Return the undisturbed run, which is as it must be; what is known to be bad may be found out by it."""
    play = Play(scenario, making=making, watch=watch)
    play.run()
    assert making is not None or play.complaints == []
    return play


def _surprises(injector: Injector, play: Play, usual: Play) -> list[str]:
    """Return what came out of a turn, or was said of its end, that did not come of what happened to it."""
    found: list[str] = []
    raised = play.raised
    if raised is not None and (injector.raises is None or not isinstance(raised, injector.raises)):
        found.append(f"{type(raised).__name__} came out: {raised}")
    if injector.surely and play.struck and raised is None:
        found.append("nothing came out")
    causes = injector.causes | {end.cause for end in usual.ends} | {"crash"}
    found += [f"the turn is said to have ended by {end.cause!r}" for end in play.ends if end.cause not in causes]
    return found
