"""The page on turns has the states, the moves and the exits of the code, and none besides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

import pytest
from source_tree import expect_none, read
from test_reference_map import named_tests

from holdfast.agent.turn.states import TRANSITIONS, Signal, State
from holdfast.session.journal.entries import Cause
from holdfast.session.model_notices import REASONS, turn_note
from written_tests import written_tests

PAGE = "docs/reference/turns.md"
ANY = "*any but settling*"
CAUSES: tuple[Cause, ...] = get_args(Cause)


def rows(page: str, heading: str) -> list[list[str]]:
    """Return the rows of the table under a heading, without its head."""
    section = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in section[1].splitlines() if line.startswith("|")] if section else []
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def moves() -> list[tuple[str, str, str]]:
    """Return the moves of the table; that every state can be left is one row of the page."""
    left = {(state, Signal.LEAVE): State.SETTLING for state in State if state is not State.SETTLING}
    assert left.items() <= TRANSITIONS.items()
    others = [(before.value, signal.value, after.value) for (before, signal), after in TRANSITIONS.items()]
    return [move for move in others if move[1] != Signal.LEAVE.value] + [(ANY, "leave", "settling")]


def exits() -> list[tuple[str, str, str]]:
    """Return each cause with its stop reason, and whether a note reports it to the model."""
    return [(cause, REASONS[cause], "yes" if turn_note(cause, "") else "no") for cause in CAUSES]


def gaps(page: str) -> Iterator[str]:
    """Yield a sentence for each state, move or exit that the page has and the code has not, or the other way round."""
    yield from _differences(
        "state", [(state.value,) for state in State], [(row[0],) for row in rows(page, "The states")]
    )
    yield from _differences("move", moves(), [(row[0], row[1], row[2]) for row in rows(page, "The moves")])
    found = rows(page, "The exits")
    yield from _differences("exit", exits(), [(row[0], row[1], row[2]) for row in found])
    yield from (f"the exit {row[0]} names no test" for row in found if not named_tests(row[-1]))
    yield from (f"the exit {row[0]} says less than the others" for row in found if not all(row) or len(row) != 7)
    picture = page.split("```")[1]
    yield from (f"the picture lacks {state.value}" for state in State if not re.search(rf"\b{state.value}\b", picture))


def _differences(what: str, code: list[tuple[str, ...]], page: list[tuple[str, ...]]) -> Iterator[str]:
    yield from (f"the {what} {', '.join(each)} is not on the page" for each in code if each not in page)
    yield from (f"the {what} {', '.join(each)} is not in the code" for each in page if each not in code)
    yield from (f"the {what} {', '.join(each)} is twice on the page" for each in set(page) if page.count(each) > 1)


def test_the_page_is_the_code() -> None:
    expect_none(gaps(read(PAGE)))


def test_the_tests_it_names_exist() -> None:
    expect_none(f"{name} is not there" for name in named_tests(read(PAGE)) if name not in written_tests())


@pytest.mark.parametrize(
    ("was", "replacement", "beginning"),
    [
        (
            "| asking | answer | choosing |",
            "| asking | answer | running |",
            "the move asking, answer, choosing is not on",
        ),
        (
            "| asking | answer | choosing |",
            "| asking | answer | running |",
            "the move asking, answer, running is not in",
        ),
        ("| fork | cancelled | yes |", "| fork | error | yes |", "the exit fork, error, yes is not in the code"),
        (
            "| approval | cancelled | no |",
            "| approval | cancelled | yes |",
            "the exit approval, cancelled, no is not on",
        ),
        ("| crash | error | yes |", "| wind | error | yes |", "the exit wind, error, yes is not in the code"),
        ("| settling | Each open", "| resting | Each open", "the state settling is not on the page"),
        ("| idle | Nothing;", "| idle | x | x | x |\n| idle | Nothing;", "the state idle is twice on the page"),
        (
            "`tests/e2e/test_many_processes.py::test_a_fork_works_while_the_original_runs`",
            "it",
            "the exit fork names no",
        ),
        ("backing off ◀──", "waiting ◀──", "the picture lacks backing off"),
    ],
)
def test_a_row_more_or_less_is_found(was: str, replacement: str, beginning: str) -> None:
    page = read(PAGE)
    assert was in page
    assert any(complaint.startswith(beginning) for complaint in gaps(page.replace(was, replacement)))
