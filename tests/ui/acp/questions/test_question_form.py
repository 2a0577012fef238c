"""A question of the model as a form: what is offered, and what a filled form answers."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.questions import ApprovalAnswer, Question
from holdfast.tool_calls import QuestionOption, UserQuestion
from holdfast.tools.approval.question import question_of
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.ui.acp.protocol.client_abilities import NO_ABILITIES, client_abilities
from holdfast.ui.acp.questions.question_form import FilledForm, filled_form, form_answer, question_form


async def _never(context: ToolContext) -> ToolOutput:
    raise AssertionError(context)


def choice_question(*, several: bool) -> Question:
    options = (QuestionOption("A", "the first"), QuestionOption("B", ""))
    question = UserQuestion(text="Which?", options=options, several=several)
    return question_of(Plan(effect="read", title="ask the user", question=question, run=_never), mode="ask")


def test_options_are_offered_by_their_labels() -> None:
    answer: Any = question_form(choice_question(several=False))["properties"]
    assert answer["answer"]["oneOf"] == [
        {"const": "option1", "title": "A", "description": "the first"},
        {"const": "option2", "title": "B"},
    ]
    assert answer["own_words"]["type"] == "string"


@pytest.mark.parametrize(
    ("several", "content", "chosen", "words"),
    [
        (False, {"answer": "option1"}, ("A",), ""),
        (False, {"answer": "option1", "own_words": " x "}, ("A",), "x"),
        (True, {"answer": ["option2", "option1", "option2"]}, ("B", "A"), ""),
        (True, {"own_words": "neither"}, (), "neither"),
    ],
)
def test_a_filled_form_answers(*, several: bool, content: dict[str, Any], chosen: tuple[str, ...], words: str) -> None:
    form = filled_form({"action": "accept", "content": content})
    assert form is not None
    assert form_answer(form, choice_question(several=several)) == ApprovalAnswer(
        allowed=True, reason=words, chosen=chosen
    )


@pytest.mark.parametrize("content", [None, {}, {"answer": "tea"}, {"answer": "own"}, {"own_words": 3}, {"answer": ""}])
def test_a_form_without_an_answer_gives_none(content: dict[str, Any] | None) -> None:
    assert form_answer(FilledForm("accept", content), choice_question(several=False)) is None


@pytest.mark.parametrize("result", [None, [], {}, {"action": "tea"}, {"action": "accept", "content": {"a": None}}])
def test_what_is_no_answer_is_none(result: object) -> None:
    assert filled_form(result) is None


def test_abilities_are_objects_and_nothing_else() -> None:
    offered: Any = {"elicitation": {"form": {}, "url": None}, "session": {"notices": {}, "compaction": 1}, "auth": []}
    found = client_abilities(offered)
    assert (found.forms, found.addresses, found.notices, found.compactions) == (True, False, True, False)
    assert client_abilities(None) == client_abilities({"auth": {"terminal": 1}}) == NO_ABILITIES
