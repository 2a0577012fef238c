"""The page on refusals has every row of the table. To update it: `python tests/contract/test_refusals_page.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from source_tree import read

from holdfast.providers.refusals import ROWS, RefusalRecovery, RefusalRow
from holdfast.session.journal.request_changes import RequestChange

DOCUMENT = "docs/reference/refusals.md"
PART = re.compile(r"(?<=<!-- data: rows -->\n).*?(?=<!-- end -->)", re.DOTALL)


def lines() -> Iterator[str]:
    """Yield the table, in the order in which rows are tried."""
    yield "| row | who says so | recovery | example | source |"
    yield "|---|---|---|---|---|"
    for row in ROWS:
        yield f"| `{row.id}` | {row.speaker} | `{row.recovery}` | {_example(row)} | {_cell(row.source)} |"


def _example(row: RefusalRow) -> str:
    example = f"“{_cell(row.example)}”" if row.example else "no body, status 400 or 413"
    codes = ", ".join(f"`{code}`" for code in sorted(row.codes))
    return f"{example}; codes {codes}" if codes else example


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def updated(text: str) -> str:
    """Return the page with the rows of the table."""
    return PART.sub(lambda _: "\n".join(lines()) + "\n", text)


def recoveries(union: object) -> Iterator[str]:
    for each in get_args(union):
        yield from (each,) if isinstance(each, str) else recoveries(each)


def test_the_rows_are_those_of_the_table() -> None:
    assert read(DOCUMENT) == updated(read(DOCUMENT)), "run `python tests/contract/test_refusals_page.py`"


def test_every_recovery_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \| (?!.*“)", read(DOCUMENT), flags=re.MULTILINE)
    assert sorted(explained) == sorted(set(recoveries(RefusalRecovery)))
    assert set(get_args(RequestChange)) <= set(explained)


if __name__ == "__main__":
    page = Path(__file__).parents[2] / DOCUMENT
    page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")
