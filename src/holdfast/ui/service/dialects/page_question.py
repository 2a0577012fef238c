"""The question about a call, from its entries alone: the agent may run on another machine. Pure."""

from __future__ import annotations

import re

import msgspec

from holdfast.errors import ToolFailed
from holdfast.questions import AnswerChoice
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.text import literal
from holdfast.tool_calls import Mode
from holdfast.tools.approval.question import (
    EDITS,
    NO,
    PLAN_CHOICES,
    level_choices,
    question_of_the_model,
    remembering_choices,
)
from holdfast.typed_data import decode_json
from holdfast.ui.view.declared_arguments import declared_arguments, declared_name

_REASON = re.compile(r"^The call (?:'.*?'|\".*?\") (?=[a-z]+ )", re.DOTALL)
"""The beginning of a reason that repeats the title."""


class PageChoice(msgspec.Struct, frozen=True):
    """One possible answer, with its effect."""

    text: str
    allows: bool
    remember: str = ""
    mode: str = ""
    option: str = ""
    note: str = ""
    level: str = ""


class PageQuestion(msgspec.Struct, frozen=True):
    """An open question: `title` names the call, `why` is the reason for asking."""

    call: str
    text: str
    title: str
    why: str
    choices: tuple[PageChoice, ...]
    several: bool = False


def page_question(part: CallPart, approval: e.ApprovalAsked, *, mode: Mode, project: bool) -> PageQuestion:
    """Return the question about a call. With `project`, an answer may be remembered for the folder."""
    match declared_name(part):
        case "present_plan":
            return PageQuestion(part.id, "Carry out this plan?", "", "", _page_choices(PLAN_CHOICES))
        case "ask_user":
            return _of_the_model(part)
        case _:
            patterns = approval.patterns or ((approval.pattern,) if approval.pattern is not None else ())
            choices = [each for each in remembering_choices(patterns) if project or each.remember != "project"]
            if mode == "ask" and patterns and all(each.effect == "write" for each in patterns):
                choices.append(EDITS)
            runs = declared_name(part) == "bash"
            text = "Run this command?" if runs else "Allow this call?"
            why = " ".join(filter(None, (_REASON.sub("It ", approval.why), approval.notice)))
            first, last = level_choices(approval.level, approval.hosts)
            return PageQuestion(part.id, text, _whole_call(part), why, _page_choices((*first, *choices, *last, NO)))


def _whole_call(part: CallPart) -> str:
    """Return all of a command, or the call with all of its arguments: a user sees what an answer allows.

    Rule: nothing is cut, and signs that reorder text or are invisible are written out.
    """
    arguments = declared_arguments(part)
    try:
        fields = decode_json(arguments, dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # invalid arguments: shown as they are
        fields = {}
    command = fields.pop("command", None)
    if not isinstance(command, str):
        return literal(f"{part.name} {arguments}")
    return literal("\n".join((command, *([msgspec.json.encode(fields).decode()] if fields else []))))


def _of_the_model(part: CallPart) -> PageQuestion:
    from holdfast.tools.builtin.ask_user import AskUserTool

    try:
        plan = AskUserTool().plan(part.id, declared_arguments(part))
    except ToolFailed:
        return PageQuestion(part.id, "The model asks:", "", "", ())
    if plan.question is None:
        return PageQuestion(part.id, "The model asks:", "", "", ())
    question = question_of_the_model(plan.question, detail=plan.detail)
    title = plan.detail or ""
    return PageQuestion(part.id, question.text, title, "", _page_choices(question.choices), several=question.several)


def _page_choices(choices: tuple[AnswerChoice, ...]) -> tuple[PageChoice, ...]:
    return tuple(
        PageChoice(each.text, each.allows, each.remember, each.mode or "", each.option, each.note, each.level)
        for each in choices
    )
