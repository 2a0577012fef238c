"""A document as it comes: a list of messages or a whole request body, read from JSON that may be damaged.

Two rules. What is damaged is told with its position, never skipped. What stands beside the messages comes back as it
was.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence

import msgspec

from holdfast.errors import DamageError, UsageError
from holdfast.history.formats.format import Format, Json, is_array, is_object
from holdfast.history.shape import Path, position

_DATA = (dict, list, tuple, str, int, float, type(None))
_SHOWN = 6  # steps of a path: enough to find the place


class Damage(msgspec.Struct, frozen=True):
    """Something in the text of a document that is not what it should be."""

    path: Path
    sentence: str


class Read(msgspec.Struct, frozen=True):
    """A document, and the damage found while reading it."""

    document: object
    damage: tuple[Damage, ...] = ()


def read(text: str | bytes) -> Read:
    """Return the document that the JSON text holds; raises `DamageError` with the position where it is no JSON."""
    twice: dict[int, tuple[object, list[str]]] = {}  # the object is kept alive, or its id would be another's

    def pairs(members: list[tuple[str, object]]) -> Json:
        found: Json = dict(members)
        if len(found) != len(members):
            seen: set[str] = set()
            again = {key for key, _ in members if key in seen or seen.add(key)}
            twice[id(found)] = (found, sorted(again))
        return found

    written = _decoded(text) if isinstance(text, bytes) else text
    try:
        document = json.loads(written, object_pairs_hook=pairs, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        lines = error.msg == "Extra data" and error.lineno > 1
        to_do = "If each line is a message (JSON Lines), make a list of them." if lines else "Mend the text there."
        raise DamageError(
            f"The document is not JSON at line {error.lineno}, column {error.colno} ({error.msg}), a conversation in"
            f" JSON was expected. {to_do}"
        ) from error
    except (RecursionError, ValueError) as error:
        raise DamageError(
            f"The document is not JSON{_where(written, error)}, a conversation in JSON was expected. Mend the text"
            " there."
        ) from error
    return Read(document, tuple(_duplicates(document, (), twice)) if twice else ())


def _decoded(data: bytes) -> str:
    try:
        return data.decode(json.detect_encoding(data))
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(error.encoding, "replace")
        raise DamageError(
            f"The document is not JSON at {_at(before, len(before))} ({error.reason}), a conversation in JSON was"
            " expected. Mend the text there."
        ) from error


def _where(text: str, error: Exception) -> str:
    """Return where in the text it is that Python's parser gives up without saying where, and why."""
    depth = deepest = place = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[\]{}]|-?Infinity|NaN|\d+', text):
        word = token[0]
        if word in ("NaN", "Infinity", "-Infinity") or (
            word.isdigit() and len(word) > sys.get_int_max_str_digits() > 0
        ):
            if isinstance(error, ValueError):
                return f" at {_at(text, token.start())} ({error})"
        elif word in "[{":
            depth += 1
            deepest, place = max((deepest, place), (depth, token.start()))
        elif word in "]}":
            depth -= 1
    return f": {deepest} levels are open at {_at(text, place)}, which is too deep"


def _at(text: str, index: int) -> str:
    return f"line {text.count(chr(10), 0, index) + 1}, column {index - text.rfind(chr(10), 0, index)}"


def _no_number(word: str) -> object:
    raise ValueError(f"{word} is not a number in JSON")


def _duplicates(raw: object, path: Path, twice: dict[int, tuple[object, list[str]]]) -> list[Damage]:
    found = [
        Damage((*path, key), f"The key {key!r} stands twice in one object; the last value counts.")
        for key in twice.get(id(raw), (raw, []))[1]
    ]
    if is_object(raw):
        for key, value in raw.items():
            found += _duplicates(value, (*path, key), twice)
    elif is_array(raw):
        for index, value in enumerate(raw):
            found += _duplicates(value, (*path, index), twice)
    return found


def messages_in(document: object, form: Format) -> tuple[Sequence[object], str | None]:
    """Return the messages of the document and the key that holds them, None if it is the list itself.

    Raises `DamageError` if it is neither a list nor a request body of the format.
    """
    if is_array(document):
        return document, None
    if is_object(document):
        for key in form.keys:
            if is_array(messages := document.get(key)):
                return messages, key
            if key == "input" and isinstance(messages, str):  # in Responses a text alone is what the user says
                return [{"role": "user", "content": messages}], key
            if key == "contents" and isinstance(messages, str):  # and in an SDK of Gemini's
                return [{"role": "user", "parts": [{"text": messages}]}], key
            if key == "contents" and is_object(messages):  # which, as the endpoint, takes one message for a list of one
                return [messages], key
    raise DamageError(
        f"The document is not a conversation of the format {form.name}, a list of messages or an object with"
        f" {' or '.join(repr(key) for key in form.keys)} was expected. Name its format, or take the list out of it."
    )


def expect_data(messages: Sequence[object]) -> None:
    """Raise `UsageError` if a message is an object of a program, not data, whose words nobody can know here."""
    for index, message in enumerate(messages):
        if not isinstance(message, _DATA):
            raise UsageError(
                f"Message {index} is an object of the class {type(message).__name__!r}, plain data as JSON holds it was"
                " expected. Make data of it first: message.model_dump(exclude_none=True) for an SDK's,"
                " ModelMessagesTypeAdapter.dump_python(messages, mode='json') for those of pydantic-ai."
            )


def too_deep(document: object) -> DamageError:
    """Return the error that says where the document is nested deeper than can be followed."""
    levels = [((), document)]
    deepest: Path = ()
    while levels:
        path, raw = levels.pop()
        deepest = max(deepest, path, key=len)
        if is_object(raw):
            levels += [((*path, key), value) for key, value in raw.items()]
        elif is_array(raw):
            levels += [((*path, index), value) for index, value in enumerate(raw)]
    return DamageError(
        f"The document is nested {len(deepest)} levels deep at {position(deepest[:_SHOWN])}…, which is too deep to"
        " follow, a conversation was expected. Take the value out, or make it text."
    )
