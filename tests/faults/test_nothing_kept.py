"""After every exit an agent holds nothing of a call: no task, no arguments, no plan; nor does anything else."""

from __future__ import annotations

import gc

import pytest
from injectors import EXCEPTIONS, FROM_OUTSIDE, Injector, chosen_points, struck
from scenarios import SCENARIOS

from holdfast.agent.cancellation import StopSignal
from holdfast.agent.model_request.response_stream import Stream
from holdfast.agent.turn.requests import Requests
from holdfast.agent.turn.tool_runner import Calls
from holdfast.agent.turn.turn import Turn
from holdfast.tools.tool import Plan, ToolContext

OF_A_TURN = (Turn, Calls, Requests, StopSignal, Stream, ToolContext, Plan)


@pytest.mark.parametrize("injector", [*FROM_OUTSIDE, *EXCEPTIONS], ids=lambda injector: injector.name)
def test_nothing_of_a_turn_is_kept(injector: Injector) -> None:
    scenario = SCENARIOS["three parallel tools"]
    gc.freeze()  # what was there before is not looked through
    for point in chosen_points(scenario, injector, some=2):
        play = struck(scenario, injector, point)
        play.raised = None  # its traceback holds the frames of the turn
        del play.task
        gc.collect()
        remaining = [each for each in gc.get_objects() if isinstance(each, OF_A_TURN)]
        assert remaining == [], f"at {' and '.join(play.struck)}"
        assert play.complaints == []
