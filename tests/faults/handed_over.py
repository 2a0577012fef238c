"""A user who decides about plans that the model hands over, and what a journal must say of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from holdfast.agent.turn.asker import ApprovalAnswer, Asker
from holdfast.session.journal.entries import ApprovalAnswered, CallEnded, Entry, ModeChanged, ResponseEnded
from holdfast.session.journal.parts import CallPart
from holdfast.tools.tool import Plan

APPROVED = "The user approved this plan. Mode: ask"
WORDS = "smaller, please"


def decisions(*given: ApprovalAnswer, after: float) -> Callable[[], Asker]:
    """Return a user who gives these answers in turn, each after so many seconds."""

    def user() -> Asker:
        left = list(given)

        async def ask(call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
            del call, plan, why
            await asyncio.sleep(after)
            return left.pop(0)

        return ask

    return user


def truth_of_plans(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield where a plan is approved without its mode, carried out unapproved, or rejected without the words."""
    presented = {
        part.id
        for entry in entries
        if isinstance(entry, ResponseEnded)
        for part in entry.parts
        if isinstance(part, CallPart) and part.name == "present_plan"
    }
    answered: dict[str, ApprovalAnswered] = {}
    for entry, after in pairwise((*entries, None)):
        if isinstance(entry, ApprovalAnswered) and entry.call in presented:
            if entry.call in answered:
                yield f"plan {entry.call} was answered twice"
            answered[entry.call] = entry
            if entry.allowed and not isinstance(after, ModeChanged):
                yield f"plan {entry.call} is approved, and its mode is not with it"
        if isinstance(entry, CallEnded) and entry.call in presented:
            said = answered.get(entry.call)
            approved = said is not None and said.allowed
            if entry.outcome == "ok" and (not approved or APPROVED not in (entry.text or "")):
                yield f"plan {entry.call} counts as approved: {entry.text}"
            if said is not None and not approved and entry.outcome == "denied" and WORDS not in (entry.text or ""):
                yield f"plan {entry.call} was rejected, and the words are lost: {entry.text}"
