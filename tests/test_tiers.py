"""A sample of a matrix leaves no value out, is the same each time, and no law keeps out of the deep tier."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

import tiers
from laws import law
from tiers import one_of, sampled, some, spread

ROWS = list(product(("a", "b", "c", "d"), ("w", "x", "y", "z"), range(3)))


def test_of_a_product_every_value_is_picked_as_often_as_any_other() -> None:
    for seed in (1, 2, 3):
        picked = [ROWS[at] for at in spread(ROWS, 12, seed=seed)]
        for column, times in enumerate((3, 3, 4)):
            assert set(Counter(row[column] for row in picked).values()) == {times}


def test_a_seed_picks_the_same_each_time_and_another_seed_others() -> None:
    assert spread(ROWS, 12, seed=1) == spread(ROWS, 12, seed=1) != spread(ROWS, 12, seed=2)


def test_two_seeds_try_both_of_two_and_the_deep_tier_both_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def tried(seed: int, name: str) -> list[str]:
        monkeypatch.setattr("tiers.SEED", seed)
        return [str(value) for case in one_of(("x", "y"), name) for value in case.values]

    names = [f"test_{number}" for number in range(40)]
    assert [sorted([*tried(1, name), *tried(2, name)]) for name in names] == [["x", "y"]] * 40
    assert 10 < sum(tried(1, name) == ["x"] for name in names) < 30
    monkeypatch.setattr("tiers.DEEP", True)
    assert tried(1, "test") == ["x", "y"]


def test_what_is_not_more_than_that_is_tried_whole() -> None:
    assert spread(ROWS, len(ROWS), seed=1) == list(range(len(ROWS)))
    assert spread([], 3, seed=1) == []


def test_the_deep_tier_tries_every_case_and_two_thousand_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiers.TIER", "deep")
    monkeypatch.setattr("laws.TIER", "deep")
    assert [case.values for case in sampled(ROWS, 12)] == ROWS
    assert {mark.name for case in sampled(ROWS, 12) for mark in case.marks} == {"deep"}
    assert (law().max_examples, law(50, shared_by=4).max_examples, law(3_000).max_examples) == (2_000, 500, 3_000)


def test_the_wider_tier_tries_more_than_the_quick_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for tier, many in (("quick", 6), ("wider", 8)):
        monkeypatch.setattr("tiers.TIER", tier)
        assert (len(some(ROWS, 12)), len(sampled(ROWS, 12))) == (many, many)


def test_a_tier_that_is_not_there_is_refused_in_words() -> None:
    with pytest.raises(pytest.UsageError, match="quick, wider, deep"):
        tiers.tier_of("deeper")


def test_no_law_sets_its_own_number_of_examples() -> None:
    found = [
        path.name
        for path in Path(__file__).parent.rglob("*.py")
        if re.search(r"max_examples=\d", path.read_text(encoding="utf-8"))
    ]
    assert found == []
