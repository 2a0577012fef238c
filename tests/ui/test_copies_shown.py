"""A session says whose copy it is, and from which file it was imported."""

from __future__ import annotations

import pytest

from holdfast.session.journal.entries import SessionOpened
from holdfast.ui.view.sentences import Narrator


@pytest.mark.parametrize(
    ("forked", "imported", "origin"),
    [("20261120-0900-abcd", None, "a copy of session 20261120-0900-abcd"), (None, "a.json", "imported from a.json")],
)
def test_where_a_session_comes_from_is_shown(forked: str | None, imported: str | None, origin: str) -> None:
    entry = SessionOpened(
        session="s", cwd="/w", model="m", system="", tools=(), version="0", forked_from=forked, imported_from=imported
    )
    (sentence,) = Narrator().sentences(entry)
    assert origin in sentence.text
