"""The question about a call, as data: which answers it offers, and what each of them says."""

from __future__ import annotations

import pytest

from holdfast.agent.turn.asker import ApprovalAnswer
from holdfast.tool_calls import FileChange, Mode
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.ui.view.question import question_of


async def _runs(context: ToolContext) -> ToolOutput:
    return ToolOutput(text=context.call)


def edit(path: str = "src/a.py", *, outside: str | None = None) -> Plan:
    change = FileChange(path=path, before=None, after="x")
    return Plan(effect="write", title=f"edit {path}", change=change, outside=outside, run=_runs)


def names(plan: Plan, mode: Mode = "ask") -> list[str]:
    return [choice.name for choice in question_of(plan, mode=mode).choices]


def test_an_edit_can_be_allowed_once_or_for_its_folder_or_with_all_edits() -> None:
    assert names(edit()) == ["once", "session", "project", "edits", "no"]
    edits = question_of(edit(), mode="ask").choice("edits")
    assert edits is not None
    assert edits.answer() == ApprovalAnswer(allowed=True, mode="accept-edits")


@pytest.mark.parametrize("mode", ["accept-edits", "yolo"])
def test_all_edits_are_not_offered_where_they_are_allowed_already(mode: Mode) -> None:
    assert "edits" not in names(edit(), mode)


def test_all_edits_are_not_offered_for_what_they_would_not_allow() -> None:
    assert names(edit("../b", outside="/b")) == ["once", "no"]
    assert names(edit(".envrc")) == ["once", "no"]


def test_what_makes_an_edit_dangerous_is_said() -> None:
    assert question_of(edit("../b", outside="/b"), mode="ask").warnings == ("outside this folder, at /b",)
    assert "obey this file" in question_of(edit(".envrc"), mode="ask").warnings[0]
    assert question_of(edit(), mode="ask").warnings == ()


def test_an_answer_carries_what_was_shown() -> None:
    plan = Plan(effect="execute", title="run: make test", command="make test", detail="make test", run=_runs)
    asked = question_of(plan, mode="ask")
    assert asked.text == "Run this command?"
    project, refused = asked.choice("project"), asked.choice("no")
    assert project is not None
    assert refused is not None
    assert "`make test" in project.text
    assert project.answer() == ApprovalAnswer(allowed=True, remember="project")
    assert refused.words
    assert refused.answer("not now") == ApprovalAnswer(allowed=False, reason="not now")
