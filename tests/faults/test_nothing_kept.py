"""After every exit a driver holds nothing of a call: no task, no arguments, no plan; nor does anything else."""

from __future__ import annotations

import gc

import pytest
from injectors import EXCEPTIONS, FROM_OUTSIDE, Injector, chosen_points, struck
from scenarios import SCENARIOS, Scenario

from holdfast.agent.calls import Calls
from holdfast.agent.request import Requests
from holdfast.agent.stop import Stop
from holdfast.agent.stream import Stream
from holdfast.tools.tool import Context, Plan

OF_A_TURN = (Calls, Requests, Stop, Stream, Context, Plan)


@pytest.mark.parametrize("injector", [*FROM_OUTSIDE, *EXCEPTIONS], ids=lambda injector: injector.name)
def test_nothing_of_a_turn_is_kept(injector: Injector) -> None:
    scenario = SCENARIOS["three parallel tools"]
    gc.freeze()  # what was there before is not looked through
    try:
        _look(scenario, injector)
    finally:
        gc.unfreeze()


def _look(scenario: Scenario, injector: Injector) -> None:
    for point in chosen_points(scenario, injector, some=2):
        play = struck(scenario, injector, point)
        play.raised = None  # its traceback holds the frames of the turn
        del play.task
        gc.collect()
        kept = [each for each in gc.get_objects() if isinstance(each, OF_A_TURN)]
        assert kept == [], f"at {' and '.join(play.struck)}"
        assert play.complaints == []
