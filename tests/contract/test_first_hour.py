"""The rows of docs/explanation/first-hour.md name tests that exist, and no row is done without one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_tree import ROOT, expect_none

PAGE = ROOT / "docs" / "explanation" / "first-hour.md"
_NAMED = re.compile(r"`(tests/[^`]+)`")


def unproven(text: str, root: Path) -> Iterator[str]:
    """Yield a sentence for each row whose state or test is not what it must be."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or cells[0] in ("Row", "---"):
            continue
        row, state, tests = cells
        named = _NAMED.findall(tests)
        if state.partition(":")[0] not in ("done", "partly", "missing"):
            yield f"{row}: {state!r} is no state"
        if (state == "done") and not named:
            yield f"{row}: done, and no test shows it"
        for test in named:
            path, _, function = test.partition("::")
            if not (root / path).exists():
                yield f"{row}: there is no {path}"
            elif function and f"def {function}(" not in (root / path).read_text():
                yield f"{row}: {path} has no {function}"


def test_every_row_has_its_test() -> None:
    expect_none(unproven(PAGE.read_text(), ROOT))


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("| Keys | done | |", "no test shows it"),
        ("| Keys | soon | |", "is no state"),
        ("| Keys | done | `tests/nowhere.py` |", "there is no tests/nowhere.py"),
        ("| Keys | partly: x | `tests/contract/test_first_hour.py::test_no` |", "has no test_no"),
    ],
)
def test_what_is_wrong_is_found(row: str, complaint: str) -> None:
    assert complaint in " ".join(unproven(row, ROOT))


def test_what_is_missing_needs_no_test() -> None:
    assert not list(unproven("| Keys | missing | |", ROOT))
