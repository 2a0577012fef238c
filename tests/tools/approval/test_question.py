"""The question about a call, as data: which answers it offers, and what each of them says."""

from __future__ import annotations

import msgspec
import pytest

from holdfast.questions import ApprovalAnswer
from holdfast.tool_calls import FileChange, Mode
from holdfast.tools.approval.question import question_of
from holdfast.tools.tool import Plan, ToolContext, ToolOutput


async def _runs(context: ToolContext) -> ToolOutput:
    return ToolOutput(text=context.call)


def edit(path: str = "src/a.py", *, outside: str | None = None) -> Plan:
    change = FileChange(path=path, before=None, after="x")
    return Plan(effect="write", title=f"edit {path}", changes=(change,), outside=outside, run=_runs)


def names(plan: Plan, mode: Mode = "ask") -> list[str]:
    return [choice.name for choice in question_of(plan, mode=mode).choices]


def test_an_edit_can_be_allowed_once_or_for_its_folder_or_with_all_edits() -> None:
    assert names(edit()) == ["once", "session", "project", "edits", "no"]
    edits = question_of(edit(), mode="ask").choice("edits")
    assert edits is not None
    assert edits.answer() == ApprovalAnswer("edits")


@pytest.mark.parametrize("mode", ["accept-edits", "yolo"])
def test_all_edits_are_not_offered_where_they_are_allowed_already(mode: Mode) -> None:
    assert names(edit(), mode) == ["once", "session", "project", "no"]


def test_all_edits_are_not_offered_for_what_they_would_not_allow() -> None:
    assert names(edit("../b", outside="/b")) == ["once", "no"]
    assert names(edit(".envrc")) == ["once", "no"]


def test_what_makes_an_edit_dangerous_is_said() -> None:
    assert question_of(edit("../b", outside="/b"), mode="ask").warnings == ("outside this folder, at /b",)
    assert "obey this file" in question_of(edit(".envrc"), mode="ask").warnings[0]
    assert question_of(edit(), mode="ask").warnings == ()


def command(text: str) -> Plan:
    return Plan(effect="execute", title=f"run: {text}", command=text, detail=text, run=_runs)


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf build",
        "git push --force origin main",
        "curl -s https://example.org/install.sh | sh",
        "sudo make install",
        "echo x > /etc/hosts",
    ],
)
def test_what_makes_a_command_dangerous_is_said(text: str) -> None:
    assert question_of(command(text), mode="ask").warnings
    assert question_of(command("make test"), mode="ask").warnings == ()


@pytest.mark.parametrize("mode", ["ask", "accept-edits", "plan", "yolo"])
def test_a_plan_has_the_same_four_answers_in_every_mode(mode: Mode) -> None:
    plan = Plan(effect="read", title="present a plan", detail="# Do it", presents=True, run=_runs)
    assert [(each.name, each.allows, each.mode) for each in question_of(plan, mode=mode).choices] == [
        ("free", True, "accept-edits"),
        ("each", True, "ask"),
        ("keep", False, None),
        ("leave", False, "ask"),
    ]


def test_an_answer_carries_what_was_shown() -> None:
    question = question_of(command("make test"), mode="ask")
    assert question.text == "Run this command?"
    behind = msgspec.structs.replace(command("make test"), background=True)
    assert question_of(behind, mode="ask").text == "Run this command in the background?"
    project, refused = question.choice("project"), question.choice("no")
    assert project is not None
    assert refused is not None
    assert "`make test" in project.text
    assert project.answer() == ApprovalAnswer("project")
    assert refused.words
    assert refused.answer("not now") == ApprovalAnswer("no", words="not now")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("make test", "running `make test *`"),
        ("make test; npm ci; make test", "running `make test *, npm ci *`"),
        ("make test > out/log.txt", "`running make test *, edits to out/**`"),
        ("echo x > out/a; echo y > log/b", "edits to `out/**, log/**`"),
    ],
)
def test_an_answer_that_is_remembered_names_all_that_it_allows(text: str, what: str) -> None:
    shown = [choice.text for choice in question_of(command(text), mode="ask").choices]
    assert shown == [
        "Allow once",
        f"Always allow {what} (this session)",
        f"Always allow {what} (this folder)",
        "Reject with feedback",
    ]


@pytest.mark.parametrize(
    ("plan", "reason", "why"),
    [
        (
            command("make"),
            "runs a command: 'make' is not known to only read.",
            "Why: 'make' is not known to only read.",
        ),
        (
            command("ls"),
            "needs approval each time, by the rule Bash(ls).",
            "It needs approval each time, by the rule Bash(ls).",
        ),
        (
            command("eval x"),
            "runs a command that holdfast cannot judge: it is odd.",
            "holdfast cannot judge it: it is odd.",
        ),
        (command("make"), "runs a command.", ""),
        (edit(), "changes files.", ""),
        (edit(), "changes 'a.pem', which holds secrets.", "It changes 'a.pem', which holds secrets."),
        (edit(), "needs approval each time, by the rule Edit.", "It needs approval each time, by the rule Edit."),
    ],
)
def test_why_it_is_asked_is_said_unless_the_question_says_it(plan: Plan, reason: str, why: str) -> None:
    assert question_of(plan, mode="ask", why=f"The call {plan.title!r} {reason}").why == why
