"""Refuse a conversation in a supported format that was named as another: its messages would all become quoted text."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import DamageError
from holdfast.history.formats import FORMATS, find_format
from holdfast.history.formats.format import Format

_NO_MESSAGE = frozenset({"unknown-role", "malformed"})
_LEAST = 2


def refuse_other_format(messages: Sequence[object], form: Format) -> None:
    """Raise `DamageError` if none of the messages is one in this format, and each is one in another.

    A single message says too little: it may be a damaged one.
    """
    if len(messages) < _LEAST or any(_is_message(form, index, raw) for index, raw in enumerate(messages)):
        return
    for name in FORMATS:
        other = find_format(name)
        if all(_is_message(other, index, raw) for index, raw in enumerate(messages)):
            raise DamageError(
                f"The document is not a conversation in the format {form.name}: none of its messages is one, but each"
                f" is one in the format {name}. Pass that format."
            )


def _is_message(form: Format, index: int, raw: object) -> bool:
    return not form.message(index, raw).flags & _NO_MESSAGE
