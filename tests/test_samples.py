"""What a tier leaves out is the same each time, another one runs it, and what is asked for by name runs whole."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Hashable, Sequence
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from dear_tests import PART, dear, dearest, took
from samples import MOST, SHARE, WIDER, drawn
from tiers import Tier
from written_tests import written_tests

HERE = Path(__file__).parent
PROVIDERS = tuple(f"provider {number}" for number in range(13))
MATRIX = list(product(PROVIDERS, ("json", "sse"), range(8)))
NAMES = [f"test_a.py::test_some[{'-'.join(map(str, row))}]" for row in MATRIX]
SEEDS = range(1, 8)
TIERS: tuple[Tier, ...] = get_args(Tier)


def kept(cases: Sequence[str], values: Sequence[Sequence[Hashable]], *, dear: bool, seed: int) -> set[int]:
    return drawn(cases, values, dear=dear, tier="quick", seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_of_many_cases_stay_the_ends_and_every_value_that_some_share(seed: int) -> None:
    places = kept(NAMES, MATRIX, dear=False, seed=seed)
    assert len(places) == MOST
    assert {0, len(MATRIX) - 1} <= places
    for column in range(3):
        assert {MATRIX[at][column] for at in places} == {row[column] for row in MATRIX}


def test_more_shared_values_than_cases_that_fit_are_all_kept() -> None:
    rows = [(number // 2, number) for number in range(10 * MOST)]
    places = kept([f"test_a.py::test_some[{at}]" for at in range(len(rows))], rows, dear=False, seed=1)
    assert {rows[at][0] for at in places} == {row[0] for row in rows}
    assert len(places) <= 5 * MOST + 2


def test_few_cases_are_all_kept_and_of_values_that_no_two_share_as_many_as_fit() -> None:
    assert kept(NAMES[:MOST], MATRIX[:MOST], dear=False, seed=1) == set(range(MOST))
    alone = [(number,) for number in range(100)]
    assert len(kept(NAMES[:100], alone, dear=False, seed=1)) == MOST
    assert kept(["test_a.py::test_one"], [()], dear=False, seed=1) == {0}


@pytest.mark.parametrize("dear", [False, True])
def test_a_seed_keeps_the_same_each_time_and_another_seed_others(*, dear: bool) -> None:
    first = kept(NAMES, MATRIX, dear=dear, seed=1)
    assert kept(NAMES, MATRIX, dear=dear, seed=1) == first != kept(NAMES, MATRIX, dear=dear, seed=2)


def test_of_dear_functions_a_share_runs_and_each_runs_with_one_of_the_seeds_that_follow() -> None:
    functions = [f"test_a.py::test_{number}" for number in range(300)]
    often = [{each for each in functions if kept([each], [()], dear=True, seed=seed)} for seed in range(SHARE)]
    assert set().union(*often) == set(functions)
    assert sum(len(each) for each in often) == len(functions)
    assert min(len(each) for each in often) > len(functions) / SHARE / 2
    assert len(kept(NAMES, MATRIX, dear=True, seed=1)) in {len(NAMES) // SHARE, len(NAMES) // SHARE + 1}


@pytest.mark.parametrize("many", [1, 2, 3, SHARE, 17, 200])
def test_the_wider_tier_goes_on_where_the_quick_one_ended_and_the_deep_one_has_all(many: int) -> None:
    found = {True: 0, False: 0}
    for seed in range(SHARE):
        for is_dear in found:
            tiers = {tier: drawn(NAMES[:many], MATRIX[:many], dear=is_dear, tier=tier, seed=seed) for tier in TIERS}
            assert tiers["quick"] & tiers["wider"] == set()
            assert tiers["quick"] | tiers["wider"] <= tiers["deep"] == set(range(many))
            found[is_dear] += len(tiers["quick"] | tiers["wider"])
    assert found == {True: many * (1 + WIDER), False: many * SHARE}


def test_the_dear_are_the_fewest_that_take_that_part_the_dearest_first() -> None:
    took = {"a": 1.0, "b": 6.0, "c": 2.0, "d": 1.0}
    assert list(dearest(took, 0.6)) == ["b"]
    assert list(dearest(took, 0.8)) == ["b", "c"]
    assert list(dearest(took, 1.0)) == ["b", "c", "a", "d"]
    assert list(dearest({}, PART)) == []


def test_what_functions_took_is_read_from_a_report_of_pytest(tmp_path: Path) -> None:
    report = tmp_path / "times.xml"
    pytest_in(tmp_path, f"--junitxml={report}", tier="deep")
    assert set(took(report)) == {f"test_some.py::test_{name}" for name in ("matrix", "whole", "dear", "cheap")}


def test_the_list_names_tests_that_are_there() -> None:
    gone = dear() - written_tests()
    assert len(gone) <= len(dear()) / 10, f"Too old: write tests/dear.txt again (tests/dear_tests.py). Gone: {gone}"
    assert not any("[" in each for each in dear())


TREE = f"""
import pytest

