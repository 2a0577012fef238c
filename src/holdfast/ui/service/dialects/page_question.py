"""The question about a call as the page shows it: the one in the journal, and that of an older journal. Pure."""

from __future__ import annotations

import msgspec

from holdfast.errors import ToolFailed
from holdfast.questions import EDITS, NO, Question, QuestionRules
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.text import literal
from holdfast.tool_calls import Mode
from holdfast.tools.approval.question import PLAN_CHOICES, question_of_the_model
from holdfast.typed_data import decode_json
from holdfast.ui.view.declared_arguments import declared_arguments, declared_name


def page_question(part: CallPart, entry: e.ApprovalAsked, *, mode: Mode, rules: QuestionRules) -> Question:
    """Return the question about a call, with signs that reorder text or are invisible written out."""
    question = question_of_entry(part, entry, mode=mode, rules=rules)
    choices = tuple(
        msgspec.structs.replace(
            each,
            label=literal(each.label),
            subject=literal(each.subject),
            option=literal(each.option),
            note=literal(each.note),
        )
        for each in question.choices
    )
    return msgspec.structs.replace(
        question,
        text=literal(question.text),
        why=literal(question.why),
        warnings=tuple(map(literal, question.warnings)),
        title=literal(question.title),
        detail=literal(question.detail),
        choices=choices,
    )


def question_of_entry(part: CallPart, entry: e.ApprovalAsked, *, mode: Mode, rules: QuestionRules) -> Question:
    """Return the question of the entry. That of an older journal is built from its call, as well as one can.

    The next process that drives the session asks the older one again, with all that belongs to it.
    """
    question = entry.question
    if question.id:
        return question
    call, name = part.id, declared_name(part)
    change = msgspec.structs.replace
    if name == "present_plan":
        return change(question, id=call, text="Carry out this plan?", why="", choices=PLAN_CHOICES)
    if name == "ask_user":
        return change(_of_the_model(part), id=call, call=call)
    choices = [each for each in question.choices if rules.allow(each)]
    if mode == "ask" and question.patterns and all(each.effect == "write" for each in question.patterns):
        choices.insert(choices.index(NO), EDITS)
    return change(
        question,
        id=call,
        text="Run this command?" if name == "bash" else question.text,
        warnings=(entry.notice,) if entry.notice else (),
        detail=_whole_call(part),
        choices=tuple(choices),
    )


def _whole_call(part: CallPart) -> str:
    """Return all of a command, or the call with all of its arguments: a user sees what an answer allows."""
    arguments = declared_arguments(part)
    try:
        fields = decode_json(arguments, dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # invalid arguments: shown as they are
        fields = {}
    command = fields.pop("command", None)
    if not isinstance(command, str):
        return f"{part.name} {arguments}"
    return "\n".join((command, *([msgspec.json.encode(fields).decode()] if fields else [])))


def _of_the_model(part: CallPart) -> Question:
    from holdfast.tools.builtin.ask_user import AskUserTool

    try:
        plan = AskUserTool().plan(part.id, declared_arguments(part))
    except ToolFailed:
        return Question(text="The model asks:", choices=())
    if plan.question is None:
        return Question(text="The model asks:", choices=())
    return msgspec.structs.replace(question_of_the_model(plan.question, detail=plan.detail), detail=plan.detail)
