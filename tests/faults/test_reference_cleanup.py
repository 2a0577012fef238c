"""T0: what a clean-up pass does to histories is found in every kind where its description predicts it.

What it gets right is found to be right: a harness that finds fault with everything finds nothing either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from cleanup_histories import HISTORIES, KINDS
from cleanup_score import CASES, EACH, FAULTS, PAGE, REPAIRERS, Bench, cases, goes_on, row, score
from report import record

from tiers import DEEP, sampled

PREDICTED: dict[str, set[str]] = {
    "valid": set(),
    "valid, a call was answered by a retry-prompt": {"invalid", "refused", "results", "prompts"},
    "valid so far: ends in finished results": {"invalid", "refused", "results", "again"},
    "calls open at the end": {"invalid", "refused", "results", "prompts", "again"},
    "calls open in the middle": {"results", "prompts"},
    "one of three calls open": set(),
    "one of three calls open, then a prompt": {"results", "prompts"},
    "one call denied after finished rounds": {"results", "prompts"},
    "a result twice": {"invalid", "refused"},
    "a result without its call": {"invalid", "refused", "prompts"},
    "prompts in a row": {"prompts"},
    "an empty response": set(),
    "a call's id used again": {"invalid", "refused"},
    "a result before its call": {"invalid", "refused", "results", "prompts"},
    "a result after the next prompt": {"results", "prompts"},
    "a system prompt on the way": {"results", "prompts"},
    "thinking before an open call, then a prompt": {"prompts"},
}
"""What a clean-up pass that deletes whole requests does to which histories, as its description has it."""

ANYTHING = {"invalid", "refused", "results", "prompts"}
"""What it does to some histories among all there are."""


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def test_there_is_a_prediction_for_every_kind() -> None:
    assert list(PREDICTED) == list(KINDS)


@pytest.mark.parametrize("name", sampled(HISTORIES, 8))
def test_a_clean_up_does_what_it_is_described_to_do_and_repair_does_not(name: str, bench: Bench) -> None:
    number = EACH if name in KINDS or DEEP else 30
    theirs, ours = scores = [score(name, repairer, bench, each=number) for repairer in REPAIRERS.values()]
    for repairer, counted, bad in zip(REPAIRERS, scores, (True, False), strict=True):
        complaints = [f"{name}: {FAULTS[fault]}" for fault in counted.found.elements()]
        record(repairer, name, points=counted.tried, violations=complaints, known_bad=bad)
    assert is_predicted(name, set(theirs.found))
    assert ours.found == Counter()
    assert ours.tried == theirs.tried >= number
    if name in KINDS:
        assert row(name, scores) in PAGE.read_text(), "run `python tests/faults/cleanup_score.py`"


def is_predicted(name: str, found: set[str]) -> bool:
    return found == PREDICTED[name] if name in PREDICTED else found >= ANYTHING


def test_each_round_that_had_finished_is_lost_with_a_prompt_that_fails(bench: Bench) -> None:
    """As it was measured: six of six prompts fail, and of six results none is left."""
    history, prompts = CASES["#258: stopped after 6 finished rounds"]
    outcome = goes_on(history, REPAIRERS["the clean-up"], prompts, bench)
    assert (outcome.failed, outcome.left) == (6, (5, 4, 3, 2, 1, 0))


def test_one_denial_unravels_ten_rounds_and_then_one_with_each_prompt(bench: Bench) -> None:
    """As it was measured: ten rounds at once, because it goes over the list at most ten times, and then the rest."""
    history, prompts = CASES["a call denied after 15 finished rounds"]
    assert goes_on(history, REPAIRERS["the clean-up"], prompts, bench).left == (5, 4, 3, 2, 1, 0)
    history, prompts = CASES["a call denied after 5 finished rounds"]
    outcome = goes_on(history, REPAIRERS["the clean-up"], prompts, bench)
    assert (outcome.failed, outcome.left) == (0, (0,))  # all at once, and without an error


@pytest.mark.parametrize("name", CASES)
def test_repair_loses_nothing_in_any_of_them(name: str, bench: Bench) -> None:
    history, prompts = CASES[name]
    outcome = goes_on(history, REPAIRERS["repair"], prompts, bench)
    assert outcome.failed == 0
    assert len(set(outcome.left)) == 1
    assert outcome.left[0] == goes_on(history, lambda history: history, 1, bench).left[0]


@pytest.mark.parametrize("name", sampled(HISTORIES, 4))
def test_the_same_seed_gives_the_same_score(name: str, bench: Bench) -> None:
    assert len({repr(score(name, REPAIRERS["the clean-up"], bench, each=5)) for _ in range(2)}) == 1


def test_the_page_has_the_cases_as_they_are(bench: Bench) -> None:
    page = PAGE.read_text()
    assert [line for line in cases(bench) if line not in page] == []


@pytest.mark.parametrize("name", sorted(HISTORIES.keys() - KINDS.keys()))
def test_the_page_has_what_was_found_in_anything(name: str) -> None:
    (line,) = (line for line in PAGE.read_text().splitlines() if line.startswith(f"| {name} |"))
    counts = [cell.split(" · ") for cell in line.strip("| ").split(" | ")[3:]]
    assert [ours for _, ours in counts] == ["0"] * len(FAULTS)
    assert is_predicted(name, {fault for fault, (theirs, _) in zip(FAULTS, counts, strict=True) if theirs != "0"})
