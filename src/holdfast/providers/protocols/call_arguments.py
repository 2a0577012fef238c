"""The arguments of a call: put together from the pieces that arrive, and written for protocols that send an object.

How it works. Pieces that follow each other are the JSON text of one object: that text is what the model wrote, and it
is kept byte for byte. Servers deviate in few ways, each undone without a guess, because only one object is left:

    {}{"path": "a"}                  an empty object first, from a default          {"path": "a"}
    {"path": "a"}{"path": "a"}       the last event repeats the whole call          {"path": "a"}
    {"pa  {"path"  {"path": "a"}     each piece repeats those before it             {"path": "a"}
    the text as a string of JSON     it is encoded once more                         {"path": "a"}

Why not take the last object, or the longest? Two objects that differ mean that a piece belongs to another call. Such a
text stays as it is: it is no object, so the call is refused before anything runs, and the model writes it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from holdfast.history.formats.format import is_arguments, is_object

_BLANK = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()

_MOST_VALUES = 64
"""JSON values in one text that are looked at; no server repeats a call as often."""

_MOST_ENCODINGS = 3
"""How often a text is decoded that is encoded as a string."""

_CONTROL_TOKEN = "<|"  # noqa: S105 - it marks a token of a chat template, and is no secret


class _RepeatedKey(Exception):
    """A key occurs twice in one object."""


def whole_arguments(pieces: Sequence[str], statements: Sequence[str] = ()) -> str:
    """Return the arguments that the pieces make. `statements` are texts that a server sent as all of them.

    If they do not fit together, the result is no JSON text of an object, so no call is run with it.
    """
    text = "".join(pieces)
    stated = [found for each in statements if (found := _one_object((each,))) is not None]
    joined = _one_object(pieces)
    if not stated:
        return text if joined is None else joined
    found = [each for each in (joined, *stated) if each is not None]
    distinct = {_canonical(each): each for each in found if not _is_empty(each)}
    return "".join(distinct.values()) or found[0]


def has_surplus(pieces: Sequence[str]) -> bool:
    """Return whether the pieces are no object, or several: perhaps some belong to another call."""
    text = "".join(pieces)
    if not text.strip() or is_arguments(text):
        return False
    if (objects := _objects(text)) is None:
        return _one_object(pieces) is None
    return sum(not _is_empty(each) for each in objects) > 1


def tool_name(written: str) -> str:
    """Return the name without what follows a chat template's control token in it (`read<|channel|>commentary`)."""
    name, token, _ = written.partition(_CONTROL_TOKEN)
    return name.strip() or written if token else written


def arguments_object(arguments: str) -> msgspec.Raw:
    """Return the arguments as the model wrote them; they must be the JSON text of an object.

    If a key occurs twice in one object, the last value is sent, which is the one that was run: Anthropic and Google
    refuse a whole request for a repeated key.
    """
    try:
        json.loads(arguments, object_pairs_hook=_refuse_repeated_keys, parse_int=str, parse_float=str)
    except _RepeatedKey:
        return msgspec.Raw(msgspec.json.encode(msgspec.json.decode(arguments)))
    except (ValueError, RecursionError):  # deeper than the standard library reads: sent as it is
        pass
    return msgspec.Raw(arguments.encode())


def _one_object(pieces: Sequence[str]) -> str | None:
    """Return the JSON text of the one object that the pieces make, None if they make none or several."""
    text = "".join(pieces)
    if is_arguments(text):
        return text
    if (objects := _objects(text)) is not None:
        distinct = {_canonical(each): each for each in objects if not _is_empty(each)}
        if len(distinct) > 1 or not objects:
            return None
        return next(iter(distinct.values()), objects[0])
    filled = [each for each in pieces if each.strip()]
    if all(after.startswith(before) for before, after in pairwise(filled)):
        return filled[-1] if filled and is_arguments(filled[-1]) else None
    return None


def _objects(text: str) -> list[str] | None:
    """Return the JSON texts of the objects that the text is a sequence of, None if it is anything else."""
    objects: list[str] = []
    try:
        for value, written in _values(text):
            found = _decoded_object(value, written)
            if found is not None:
                objects.append(found)
            elif value is not None:
                return None
    except (ValueError, RecursionError):
        return None
    return objects


def _values(text: str) -> Iterator[tuple[object, str]]:
    """Yield each JSON value of the text, with its own text. Raise `ValueError` for anything else."""
    at, count = _end_of_blank(text, 0), 0
    while at < len(text):
        count += 1
        if count > _MOST_VALUES:
            raise ValueError(f"more than {_MOST_VALUES} values")
        value, end = _DECODER.raw_decode(text, at)
        yield value, text[at:end]
        at = _end_of_blank(text, end)


def _decoded_object(value: object, written: str) -> str | None:
    """Return the JSON text of an object, which may be encoded as a string again and again."""
    for _ in range(_MOST_ENCODINGS):
        if not isinstance(value, str):
            break
        written = value.strip()
        value = json.loads(written)
    return written if is_object(value) and is_arguments(written) else None


def _canonical(arguments: str) -> str:
    return json.dumps(json.loads(arguments), sort_keys=True)


def _is_empty(arguments: str) -> bool:
    return arguments[1:-1].strip() == "" if arguments.startswith("{") else arguments.strip()[1:-1].strip() == ""


def _end_of_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        raise _RepeatedKey
