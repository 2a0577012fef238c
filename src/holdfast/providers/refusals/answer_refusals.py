"""Why an answer was refused, read from what providers send beside its end. Values of a wrong type are ignored."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.history.formats.format import is_array, is_object
from holdfast.session.journal.parts import AnswerRefusal


def stop_details(*values: object) -> AnswerRefusal | None:
    """Return the first of Anthropic's `stop_details` that says something, None if none does."""
    for value in values:
        if is_object(value):
            refusal = AnswerRefusal(_text(value.get("category")), _text(value.get("explanation")))
            if refusal.text:
                return refusal
    return None


def filter_refusal(explanation: str, *results: object) -> AnswerRefusal | None:
    """Return why a filter refused: the explanation, and the categories in the results of Azure's filter."""
    categories = dict.fromkeys(name for each in results for name in _filtered(each))
    refusal = AnswerRefusal(", ".join(categories), explanation.strip())
    return refusal if refusal.text else None


def safety_refusal(reason: str, message: object, ratings: object) -> AnswerRefusal:
    """Return why Gemini refused: its reason with the categories that were blocked, and its message."""
    found = ratings if is_array(ratings) else []
    blocked = [_text(each.get("category")) for each in found if is_object(each) and each.get("blocked") is True]
    names = ", ".join(name for name in blocked if name)
    return AnswerRefusal(f"{reason} ({names})" if names else reason, _text(message))


def _filtered(results: object) -> Iterator[str]:
    if is_object(results):
        for name, result in results.items():
            if is_object(result) and (result.get("filtered") is True or result.get("detected") is True):
                yield name


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
