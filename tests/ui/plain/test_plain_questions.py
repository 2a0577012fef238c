"""Questions in plain mode: what is printed has everything, and only a line that names an answer gives one."""

from __future__ import annotations

import pytest

from holdfast.tool_calls import QuestionOption, UserQuestion
from holdfast.tools.approval.question import question_of
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.ui.plain.questions import NeedsWords, NotUnderstood, TypedAnswer, TypedQuestion


async def never(context: ToolContext) -> ToolOutput:
    raise AssertionError(context)


COMMAND = Plan(effect="execute", title="run: rm -rf x", run=never, detail="rm -rf x\nls", command="rm -rf x\nls")


def typed(plan: Plan, why: str = "") -> TypedQuestion:
    return TypedQuestion(question_of(plan, mode="ask", why=why), plan)


def question_plan(*, several: bool = False) -> Plan:
    options = (QuestionOption("Red", "warm"), QuestionOption("Blue", "cold"))
    question = UserQuestion(text="Which colour?", options=options, several=several)
    return Plan(effect="read", title="ask", run=never, question=question)


def test_everything_is_printed() -> None:
    lines = list(typed(COMMAND, "why").lines())
    assert lines[0] == "Question: Run this command?"
    assert "  rm -rf x" in lines
    assert "  ls" in lines
    assert any(line.startswith("Warning: ") for line in lines)
    assert any(line.startswith("1. Allow once") for line in lines)


@pytest.mark.parametrize("line", ["1", "y", "yes", "YES", "once", " 1 "])
def test_what_allows_once(line: str) -> None:
    assert typed(COMMAND).take(line) == TypedAnswer("once")


@pytest.mark.parametrize("line", ["", " ", "0", "99", "-1", "yess", "allow", "y y", "\x1b[A", "\u0661"])
def test_what_answers_nothing(line: str) -> None:
    assert isinstance(typed(COMMAND).take(line), NotUnderstood)


@pytest.mark.parametrize(("reason", "expected"), [("because", "because"), ("", "")])
def test_a_no_with_and_without_a_reason(reason: str, expected: str) -> None:
    question = typed(COMMAND)
    assert isinstance(question.take("no"), NeedsWords)
    assert question.take(reason) == TypedAnswer("no", expected)


def test_a_question_of_the_model() -> None:
    assert typed(question_plan()).take("2") == TypedAnswer("option2")
    assert typed(question_plan()).take("red") == TypedAnswer("option1")
    answer = typed(question_plan()).take("neither, green")
    assert answer == TypedAnswer("own", "neither, green")
    question = typed(question_plan())
    assert isinstance(question.take("3"), NeedsWords)
    assert isinstance(question.take(""), NotUnderstood)


def test_several_options() -> None:
    for line in ("1 2", "1,2", "2 1 2"):
        answer = typed(question_plan(several=True)).take(line)
        assert isinstance(answer, TypedAnswer)
        assert set(answer.marked) == {"option1", "option2"}
