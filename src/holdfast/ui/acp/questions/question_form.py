"""A question of the model or of a server as a form, and the answer in a filled form. Pure.

A form has the options of the question, and a field for free text if the question accepts it. Both may be filled.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.questions import ApprovalAnswer, Question
from holdfast.typed_data import convert_value
from holdfast.ui.acp.display.call_cards import AcpFields

_ANSWER, _FREE_TEXT = "answer", "own_words"


def question_form(question: Question) -> AcpFields:
    """Return the schema of the form for a question."""
    options: list[AcpFields] = [
        {"const": each.name, "title": each.option, **({"description": each.note} if each.note else {})}
        for each in question.choices
        if each.option
    ]
    answer: AcpFields = (
        {"type": "array", "title": "Answers", "items": {"anyOf": options}}
        if question.several
        else {"type": "string", "title": "Answer", "oneOf": options}
    )
    free_text: AcpFields = {"type": "string", "title": "Your answer" if question.by else "In your own words"}
    fields = {_ANSWER: answer, _FREE_TEXT: free_text} if question.choice("own") is not None else {_ANSWER: answer}
    return {"type": "object", "properties": fields, "required": []}


class FilledForm(msgspec.Struct, frozen=True):
    """The client's answer to a form."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, str | int | float | bool | list[str]] | None = None


def filled_form(result: object) -> FilledForm | None:
    """Return the client's answer, None if it is invalid."""
    try:
        return convert_value(result, FilledForm)
    except (msgspec.ValidationError, RecursionError):
        return None


def form_answer(form: FilledForm, question: Question) -> ApprovalAnswer | None:
    """Return the answer to the question in an accepted form, None if the form has no usable answer."""
    content = form.content or {}
    answer, free_text = content.get(_ANSWER, []), content.get(_FREE_TEXT, "")
    names = answer if isinstance(answer, list) else [answer] if answer else []
    choices = [question.choice(str(name)) for name in names]
    if not isinstance(free_text, str) or not all(each is not None and each.option for each in choices):
        return None
    chosen = tuple(dict.fromkeys(each.option for each in choices if each is not None))
    if not chosen and not free_text.strip():
        return None
    return ApprovalAnswer(allowed=True, reason=free_text.strip(), chosen=chosen)
