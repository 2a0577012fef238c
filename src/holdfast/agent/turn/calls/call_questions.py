"""The question about a call as its journal entry, and the answer to it as another. Pure."""

from __future__ import annotations

import msgspec

from holdfast.questions import ApprovalAnswer, Question, QuestionRules
from holdfast.session.conversation.conversation import OpenCall
from holdfast.session.journal import entries as e
from holdfast.text import valid_unicode
from holdfast.tool_calls import Mode
from holdfast.tools.approval.question import question_of
from holdfast.tools.tool import Plan


def call_question(call: OpenCall, plan: Plan, why: str, *, mode: Mode, rules: QuestionRules) -> e.ApprovalAsked:
    """Return the question about a call, with the level that a yes grants to a command.

    After a crash `why` is the reason of the question before it, if the policy has none any more.
    """
    before = call.approval_request
    question = question_of(plan, mode=mode, why=why, call=call.part.id, rules=rules)
    if before is not None and before.question.id and why == before.question.reason:
        question = msgspec.structs.replace(question, why=before.question.why)
    level = plan.asks_level
    return e.ApprovalAsked(
        call=call.part.id,
        question=question,
        level=level,
        hosts=tuple(map(valid_unicode, plan.network)) if level == "network" else (),
        notice=valid_unicode(plan.sandbox_notice),
    )


def answered_question(question: Question, answer: ApprovalAnswer) -> e.ApprovalAnswered:
    """Return the entry of an answer: what its choice grants; raises `UsageError` if that was not offered."""
    choice = question.chosen(answer)
    patterns = choice.patterns if choice.allows and choice.remember else ()
    return e.ApprovalAnswered(
        call=question.call,
        allowed=choice.allows,
        reason=valid_unicode(answer.words),
        choice=answer.choice,
        remember=choice.remember if patterns else "",
        patterns=patterns,
        mode=choice.mode,
        chosen=question.options_of(answer) if choice.allows else (),
        level=choice.level if choice.allows else "",
    )
