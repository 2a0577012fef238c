"""Shared by all formats that write messages: original values, contents of results, quotations.

Two rules. What no edit names is written as it was. In the place of what is left out stands a note that says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

from holdfast.history.draft_messages import DraftPart
from holdfast.history.formats.format import as_array, as_object, block_text, is_array, is_object, quoted, words
from holdfast.history.shape import Path


def raw_at(path: Path, messages: Sequence[object]) -> object:
    """Return the value at the path."""
    raw: object = messages
    for key in path:
        raw = as_object(raw).get(key) if isinstance(key, str) else as_array(raw)[key]
    return raw


def note_block(left_out: Sequence[tuple[int, str]]) -> str:
    """Return the note that replaces something left out."""
    return "".join(f"[{why}, and was left out.]" for _, why in left_out)


def fields_told(fields: Sequence[tuple[Path, Sequence[str]]], messages: Sequence[object]) -> str:
    """Return the text of fields that the provider does not know."""
    told = (f"field {name}" for _, names in fields for name in names)
    said = (as_object(raw_at(path, messages)).get(name) for path, names in fields for name in names)
    return "\n\n".join(quoted(name, words(value)) for name, value in zip(told, said, strict=True))


def held_now(
    parts: Sequence[object], piece: DraftPart, *, is_media: Callable[[object], bool], text: Callable[[str], object]
) -> object:
    """Return the new content of a result: filled if nothing else is left, with a note in place of bad media."""
    reasons = dict(piece.left_out)
    which = -1
    kept: list[object] = []
    for part in parts:
        which += (media := is_media(part))
        if media and which in reasons:
            kept.append(text(note_block([(which, reasons[which])])))
        elif piece.text is None or not _is_blank(part):
            kept.append(part)
    return kept if kept or piece.text is None else piece.text


def _is_blank(part: object) -> bool:
    text = as_object(part).get("text") if is_object(part) else part
    return isinstance(text, str) and not text.strip()


def quoted_result(what: str, held: object, fits: Callable[[object], bool]) -> Iterator[object]:
    """Yield a result as text, then each of its blocks that `fits` into a user message, unchanged."""
    values = list(_along(held if is_array(held) else [held], fits))
    lead = list(takewhile(lambda value: isinstance(value, str), values))
    yield quoted(what, "\n".join(map(words, lead))) if lead or not values else quoted(what, "").rstrip()
    yield from values[len(lead) :]


def _along(held: Sequence[object], fits: Callable[[object], bool]) -> Iterator[object]:
    for each in held:
        text = block_text(each) if is_object(each) else words(each) if each is not None else ""
        if each != {} and (text is None or text.strip()):
            yield each if fits(each) else words(each)
