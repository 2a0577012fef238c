"""The question about a call, from its entries alone: the page may be far from the agent that asks. Pure."""

from __future__ import annotations

import re

import msgspec

from holdfast.errors import ToolFailed
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import Mode
from holdfast.ui.view.blocks import call_block
from holdfast.ui.view.declared_arguments import declared_arguments, declared_name
from holdfast.ui.view.question import (
    EDITS,
    NO,
    ONCE,
    PLAN_CHOICES,
    AnswerChoice,
    question_of_the_model,
    remembering_choices,
)

_REASON = re.compile(r"^The call (?:'.*?'|\".*?\") (?=[a-z]+ )", re.DOTALL)
"""How a reason begins, which the title says already."""


class PageChoice(msgspec.Struct, frozen=True):
    """One possible answer, with what it gives."""

    text: str
    allows: bool
    remember: str = ""
    mode: str = ""
    option: str = ""
    note: str = ""


class PageQuestion(msgspec.Struct, frozen=True):
    """An open question: `title` names the call, `why` says why the user is asked."""

    call: str
    text: str
    title: str
    why: str
    choices: tuple[PageChoice, ...]
    several: bool = False


def page_question(part: CallPart, asked: e.ApprovalAsked, *, mode: Mode, project: bool) -> PageQuestion:
    """Return the question that the entry asks about a call; with `project`, an answer may count for the folder too."""
    title = call_block(part, part.id, cut=False).title
    match declared_name(part):
        case "present_plan":
            return PageQuestion(part.id, "Carry out this plan?", "", "", _shown(PLAN_CHOICES))
        case "ask_user":
            return _of_the_model(part)
        case _:
            patterns = asked.patterns or ((asked.pattern,) if asked.pattern is not None else ())
            kept = [each for each in remembering_choices(patterns) if project or each.remember != "project"]
            if mode == "ask" and patterns and all(each.effect == "write" for each in patterns):
                kept.append(EDITS)
            runs = declared_name(part) == "bash"
            text = "Run this command?" if runs else "Allow this call?"
            why = _REASON.sub("It ", asked.why)
            return PageQuestion(part.id, text, title, why, _shown((ONCE, *kept, NO)))


def _of_the_model(part: CallPart) -> PageQuestion:
    from holdfast.tools.builtin.ask_user import AskUserTool  # noqa: PLC0415 - when the model asks

    try:
        plan = AskUserTool().plan(part.id, declared_arguments(part))
    except ToolFailed:
        return PageQuestion(part.id, "The model asks:", "", "", ())
    if plan.question is None:
        return PageQuestion(part.id, "The model asks:", "", "", ())
    question = question_of_the_model(plan.question, detail=plan.detail)
    title = plan.detail or ""
    return PageQuestion(part.id, question.text, title, "", _shown(question.choices), several=question.several)


def _shown(choices: tuple[AnswerChoice, ...]) -> tuple[PageChoice, ...]:
    return tuple(
        PageChoice(each.text, each.allows, each.remember, each.mode or "", each.option, each.note) for each in choices
    )
