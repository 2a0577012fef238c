"""T3: an exception in place of whatever a task of the turn waits for, and raw signals."""

from __future__ import annotations

import pytest
from injectors import EXCEPTIONS, Injector, tried
from scenarios import SCENARIOS, Scenario


@pytest.mark.timeout(600)
@pytest.mark.parametrize("injector", EXCEPTIONS, ids=lambda injector: injector.name)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda scenario: scenario.name)
def test_whatever_is_raised_in_a_turn(scenario: Scenario, injector: Injector) -> None:
    assert tried(scenario, injector) == []
