"""The page on what is promised has every promise of the README, tests that exist for each, and what was counted."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from source_tree import expect_none, read
from test_reference_map import named_tests

from written_tests import written_tests

PAGE = "docs/explanation/guarantees.md"
PROMISES = [f"P{number}" for number in range(1, 10)]
LEAST = 3
"""How many tests a promise names at least: one that tries it from inside, one from outside, one that tries any."""


def sections(page: str) -> dict[str, str]:
    """Return what stands under each heading."""
    return dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL))


def gaps(page: str, readme: str) -> Iterator[str]:
    """Yield a sentence for each promise that is missing, is another than the README's, or is not proven."""
    found = {title[:2]: (title[3:], text) for title, text in sections(page).items() if re.match(r"P\d ", title)}
    yield from (f"{promise} is not on the page" for promise in PROMISES if promise not in found)
    yield from (f"{promise} is no promise" for promise in found if promise not in PROMISES)
    promised = dict(re.findall(r"^\| (P\d) \| \*\*(.*?)[.*]", readme, flags=re.MULTILINE))
    for promise, (title, text) in found.items():
        if promised.get(promise) != title:
            yield f"{promise} is {title!r} (expected {promised.get(promise)!r}, as in the README)"
        if not re.match(r"\n\*[^*]+\*\n\n", text):
            yield f"{promise} does not begin with its sentence"
        if len(set(named_tests(text))) < LEAST:
            yield f"{promise} names {len(set(named_tests(text)))} tests (expected at least {LEAST})"


def part(page: str, name: str) -> str:
    """Return what is written from data of that name."""
    found = re.search(rf"<!-- data: {name} -->\n(.*?)<!-- end -->", page, flags=re.DOTALL)
    return found[1] if found else ""


def uncounted(page: str) -> Iterator[str]:
    """Yield a sentence for each promise without points, and for each test that was counted and had violations."""
    written = part(page, "points")
    points = re.findall(r"^\| (P\d) \| [^|]+ \| 0 \|$", written, flags=re.MULTILINE)
    yield from (f"{promise} is not without violations" for promise in PROMISES if promise not in points)
    for test, violations in re.findall(r"^\| `(.*?)` \|.*\| ([\d,]+) \|$", written, flags=re.MULTILINE):
        if violations != "0":
            yield f"{test} had {violations} violations"
    _, _, bad = written.partition("| known to be bad |")
    yield from (
        f"nothing was found in {name}" for name in re.findall(r"^\| (.*?) \| [\d,]+ \| 0 \|$", bad, re.MULTILINE)
    )


def surviving(page: str) -> Iterator[str]:
    """Yield a sentence for each package of which a mutant survived."""
    rows = re.findall(r"^\| (\w+) \| .* \| (\d+) \|$", part(page, "mutants"), flags=re.MULTILINE)
    yield from (f"{left} mutants of {name} survive" for name, left in rows if left != "0")


def test_every_promise_is_there_and_proven() -> None:
    expect_none(gaps(read(PAGE), read("README.md")))


def test_the_tests_it_names_exist() -> None:
    expect_none(f"{name} is not there" for name in named_tests(read(PAGE)) if name not in written_tests())


def test_what_was_counted_is_without_violations() -> None:
    expect_none(uncounted(read(PAGE)))


def test_no_mutant_survives() -> None:
    expect_none(surviving(read(PAGE)))


def test_a_mutant_that_survives_is_found() -> None:
    table = "<!-- data: mutants -->\n| agent | 7 | 6 | 0 | 0 | 1 |\n| ui | 7 | 7 | 0 | 0 | 0 |\n<!-- end -->"
    assert list(surviving(table)) == ["1 mutants of agent survive"]


def test_what_is_not_promised_is_said() -> None:
    assert len(sections(read(PAGE))["What is not promised"].split("\n- ")) > 10


def test_the_readme_leads_there() -> None:
    assert "](docs/explanation/guarantees.md)" in read("README.md")


GOOD = """## P1 Durable
\n*It is.*
\nIn practice. `tests/a.py::test_a`, `tests/a.py::test_b`, `tests/a.py::test_c`
"""
README = "| P1 | **Durable.** What you were told | `tests/a.py` |"


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        (GOOD, "P2 is not on the page"),
        (GOOD.replace("P1", "P0"), "P0 is no promise"),
        (GOOD.replace("Durable", "Fast"), "P1 is 'Fast' (expected 'Durable'"),
        (GOOD.replace("*It is.*", "It is."), "P1 does not begin with its sentence"),
        (GOOD.replace("test_b", "test_a"), "P1 names 2 tests"),
    ],
)
def test_a_promise_that_is_not_kept_up_is_found(page: str, complaint: str) -> None:
    assert any(each.startswith(complaint) for each in gaps(page, README))
    assert not [each for each in gaps(GOOD, README) if each.startswith("P1")]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("| P1 | 7 | 1 |", "P1 is not without violations"),
        ("| `tests/a.py::test_a` | 1 | 1 | 7 | 2 |", "tests/a.py::test_a had 2 violations"),
        ("| known to be bad | points tried | violations |\n| a store | 7 | 0 |", "nothing was found in a store"),
    ],
)
def test_a_count_that_is_not_as_it_must_be_is_found(line: str, complaint: str) -> None:
    assert complaint in list(uncounted(f"<!-- data: points -->\n{line}\n<!-- end -->"))