@pytest.mark.parametrize("number", range({MOST + 10}))
def test_matrix(number):
    assert number >= 0

@pytest.mark.whole
@pytest.mark.parametrize("number", range({MOST + 10}))
def test_whole(number):
    assert number >= 0

@pytest.mark.parametrize("number", range({2 * SHARE}))
def test_dear(number):
    assert number >= 0

def test_cheap():
    assert MOST

MOST = {MOST}
"""
CONFTEST = """
from pathlib import Path
import dear_tests
from samples import leave_out, summary

dear_tests.LIST = Path(__file__).with_name("dear.txt")

def pytest_collection_modifyitems(config, items):
    leave_out(config, items)

def pytest_terminal_summary(terminalreporter, config):
    terminalreporter.write_line(summary(config))
"""


def pytest_in(folder: Path, *words: str, tier: str, seed: int = 1) -> str:
    """Return what pytest prints of a small tree in this tier."""
    (folder / "test_some.py").write_text(TREE)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "dear.txt").write_text("test_some.py::test_dear\n")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = whole: all of it\n")
    plugins = ["-p", "ran_assertions", "-p", "no:cacheprovider"]
    environ = {**os.environ, "PYTHONPATH": str(HERE), "HOLDFAST_TIER": tier, "HOLDFAST_SEED": str(seed)}
    command = [sys.executable, "-m", "pytest", "-v", *plugins, *words]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ran(printed: str) -> set[str]:
    return {line.split()[0] for line in printed.splitlines() if " PASSED" in line}


def test_the_quick_tier_and_the_wider_one_with_the_next_seed_run_no_case_twice(tmp_path: Path) -> None:
    quick, wider = pytest_in(tmp_path, tier="quick"), pytest_in(tmp_path, tier="wider", seed=2)
    deep = pytest_in(tmp_path, tier="deep")
    assert len(ran(deep)) == 2 * (MOST + 10) + 2 * SHARE + 1
    assert ran(quick) & ran(wider) == set()
    assert [each for each in ran(deep) - ran(quick) - ran(wider) if "::test_dear[" not in each] == []
    assert [sum("::test_dear[" in each for each in ran(tier)) for tier in (quick, wider)] == [2, 2 * WIDER]
    assert [sum("::test_matrix[" in each for each in ran(tier)) for tier in (quick, wider)] == [MOST, 10]
    assert [sum("::test_whole[" in each for each in ran(tier)) for tier in (quick, wider)] == [MOST + 10, 0]
    assert f"Sampled: {len(ran(quick))} of {len(ran(deep))} tests, those of the quick tier" in quick
    assert "Sampled" not in deep


@pytest.mark.parametrize("words", [["."], ["-k", "test"]])
def test_what_is_asked_for_by_name_runs_whole_in_every_tier(tmp_path: Path, words: list[str]) -> None:
    assert len(ran(pytest_in(tmp_path, *words, tier="quick"))) == 2 * (MOST + 10) + 2 * SHARE + 1


def test_test_all_lists_every_case(tmp_path: Path) -> None:
    listed = pytest_in(tmp_path, "--collect-only", "-qq", tier="deep")
    assert listed.count("test_some.py::") == 2 * (MOST + 10) + 2 * SHARE + 1
