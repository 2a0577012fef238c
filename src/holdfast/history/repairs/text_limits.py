"""Shortens what is longer than a provider accepts: its beginning and its end stay, with a note between them.

This is the last step of a repair, after all other edits, because joining messages can make a text too long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from holdfast.history.edits import Shorten
from holdfast.history.formats.format import as_array, is_object, json_text, quoted_arguments
from holdfast.history.rules import Violation
from holdfast.history.rules.profile import TextLimits
from holdfast.history.shape import Path


def shorten_edits(left: Iterable[Violation], limits: TextLimits, *, frozen: int) -> Iterator[Shorten]:
    """Yield an edit for each text, and the arguments of each call, that is too long; none of the first messages."""
    for each in left:
        if each.message < frozen:
            continue
        if each.rule == "text-too-long" and limits.text is not None:
            yield Shorten(each.path, limits.text, "text")
        elif each.rule == "arguments-too-long" and limits.arguments is not None:
            yield Shorten(each.path, limits.arguments, "arguments")


def with_shortened(messages: Sequence[object], edits: Iterable[Shorten]) -> list[object]:
    """Return the messages with the edits applied; those without an edit are the same objects."""
    written = list(messages)
    for edit in edits:
        index = edit.path[0]
        assert isinstance(index, int)
        written[index] = _replaced(written[index], edit.path[1:], edit)
    return written


def _replaced(raw: object, path: Path, edit: Shorten) -> object:
    if not path:
        return _shortened(raw, edit)
    key, rest = path[0], path[1:]
    if is_object(raw) and isinstance(key, str):
        return {**raw, key: _replaced(raw[key], rest, edit)}
    return [_replaced(each, rest, edit) if at == key else each for at, each in enumerate(as_array(raw))]


def _shortened(raw: object, edit: Shorten) -> object:
    if edit.what == "text":
        return shortened_text(str(raw), edit.most)
    return shortened_arguments(raw, edit.most)


def shortened_text(text: str, most: int) -> str:
    """Return the beginning and the end of a text that is longer than `most` characters, within that limit."""
    room = max(most - len(_note(len(text))), 0)
    begin = (room + 1) // 2
    note = _note(len(text) - room)[:most]
    return f"{text[:begin]}{note}{text[len(text) - (room - begin) :]}"


def _note(characters: int) -> str:
    return f"\n[{characters} characters are left out here: so long a text is not accepted.]\n"


def shortened_arguments(raw: object, most: int) -> object:
    """Return an object that quotes the beginning and the end of arguments, as JSON text if they were text."""
    written = raw if isinstance(raw, str) else json_text(raw)
    room = most
    result = quoted_arguments(shortened_text(written, room))
    while (size := len(json_text(result))) > most and room > 0:  # escaped characters take more room
        room = min(room * most // size, room - 1)
        result = quoted_arguments(shortened_text(written, room))
    return json_text(result) if isinstance(raw, str) else result
