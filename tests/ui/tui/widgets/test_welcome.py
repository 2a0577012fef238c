"""The welcome: hints that fit the folder, and the last session in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.agent.sessions import create
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import PromptAccepted
from holdfast.ui.tui.widgets.welcome import SHOWN_HINTS, Situation, hints, situation_of, welcome_text

KNOWN = Situation(cwd="/w", model="a:b", is_complete=True)


@pytest.mark.parametrize(
    ("situation", "beginnings"),
    [
        (KNOWN, ("/help", "Esc interrupts", "Shift+Tab")),
        (Situation(cwd="/w", model=""), ("No model yet", "/help", "Esc interrupts")),
        (Situation(cwd="/w", model="a:b", has_instructions=False), ("/help", "Esc interrupts", "Shift+Tab")),
        (
            Situation(cwd="/w", model="a:b", is_complete=True, has_instructions=False),
            ("Tip: ask for an AGENTS.md", "/help", "Esc interrupts"),
        ),
        (
            Situation(cwd="/w", model="", is_complete=True, has_instructions=False, repository=False),
            ("No model yet", "Tip: ask for an AGENTS.md", "Not a git repository"),
        ),
    ],
)
def test_hints_fit_the_situation(situation: Situation, beginnings: tuple[str, ...]) -> None:
    found = hints(situation)
    assert len(found) == SHOWN_HINTS
    assert all(hint.startswith(begun) for hint, begun in zip(found, beginnings, strict=True))


def test_what_is_seen_of_a_folder(tmp_path: Path) -> None:
    catalog, cwd = Catalog(tmp_path / "sessions"), tmp_path / "project" / "inner"
    cwd.mkdir(parents=True)
    found = situation_of(cwd, "a:b", catalog)
    assert (found.last, found.has_instructions, found.repository) == (None, False, False)
    (tmp_path / "AGENTS.md").touch()
    assert not situation_of(cwd, "a:b", catalog).has_instructions
    (tmp_path / "project" / ".git").mkdir()
    (tmp_path / "project" / "CLAUDE.md").touch()
    session = create(catalog, cwd=cwd, model="a:b")
    session.store.append([PromptAccepted(turn=1, text="fix\x1b[2J it\nnow")], expected=len(session.reading.records))
    session.store.close()
    found = situation_of(cwd, "a:b", catalog)
    assert found.last is not None
    assert (found.has_instructions, found.repository) == (True, True)
    text = welcome_text(found, now=found.last.modified + 7200)
    assert "Last here, 2 hours ago: fix" in text.plain
    assert f"/resume {session.id}" in text.plain
    assert "\x1b" not in text.plain
