"""How much a run tries: what fits into five minutes (quick), more of it with other draws (wider), or all (deep).

HOLDFAST_TIER names the tier, quick without it. What tries more in a deeper tier has the marker `deep`: every law, every
test of faults, and each case that `sampled` picks from a matrix. `pytest -m deep` runs those alone.

Every tier tries the same each time it runs, so that red means changed code; HOLDFAST_SEED draws others, and is printed.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar, get_args
from zlib import crc32

import pytest
from _pytest.mark import ParameterSet

Tier = Literal["quick", "wider", "deep"]


def tier_of(name: str) -> Tier:
    """Return the tier of that name."""
    for tier in get_args(Tier):
        if name == tier:
            return tier
    raise pytest.UsageError(f"Unknown HOLDFAST_TIER {name!r} (expected one of {', '.join(get_args(Tier))}).")


TIER: Tier = tier_of(os.environ.get("HOLDFAST_TIER", "quick"))
DEEP = TIER == "deep"
USUAL_SEED = 1
SEED = int(os.environ.get("HOLDFAST_SEED", str(USUAL_SEED)))
"""What is drawn with, wherever some is chosen of many: the same seed, the same choice."""


Row = TypeVar("Row", bound=tuple[object, ...])


def sampled(cases: Iterable[object], most: int) -> list[ParameterSet]:
    """Return the cases of a matrix as parameters with the marker `deep`: all in the deep tier, else `some` of them.

    Of a product every value of every column is picked about as often as each other of its column.
    """
    every: list[tuple[Any, ...]] = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*case, marks=pytest.mark.deep) for case in some(every, most)]


def some(cases: Sequence[Row], most: int) -> list[Row]:
    """Return all cases in the deep tier, at most two thirds of so many in the wider one, half in the quick one."""
    many = {"quick": -(-most // 2), "wider": -(-most * 2 // 3), "deep": len(cases)}[TIER]
    return [cases[at] for at in spread(cases, many, seed=SEED)]


_CANDIDATES = 64
"""Among how many of what is left the next is chosen: enough for any matrix here, and a hundredth of the time."""


def one_of(cases: Sequence[object], name: str) -> list[ParameterSet]:
    """Return all cases in the deep tier, else one: which, the test's name and the seed say. All have the marker `deep`.

    With the seed that follows the next case comes: of two cases, two seeds try both.
    """
    picked = cases if DEEP else [cases[(crc32(name.encode()) + SEED) % len(cases)]]
    return [pytest.param(case, marks=pytest.mark.deep) for case in picked]


def spread(rows: Sequence[tuple[object, ...]], most: int, *, seed: int) -> list[int]:
    """Return the places of at most so many rows, in order: those whose values were picked least come next."""
    left = random.Random(seed).sample(range(len(rows)), len(rows))
    seen: Counter[tuple[int, int]] = Counter()
    picked: list[int] = []
    while left and len(picked) < most:
        at = min(
            left[:_CANDIDATES], key=lambda at: sum(seen[column, id(value)] for column, value in enumerate(rows[at]))
        )
        left.remove(at)
        picked.append(at)
        seen.update((column, id(value)) for column, value in enumerate(rows[at]))
    return sorted(picked)
