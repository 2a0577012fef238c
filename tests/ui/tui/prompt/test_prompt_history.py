"""What ↑ and ↓ recall."""

from __future__ import annotations

from holdfast.ui.tui.prompt.prompt_history import PromptHistory


def test_earlier_sessions_come_before_this_one() -> None:
    """Whatever is known first; a prompt sent again stands where it was sent last."""
    history = PromptHistory()
    history.add("sent")
    history.add_earlier(("old", "again", "old", "older"))
    history.begin(("of the session", "again"))
    assert history.prompts == ("again", "old", "older", "of the session", "again", "sent")[1:]


def test_the_draft_is_behind_the_last() -> None:
    history = PromptHistory()
    assert history.step(-1, current="") is None
    history.add("one")
    history.add("two")
    history.add("two")
    assert history.step(1, current="draft") is None
    assert [history.step(-1, current="draft") for _ in range(3)] == ["two", "one", None]
    assert [history.step(1, current="two") for _ in range(3)] == ["two", "draft", None]
