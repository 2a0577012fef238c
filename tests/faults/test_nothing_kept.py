"""After every exit an agent holds nothing of a call: no task, no arguments, no plan; nor does anything else."""

from __future__ import annotations

import gc
import re

import pytest
from injectors import EXCEPTIONS, FROM_OUTSIDE, Injector, chosen_points, struck
from scenario_runner import Play
from scenarios import SCENARIOS

from holdfast.agent.cancellation import StopSignal
from holdfast.agent.model_request.response_stream import Stream
from holdfast.agent.turn.requests import Requests
from holdfast.agent.turn.tool_runner import Calls
from holdfast.agent.turn.turn import Turn
from holdfast.tools.tool import Plan, ToolContext

OF_A_TURN = (Turn, Calls, Requests, StopSignal, Stream, ToolContext, Plan)


def test_while_a_turn_runs_all_of_it_is_found() -> None:
    """Look as the test below does, in the middle of the turn: it finds one of each."""
    found: set[str] = set()

    def look() -> None:
        found.update(type(each).__name__ for each in gc.get_objects() if isinstance(each, OF_A_TURN))

    gc.freeze()
    usual = Play(SCENARIOS["three parallel tools"])
    usual.run()
    play = Play(SCENARIOS["three parallel tools"])

    def arm() -> None:
        for number in range(0, usual.callbacks, 5):
            play.loop.at(number, look)

    play.run(arm)
    assert found == {each.__name__ for each in OF_A_TURN}


OF_THE_LOOP = re.compile(r"Task exception was never retrieved: (?:SystemExit|KeyboardInterrupt)\b")
"""asyncio keeps these two in their task and raises them out of the loop, so that none is left to ask the task."""


@pytest.mark.parametrize("injector", [*FROM_OUTSIDE, *EXCEPTIONS], ids=lambda injector: injector.name)
def test_nothing_of_a_turn_is_kept(injector: Injector) -> None:
    scenario = SCENARIOS["three parallel tools"]
    gc.freeze()  # what was there before is not looked through
    struck_at: list[str] = []
    for point in chosen_points(scenario, injector, some=4):
        play = struck(scenario, injector, point)
        play.raised = None  # its traceback holds the frames of the turn
        del play.task
        gc.collect()
        remaining = [each for each in gc.get_objects() if isinstance(each, OF_A_TURN)]
        assert remaining == [], f"at {' and '.join(play.struck)}"
        complaints = [each for each in play.complaints if not OF_THE_LOOP.search(each)]
        assert complaints == []
        struck_at += play.struck
    assert len(struck_at) >= 2, "its first point and its last may lie outside the turn"
