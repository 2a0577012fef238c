"""Questions in plain mode: what is printed has everything, and only a line that names an answer gives one."""

from __future__ import annotations

import pytest

from holdfast.questions import ApprovalAnswer
from holdfast.tool_calls import QuestionOption, UserQuestion
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.ui.plain.questions import NeedsWords, NotUnderstood, TypedQuestion


async def never(context: ToolContext) -> ToolOutput:
    raise AssertionError(context)


COMMAND = Plan(effect="execute", title="run: rm -rf x", run=never, detail="rm -rf x\nls", command="rm -rf x\nls")


def question_plan(*, several: bool = False) -> Plan:
    options = (QuestionOption("Red", "warm"), QuestionOption("Blue", "cold"))
    question = UserQuestion(text="Which colour?", options=options, several=several)
    return Plan(effect="read", title="ask", run=never, question=question)


def test_everything_is_printed() -> None:
    lines = list(TypedQuestion(COMMAND, "why", mode="ask").lines())
    assert lines[0] == "Question: Run this command?"
    assert "  rm -rf x" in lines
    assert "  ls" in lines
    assert any(line.startswith("Warning: ") for line in lines)
    assert any(line.startswith("1. Allow once") for line in lines)


@pytest.mark.parametrize("line", ["1", "y", "yes", "YES", "once", " 1 "])
def test_what_allows_once(line: str) -> None:
    assert TypedQuestion(COMMAND, "", mode="ask").take(line) == ApprovalAnswer(allowed=True)


@pytest.mark.parametrize("line", ["", " ", "0", "99", "-1", "yess", "allow", "y y", "\x1b[A", "\u0661"])
def test_what_answers_nothing(line: str) -> None:
    assert isinstance(TypedQuestion(COMMAND, "", mode="ask").take(line), NotUnderstood)


@pytest.mark.parametrize(("reason", "expected"), [("because", "because"), ("", "")])
def test_a_no_with_and_without_a_reason(reason: str, expected: str) -> None:
    question = TypedQuestion(COMMAND, "", mode="ask")
    assert isinstance(question.take("no"), NeedsWords)
    assert question.take(reason) == ApprovalAnswer(allowed=False, reason=expected)


def test_a_question_of_the_model() -> None:
    assert TypedQuestion(question_plan(), "", mode="ask").take("2") == ApprovalAnswer(allowed=True, chosen=("Blue",))
    assert TypedQuestion(question_plan(), "", mode="ask").take("red") == ApprovalAnswer(allowed=True, chosen=("Red",))
    answer = TypedQuestion(question_plan(), "", mode="ask").take("neither, green")
    assert answer == ApprovalAnswer(allowed=True, reason="neither, green")
    question = TypedQuestion(question_plan(), "", mode="ask")
    assert isinstance(question.take("3"), NeedsWords)
    assert isinstance(question.take(""), NotUnderstood)


def test_several_options() -> None:
    for line in ("1 2", "1,2", "2 1 2"):
        answer = TypedQuestion(question_plan(several=True), "", mode="ask").take(line)
        assert isinstance(answer, ApprovalAnswer)
        assert set(answer.chosen) == {"Red", "Blue"}
