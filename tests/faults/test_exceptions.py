"""T3: an exception in place of whatever a task of the turn waits for, and raw signals."""

from __future__ import annotations

from itertools import product

import pytest
from decisions import EVERY
from injectors import EXCEPTIONS, Injector, tried
from scenarios import Scenario

from tiers import sampled


@pytest.mark.parametrize(
    ("scenario", "injector"), sampled(product(EVERY.values(), EXCEPTIONS), 32), ids=lambda each: each.name
)
def test_whatever_is_raised_in_a_turn(scenario: Scenario, injector: Injector) -> None:
    assert tried(scenario, injector) == []
