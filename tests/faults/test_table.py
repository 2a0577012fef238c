"""The table that `make faults` prints, and what of it is written to the page."""

from __future__ import annotations

import pytest
from table import Row, counted, lines, replaced, wrong

PAGE = """## P1 One
`tests/faults/test_a.py::test_a`

## P2 Two
`tests/history/test_b.py::test_b`

## Points
<!-- data: points -->
old
<!-- end -->
the rest
"""


def row(scenario: str, *, violations: int = 0, known_bad: bool = False, test: str = "test_a", full: bool = True) -> Row:
    return Row(
        test=f"tests/faults/test_a.py::{test}",
        scenario=scenario,
        injector="stop",
        points=1_000,
        of=1_000,
        violations=violations,
        known_bad=known_bad,
        examples=["point 7: lost"][:violations],
        seed=1,
        full=full,
    )


def test_a_violation_is_reported_and_so_is_none_where_there_must_be_some() -> None:
    rows = [row("good"), row("red", violations=1), row("naive", known_bad=True), row("worse", known_bad=True)]
    rows.append(row("worse", violations=3, known_bad=True))
    assert wrong(rows) == [
        "red, stop (seed 1): point 7: lost",
        "naive is known to be bad, and nothing was found in it",
    ]


def test_each_scenario_has_its_line_and_what_is_known_to_be_bad_is_not_counted_in() -> None:
    table = list(lines([row("one"), row("one"), row("naive", violations=3, known_bad=True)]))
    assert [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]] == [
        ["one", "stop", "2,000", "2,000", "0"],
        ["naive (known to be bad)", "stop", "1,000", "1,000", "3"],
        ["all but what is known to be bad", "", "2,000", "2,000", "0"],
    ]


def test_a_promise_has_the_points_of_the_tests_that_are_named_for_it() -> None:
    rows = [row("one"), row("two"), row("other", test="test_c"), row("naive", violations=3, known_bad=True)]
    written = list(counted(rows, PAGE))
    assert written[0].endswith("seed 1, at every point.")
    assert "| P1 | 2,000 | 0 |" in written
    assert "| P2 | by laws and real runs | 0 |" in written
    assert "| all that is not known to be bad | 3,000 | 0 |" in written
    assert "| `tests/faults/test_a.py::test_a` | 2 | 1 | 2,000 | 0 |" in written
    assert written[-1] == "| naive | 1,000 | 3 |"
    assert "at some of the points" in next(counted([row("one", full=False)], PAGE))


def test_only_the_place_is_written() -> None:
    assert replaced(PAGE, "points", ["new", "lines"]) == PAGE.replace("old", "new\nlines")
    with pytest.raises(ValueError, match="0 places for 'other'"):
        replaced(PAGE, "other", [])
