"""T1: a stop, a cancellation or a deadline before every callback of every turn."""

from __future__ import annotations

import pytest
from injectors import FROM_OUTSIDE, Injector, tried
from scenarios import SCENARIOS, Scenario


@pytest.mark.timeout(600)
@pytest.mark.parametrize("injector", FROM_OUTSIDE, ids=lambda injector: injector.name)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda scenario: scenario.name)
def test_whatever_ends_a_turn_from_outside(scenario: Scenario, injector: Injector) -> None:
    assert tried(scenario, injector) == []
