"""Asks the user through a session's inbox: the question is in the journal, the answer arrives as a row."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import msgspec

from holdfast.errors import UsageError
from holdfast.fleet.record import InboxRow
from holdfast.questions import ApprovalAnswer
from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import Leaving, Mode, Remember
from holdfast.tools.tool import Plan
from holdfast.typed_data import convert_value

T = TypeVar("T")


class OfferedAnswer(Protocol):
    """One answer that a question offers, and what it allows from then on."""

    @property
    def remember(self) -> Remember:
        """Return for how long similar calls are allowed."""
        ...

    @property
    def mode(self) -> Mode | None:
        """Return the approval mode that the answer sets, None if it sets none."""
        ...

    @property
    def level(self) -> Leaving:
        """Return what a command may do by the answer, "" if it is not confined."""
        ...


Offers = Callable[[Plan, str], Sequence[OfferedAnswer]]
"""Returns the answers that a question about a plan offers; the text is the reason for the question."""


class AnswerBody(msgspec.Struct, frozen=True):
    """The body of an `answer` row."""

    call: str
    allowed: bool
    words: str = ""
    chosen: tuple[str, ...] = ()
    remember: Remember = ""
    mode: Mode | None = None
    level: Leaving = ""


class _OpenQuestion(msgspec.Struct, frozen=True):
    """An open question, and its answer as soon as there is one."""

    offered: Sequence[OfferedAnswer]
    answer: asyncio.Future[ApprovalAnswer]


class InboxApprovals:
    """The open questions of one session; an `ApprovalPrompt`. `changed` is called when one opens."""

    def __init__(self, changed: Callable[[], None], offers: Offers) -> None:
        self._changed = changed
        self._offers = offers
        self._open: dict[str, _OpenQuestion] = {}

    async def __call__(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        """Return the user's answer; it may take hours, unless the turn is parked."""
        question = self._open[call.id] = _OpenQuestion(
            self._offers(plan, why), asyncio.get_running_loop().create_future()
        )
        self._changed()
        try:
            return await question.answer
        finally:
            self._open.pop(call.id, None)

    @property
    def open_questions(self) -> tuple[str, ...]:
        """Return the ids of the calls whose question is unanswered."""
        return tuple(call for call, question in tuple(self._open.items()) if not question.answer.done())

    def answer(self, row: InboxRow) -> bool:
        """Answer the row's question and return whether it was open; raises `UsageError` if the answer is invalid."""
        body = _converted(row.body, AnswerBody)
        question = self._open.get(body.call)
        if question is None or question.answer.done():
            return False
        if body.remember and body.remember not in {each.remember for each in question.offered}:
            raise UsageError(
                f"Answer cannot be remembered as {body.remember!r}: this call does not offer it. Leave it out."
            )
        if body.mode is not None and body.mode not in {each.mode for each in question.offered}:
            raise UsageError(f"Answer cannot set the mode {body.mode!r}: this call does not offer it. Leave it out.")
        if body.level and body.level not in {each.level for each in question.offered}:
            raise UsageError(
                f"Answer cannot grant the level {body.level!r}: this call does not offer it. Leave it out."
            )
        question.answer.set_result(
            ApprovalAnswer(body.allowed, body.words, body.remember, body.mode, body.chosen, body.level)
        )
        return True


def _converted(body: object, kind: type[T]) -> T:
    try:
        return convert_value(body, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"Body is invalid: {error}. Fix it.") from error
