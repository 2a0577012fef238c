"""Asks the user through a session's inbox: the question is in the journal, the answer arrives as a row."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

import msgspec

from holdfast.errors import UsageError
from holdfast.fleet.record import InboxRow
from holdfast.questions import ApprovalAnswer, ChoiceName, Question
from holdfast.tools.tool import Plan
from holdfast.typed_data import convert_value


class AnswerBody(msgspec.Struct, frozen=True):
    """The body of an `answer` row: an answer to the question with that id, "" for one that closes it."""

    question: str
    choice: ChoiceName | Literal[""]
    words: str = ""
    marked: tuple[ChoiceName, ...] = ()


class _OpenQuestion(msgspec.Struct, frozen=True):
    """An open question, and its answer as soon as there is one."""

    question: Question
    answer: asyncio.Future[ApprovalAnswer]


class InboxApprovals:
    """The open questions of one session; an `ApprovalPrompt`. `changed` is called when one opens."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._open: dict[str, _OpenQuestion] = {}

    async def __call__(self, question: Question, plan: Plan) -> ApprovalAnswer:
        """Return the user's answer; it may take hours, unless the turn is parked."""
        del plan
        opened = self._open[question.id] = _OpenQuestion(question, asyncio.get_running_loop().create_future())
        self._changed()
        try:
            return await opened.answer
        finally:
            self._open.pop(question.id, None)

    @property
    def open_questions(self) -> tuple[str, ...]:
        """Return the ids of the questions that are unanswered."""
        return tuple(each for each, opened in tuple(self._open.items()) if not opened.answer.done())

    def answer(self, row: InboxRow) -> bool:
        """Answer the row's question and return whether it was open; raises `UsageError` if that was not offered."""
        body = answer_body(row)
        opened = self._open.get(body.question)
        if opened is None or opened.answer.done():
            return False
        answer = ApprovalAnswer(body.choice, body.words, body.marked)
        opened.question.chosen(answer)
        opened.answer.set_result(answer)
        return True


def answer_body(row: InboxRow) -> AnswerBody:
    """Return the body of an `answer` row; raises `UsageError` if it is none."""
    try:
        return convert_value(row.body, AnswerBody)
    except msgspec.ValidationError as error:
        raise UsageError(f"Body of an answer is invalid: {error}. Name a question and one of its choices.") from error
