"""The list of causes is one: the pages that state it have exactly those of the code."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from source_tree import read

from holdfast.errors import ProviderFault
from holdfast.session.journal.causes import OF_THE_PROVIDER, Cause
from holdfast.session.journal.entries import BAD_IMAGES, NO_IMAGES
from holdfast.session.model_notices import REASONS

CAUSES = set(get_args(Cause))


def listed(page: str, begin: str, end: str) -> list[str]:
    """Return the words of the list that stands between two texts of a page."""
    found = re.search(f"{re.escape(begin)}(.*?){re.escape(end)}", read(page), flags=re.DOTALL)
    assert found is not None, f"{page} has no list that begins with {begin!r}"
    return re.findall(r"[a-z_]+", re.sub(r"\([^)]*\)|since format 2|\band\b", "", found[1]))


@pytest.mark.parametrize(
    ("page", "begin", "end"),
    [
        ("docs/reference/events.md", "`cause` is more exact:\n`", "`. `result`"),
        ("docs/reference/journal.md", "A cause is one of ", ". `call` is"),
    ],
)
def test_a_page_lists_each_cause_once(page: str, begin: str, end: str) -> None:
    words = listed(page, begin, end)
    assert sorted(words) == sorted(CAUSES)


def test_the_page_of_the_journal_names_every_fault_of_a_request() -> None:
    page = read("docs/reference/journal.md")
    row = next(line for line in page.splitlines() if line.startswith("| `request-failed` "))
    missing = {each for each in (*get_args(ProviderFault), NO_IMAGES, BAD_IMAGES) if not re.search(rf"\b{each}\b", row)}
    assert missing == set()


def test_what_a_provider_causes_is_an_error() -> None:
    assert {REASONS[cause] for cause in OF_THE_PROVIDER} == {"error"}


@pytest.mark.parametrize("page", ["docs/how-to/editors.md", "docs/reference/http-api.md"])
def test_other_pages_point_at_the_list(page: str) -> None:
    assert "events.md#the-result)" in read(page)
