"""Users who are asked about calls, plans and questions, and what a journal must say of their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from holdfast.questions import ApprovalAnswer
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallStarted,
    Entry,
    ModeChanged,
    ResponseEnded,
)
from holdfast.session.journal.parts import CallPart
from holdfast.tools.tool import Plan

APPROVED = "The user approved this plan. Mode: ask"
WORDS = "smaller, please"


class User:
    """Who gives these answers in turn, each after so many seconds, and none after the last; `gave` are those given."""

    def __init__(self, *answers: ApprovalAnswer, after: float) -> None:
        self._left = list(answers)
        self._after = after
        self.gave: list[ApprovalAnswer] = []

    async def __call__(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        """Return the next answer."""
        del call, plan, why
        await asyncio.sleep(self._after)
        if not self._left:
            await asyncio.Event().wait()
        self.gave.append(self._left.pop(0))
        return self.gave[-1]


def decisions(*answers: ApprovalAnswer, after: float) -> Callable[[], User]:
    """Return what makes a user who gives these answers, each after so many seconds."""
    return lambda: User(*answers, after=after)


def answers(allowed: Sequence[bool], *, after: float) -> Callable[[], User]:
    """Return what makes a user who allows or refuses in turn, each after so many seconds."""
    return decisions(
        *(ApprovalAnswer(allowed=yes, reason="" if yes else "not that one") for yes in allowed), after=after
    )


nobody_answers = decisions(after=0)
"""Makes a user who was asked and went home."""


def _calls(entries: Sequence[Entry], name: str) -> set[str]:
    return {
        part.id
        for entry in entries
        if isinstance(entry, ResponseEnded)
        for part in entry.parts
        if isinstance(part, CallPart) and part.name == name
    }


def truth_of_plans(entries: Sequence[Entry], appends: Sequence[Sequence[Entry]]) -> Iterator[str]:
    """Yield where a plan is approved without its mode, carried out unapproved, or rejected without the words.

    `appends` are the entries as they were appended together.
    """
    presented = _calls(entries, "present_plan")
    answered: dict[str, ApprovalAnswered] = {}
    for append in appends:
        for entry, after in pairwise((*append, None)):
            if not isinstance(entry, ApprovalAnswered) or entry.call not in presented or not entry.allowed:
                continue
            if not isinstance(after, ModeChanged):
                yield f"plan {entry.call} is approved, and its mode is not with it"
    for entry in entries:
        if isinstance(entry, ApprovalAnswered) and entry.call in presented:
            if entry.call in answered:
                yield f"plan {entry.call} was answered twice"
            answered[entry.call] = entry
        if isinstance(entry, CallEnded) and entry.call in presented:
            answer = answered.get(entry.call)
            approved = answer is not None and answer.allowed
            if entry.outcome == "ok" and (not approved or APPROVED not in (entry.text or "")):
                yield f"plan {entry.call} counts as approved: {entry.text}"
            if answer is not None and not approved and entry.outcome == "denied" and WORDS not in (entry.text or ""):
                yield f"plan {entry.call} was rejected, and the words are lost: {entry.text}"


def truth_of_questions(
    entries: Sequence[Entry], appends: Sequence[Sequence[Entry]], gave: Sequence[ApprovalAnswer]
) -> Iterator[str]:
    """Yield where a question of the model has not one fate, or another answer than the user gave.

    `appends` are the entries as they were appended together, `gave` what users answered, also if it was not heard.
    """
    questions = _calls(entries, "ask_user")
    asked_calls = [entry.call for entry in entries if isinstance(entry, ApprovalAsked) and entry.call in questions]
    if len(asked_calls) > len({*asked_calls}):
        yield f"questions {asked_calls} were journalled twice"
    if ran := [entry for entry in entries if isinstance(entry, CallStarted) and entry.call in questions]:
        yield f"questions ran: {ran}"
    answered = {entry.call: entry for entry in entries if isinstance(entry, ApprovalAnswered)}
    for append in appends:
        answered_calls = [
            entry.call for entry in append if isinstance(entry, ApprovalAnswered) and entry.call in questions
        ]
        if answered_calls != [
            entry.call for entry in append if isinstance(entry, CallEnded) and entry.call in answered_calls
        ]:
            yield f"the answer to question {answered_calls} is in the journal without its outcome"
    known = [(each.chosen, each.reason) for each in gave]
    for end in entries:
        if not isinstance(end, CallEnded) or end.call not in questions:
            continue
        answer, text = answered.get(end.call), end.text or ""
        if answer is None:
            if end.outcome == "ok" or "chose:" in text:
                yield f"question {end.call} counts as answered: {text}"
            elif end.call in asked_calls and end.outcome == "not_started" and "No option was chosen" not in text:
                yield f"question {end.call} was put to the user, and its end does not say so: {text}"
            continue
        if (answer.chosen, answer.words) not in known:
            yield f"question {end.call} has an answer that nobody gave: {answer}"
        if end.outcome != ("ok" if answer.allowed else "denied"):
            yield f"question {end.call} was answered, and ended {end.outcome}"
        if lost := [each for each in (*answer.chosen, answer.words) if each not in text]:
            yield f"question {end.call} was answered, and {lost} is lost: {text}"
