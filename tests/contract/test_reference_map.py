"""The map to what was asked for is complete, and what it points to exists."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from source_tree import documents, expect_none, imported, read, sources

from written_tests import written_tests

PAGE = "docs/from-the-reference.md"
LAST = {"I": 6, "S": 15, "F": 29, "D": 9, "T": 7, "G": 10, "K": 10}
ROW_NAMES = [f"{letter}{number}" for letter, last in LAST.items() for number in range(1, last + 1)]

NOT_RUN = {15, 18, 19, 28, 29, 31}
MEASURED = ["B11b", *(f"B{number}" for number in range(1, 34) if number not in NOT_RUN)]
"""What was run on the reference end to end, by its own numbers."""

# What a status obliges a row to name: a symbol, a test.
STATUSES = {
    "done": (True, True),
    "in part": (True, True),  # and what is missing
    "not needed": (True, True),
    "answered": (False, True),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the map."""

    id: str
    status: str
    here: str
    proof: str
    why: str


def rows(page: str) -> Iterator[Row]:
    """Yield the rows of the page's tables whose first cell is an id; raises `ValueError` for one of another width."""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and re.fullmatch(r"[A-Z]\d+", cells[0]):
            name, _, status, here, proof, why = cells
            yield Row(name, status, here, proof, why)


def unmeasured(page: str) -> Iterator[str]:
    """Yield a sentence for each thing that was run on the reference and has no line that names a test of holdfast."""
    numbers: Counter[str] = Counter()
    for line in page.splitlines():
        cells = line.split("|")
        if len(cells) == 5 and named_tests(cells[3]):  # of three columns
            numbers.update(re.findall(r"\bB\d+b?\b", cells[1]))
    yield from (f"{name} has {numbers[name]} lines" for name in MEASURED if numbers[name] != 1)
    yield from (f"{name} was not run on the reference" for name in numbers if name not in MEASURED)


def named_symbols(text: str) -> list[str]:
    """Return the names in code that begin with the package's."""
    return re.findall(r"`(holdfast(?:\.\w+)+)`", text)


def named_tests(text: str) -> list[str]:
    """Return the tests named in code, as `path::name`."""
    return re.findall(r"`(tests/[\w/]+\.py::\w+)`", text)


def gaps(page: str) -> Iterator[str]:
    """Yield a sentence for each row that is missing, there twice, or says less than its status obliges it to."""
    found = list(rows(page))
    count = Counter(row.id for row in found)
    yield from (f"{name} has no row" for name in ROW_NAMES if not count[name])
    yield from (f"{name} is no row of the reference" for name in count if name not in ROW_NAMES)
    yield from (f"{name} has {times} rows" for name, times in count.items() if times > 1)
    for row in found:
        if row.status not in STATUSES:
            yield f"{row.id} is {row.status!r} (expected one of {', '.join(STATUSES)})"
            continue
        needs_symbol, needs_test = STATUSES[row.status]
        if needs_symbol and not named_symbols(row.here):
            yield f"{row.id} is {row.status!r} and names no symbol"
        if needs_test and not named_tests(row.proof):
            yield f"{row.id} is {row.status!r} and names no test"
        if row.status == "in part" and "Missing:" not in row.why:
            yield f"{row.id} is in part and does not say what is missing"
        if not row.why:
            yield f"{row.id} does not say why"


def absent(page: str, *, importable: Callable[[str], bool], tried: Callable[[str], bool]) -> Iterator[str]:
    """Yield a sentence for each symbol and each test that the page names and that does not exist."""
    yield from (f"{name} cannot be imported" for name in dict.fromkeys(named_symbols(page)) if not importable(name))
    yield from (f"{name} is not there" for name in dict.fromkeys(named_tests(page)) if not tried(name))


def is_importable(name: str) -> bool:
    """Return whether `name` is a module, or what is reached from the longest module of its beginning."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_the_map_is_complete() -> None:
    expect_none(gaps(read(PAGE)))


def test_what_was_run_on_the_reference_is_there() -> None:
    expect_none(unmeasured(read(PAGE)))
    assert list(unmeasured(read(PAGE).replace("(B13)", "(B15)"))) == [
        "B13 has 0 lines",
        "B15 was not run on the reference",
    ]
    assert "B13 has 2 lines" in list(unmeasured(read(PAGE).replace("(B14)", "(B13)")))


def test_what_the_map_names_exists() -> None:
    expect_none(absent(read(PAGE), importable=is_importable, tried=written_tests().__contains__))


def test_only_the_map_speaks_of_the_reference() -> None:
    """Everything else explains itself: who reads it need not know what came before."""
    theirs = r"run_cleanup_loop|sanitize_history|invalidate_agent_cache|prepare_history"
    texts = {module.path: module.text for module in sources("src")} | {path: read(path) for path in documents()}
    assert [path for path, text in texts.items() if re.search(theirs, text)] == [PAGE]


def test_there_is_one_place_that_settles_a_turn() -> None:
    """Row G8: whatever ends a turn is cleaned up after by one function; besides its agent, a copy is made with it."""
    users = [
        module.inner
        for module in sources("src")
        if "holdfast.agent.recovery.settle.settle" in dict(imported(module.tree))
    ]
    assert users == ["agent/recovery/recovery.py", "agent/sessions.py"]


GOOD = (
    "| I1 | pairs | done | `holdfast.session.conversation.fold.Fold` | `tests/a/test_b.py::test_c` | by construction |"
)


def test_a_good_row_is_complained_of_only_for_those_that_are_missing() -> None:
    assert list(gaps(GOOD)) == [f"{name} has no row" for name in ROW_NAMES if name != "I1"]
    assert not list(absent(GOOD, importable=is_importable, tried={"tests/a/test_b.py::test_c"}.__contains__))


@pytest.mark.parametrize(
    ("line", "beginning"),
    [
        (f"{GOOD}\n{GOOD}", "I1 has 2 rows"),
        (GOOD.replace("I1", "I7"), "I7 is no row of the reference"),
        (GOOD.replace("| done |", "| nearly |"), "I1 is 'nearly' (expected one of"),
        (GOOD.replace("| done |", "| later: somewhen |"), "I1 is 'later: somewhen' (expected one of"),
        (GOOD.replace("`holdfast.session.conversation.fold.Fold`", "the fold"), "I1 is 'done' and names no symbol"),
        (GOOD.replace("`tests/a/test_b.py::test_c`", "see the tests"), "I1 is 'done' and names no test"),
        (GOOD.replace("| done |", "| in part |"), "I1 is in part and does not say what is missing"),
        (GOOD.replace("by construction", ""), "I1 does not say why"),
    ],
)
def test_a_bad_row_is_found(line: str, beginning: str) -> None:
    assert [complaint for complaint in gaps(line) if complaint.startswith(beginning)]


def test_a_row_that_lost_a_cell_is_found() -> None:
    with pytest.raises(ValueError, match="unpack"):
        list(gaps(GOOD.replace("| pairs ", "")))


@pytest.mark.parametrize(
    "name",
    [
        "holdfast.session.gone",
        "holdfast.session.conversation.fold.Gone",
        "holdfast.session.conversation.fold.Fold.gone",
        "holdfast.gone.Fold",
    ],
)
def test_what_cannot_be_imported_is_found(name: str) -> None:
    assert list(absent(f"`{name}`", importable=is_importable, tried=bool))


def test_a_test_that_is_gone_is_found() -> None:
    page = "`tests/contract/test_reference_map.py::test_gone`"
    assert list(absent(page, importable=is_importable, tried=written_tests().__contains__))
    assert "tests/contract/test_reference_map.py::test_the_map_is_complete" in written_tests()
