"""The question about a call, as the protocol asks it, and the answer. Pure: the choices are those of every surface."""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.ui.acp.call_cards import AcpFields
from holdfast.ui.view.question import AnswerChoice, Question


def permission_options(question: Question) -> list[AcpFields]:
    """Return the choices as options, in their order; of a question of the model, those that need no words or marks."""
    offered = [each for each in question.choices if each.name not in {"own", "marked"}]
    return [{"optionId": each.name, "name": each.text, "kind": _kind(each)} for each in offered]


def _kind(choice: AnswerChoice) -> str:
    if not choice.allows:
        return "reject_once"
    return "allow_always" if choice.remember or choice.mode is not None else "allow_once"


class _Outcome(msgspec.Struct, frozen=True, rename="camel"):
    outcome: Literal["selected", "cancelled"]
    option_id: str = ""


class _Permission(msgspec.Struct, frozen=True):
    outcome: _Outcome


def chosen_option(result: object, question: Question) -> AnswerChoice | Literal["cancelled"] | None:
    """Return what the client's answer chooses: `cancelled` if the user closed the question, None if it is no answer."""
    try:
        outcome = msgspec.convert(result, _Permission).outcome
    except (msgspec.ValidationError, RecursionError):
        return None
    return "cancelled" if outcome.outcome == "cancelled" else question.choice(outcome.option_id)
