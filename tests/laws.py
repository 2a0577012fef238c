"""How many examples a law is tried on, in each tier of tests/tiers.py."""

from __future__ import annotations

from hypothesis import settings

from tiers import TIER

LEAST = 12
DEEP = 2_000


def law(examples: int = 100, *, shared_by: int = 1) -> settings:
    """Return the settings of a law that so many tests share: together they try a quarter of so many examples.

    In the wider tier it is half of them, in the deep one two thousand; each test at least twelve.
    """
    many = {"quick": -(-examples // 4), "wider": -(-examples // 2), "deep": max(DEEP, examples)}[TIER]
    return settings(max_examples=max(min(LEAST, many), -(-many // shared_by)))
