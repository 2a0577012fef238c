"""Recognize conversations in unsupported formats, so that they are not mistaken for a supported one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.errors import DamageError
from holdfast.history.foreign.programs import LOOKALIKES, Lookalike
from holdfast.history.formats.format import Json, as_array, as_object, is_object


def lookalike(document: object, *, marked: bool) -> Lookalike | None:
    """Return the unsupported format that the document looks like, None if none.

    With `marked`, a `mark` is required: a hint may belong to another program.
    """
    messages = list(_messages(document))
    if not messages or len(messages) != len(_listed(document)):
        return None
    for each in LOOKALIKES:
        recognizes = each.mark if marked else each.hint
        if all(each.fits(raw) for raw in messages) and any(recognizes(raw) for raw in messages):
            return each
    return None


def refuse_lookalike(document: object, *, marked: bool = True) -> None:
    """Raise `DamageError` if the document is a conversation in an unsupported format; `marked` as in `lookalike`."""
    if (found := lookalike(document, marked=marked)) is not None:
        raise DamageError(f"The document is in an unsupported format: it looks like {found.name}. {found.to_do}")


def _listed(document: object) -> Sequence[object]:
    body = as_object(document)
    return as_array(document) or next((found for key in _HOLDERS if (found := as_array(body.get(key)))), ())


_HOLDERS = ("messages", "events", "conversations", "history", "data")
"""The keys of a document that programs give to its messages."""


def _messages(document: object) -> Iterator[Json]:
    yield from (each for each in _listed(document) if is_object(each))
