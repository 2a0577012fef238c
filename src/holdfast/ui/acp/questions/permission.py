"""The approval question in the protocol's form, and its answer. Pure. The choices are the same on every surface.

A client without forms gets the model's own question in the same form. If several options may be chosen, it is asked
again after each choice, until the user is done. There is no field for free text: the user types it as the next prompt.
A server's question cannot be answered by a prompt, so a field for text can only be declined there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from holdfast.questions import AnswerChoice, Question
from holdfast.typed_data import convert_value
from holdfast.ui.acp.display.call_cards import AcpFields


def permission_options(question: Question, marked: Sequence[str] = ()) -> list[AcpFields]:
    """Return the choices as options, in order. `marked` are the options of the model's question chosen so far."""
    return [
        {"optionId": each.name, "name": _name(each, question, marked), "kind": _kind(each)}
        for each in question.choices
        if (each.name != "marked" or marked) and not (each.name == "own" and question.by)
    ]


def _name(choice: AnswerChoice, question: Question, marked: Sequence[str]) -> str:
    if choice.name == "own":
        return "Stop, and answer in your own words as the next prompt"
    if not choice.option:
        return choice.text
    box = ("☒ " if choice.option in marked else "☐ ") if question.several else ""
    return f"{box}{choice.option}{f': {choice.note}' if choice.note else ''}"


def _kind(choice: AnswerChoice) -> str:
    if not choice.allows or choice.name == "own":
        return "reject_once"
    return "allow_always" if choice.remember or choice.mode is not None else "allow_once"


class _Outcome(msgspec.Struct, frozen=True, rename="camel"):
    outcome: Literal["selected", "cancelled"]
    option_id: str = ""


class _Permission(msgspec.Struct, frozen=True):
    outcome: _Outcome


def chosen_option(result: object, question: Question) -> AnswerChoice | Literal["cancelled"] | None:
    """Return the choice in the client's answer: `cancelled` if the user closed the question, None if it is invalid."""
    try:
        outcome = convert_value(result, _Permission).outcome
    except (msgspec.ValidationError, RecursionError):
        return None
    return "cancelled" if outcome.outcome == "cancelled" else question.choice(outcome.option_id)
