"""T1: a stop, a cancellation or a deadline before every callback of every turn."""

from __future__ import annotations

from itertools import product

import pytest
from decisions import EVERY
from injectors import FROM_OUTSIDE, Injector, tried
from scenarios import Scenario

from tiers import sampled


@pytest.mark.parametrize(
    ("scenario", "injector"), sampled(product(EVERY.values(), FROM_OUTSIDE), 50), ids=lambda each: each.name
)
def test_whatever_ends_a_turn_from_outside(scenario: Scenario, injector: Injector) -> None:
    assert tried(scenario, injector) == []
