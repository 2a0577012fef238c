"""Reads a document from possibly damaged JSON: a list of messages or a whole request body.

Damage is reported with its position, never skipped. Everything besides the messages is returned unchanged.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence

import msgspec

from holdfast.errors import DamageError, UsageError
from holdfast.history.formats.format import Format, Json, is_array, is_object
from holdfast.history.shape import Path, position
from holdfast.typed_data import decode_fault

_DATA = (dict, list, tuple, str, int, float, type(None))
_SHOWN = 6  # steps of a path: enough to find the place


class Damage(msgspec.Struct, frozen=True):
    """A key that occurs twice in one object of the document."""

    position: str
    line: int
    column: int
    sentence: str

    @property
    def at(self) -> str:
        """Return its position in the text."""
        return f"line {self.line}, column {self.column}"


class Read(msgspec.Struct, frozen=True):
    """A document, and the damage found while reading it."""

    document: object
    damage: tuple[Damage, ...] = ()


def read_document(data: bytes) -> Read:
    """Return the document in JSON text, UTF-8 with or without a byte order mark.

    Raise `DamageError`, with line and column, if it is neither.
    """
    text = _decoded(data)
    del data  # bytes, text and values of a long document are too much at once; frees the bytes if the caller does too
    twice = False

    def members(found: list[tuple[str, object]]) -> Json:
        nonlocal twice
        obj: Json = dict(found)
        twice = twice or len(obj) != len(found)
        return obj

    try:
        document = json.loads(text, object_pairs_hook=members, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        lines = error.msg == "Extra data" and error.lineno > 1
        to_do = "If each line is a message (JSON Lines), make a list of them." if lines else "Fix the text there."
        raise DamageError(
            f"The document is not JSON at line {error.lineno}, column {error.colno} ({error.msg}). {to_do}"
        ) from error
    except (RecursionError, ValueError) as error:
        raise DamageError(f"The document is not JSON{_where(text, error)}. Fix the text there.") from error
    return Read(document, tuple(_repeats(text)) if twice else ())


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig")
        raise DamageError(
            f"The document is not UTF-8 at {_at(before, len(before))} (byte {data[error.start]:#04x})."
            " Fix the text there, or convert the file to UTF-8."
        ) from error


def _where(text: str, error: Exception) -> str:
    """Return the position and the reason if Python's parser failed without naming a position."""
    depth = deepest = place = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[\]{}]|-?Infinity|NaN|\d+', text):
        word = token[0]
        if word in ("NaN", "Infinity", "-Infinity") or (
            word.isdigit() and len(word) > sys.get_int_max_str_digits() > 0
        ):
            if isinstance(error, ValueError):
                return f" at {_at(text, token.start())} ({decode_fault(error)})"
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


def _repeats(text: str) -> Iterator[Damage]:
    """Yield each key that repeats an earlier key of the same object, in text order."""
    line, counted = 1, 0
    path: list[str | int] = []
    keys: list[set[str]] = []
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"(?P<key>\s*:)?|[\[\]{},]', text):
        match token[0]:
            case "{" | "[":
                keys.append(set())
                path.append(0 if token[0] == "[" else "")
            case "}" | "]":
                keys.pop()
                path.pop()
            case "," if isinstance(index := path[-1], int):
                path[-1] = index + 1
            case string if token["key"]:
                path[-1] = key = json.loads(string.removesuffix(token["key"]))
                if key in keys[-1]:
                    start = token.start()
                    line, counted = line + text.count("\n", counted, start), start
                    column = start - text.rfind("\n", 0, start)
                    sentence = f"The key {key!r} occurs twice in one object; the last value counts."
                    yield Damage(position(tuple(path)), line, column, sentence)
                keys[-1].add(key)
            case _:
                pass


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
            if key == "input" and isinstance(messages, str):  # Responses accepts the user's text alone
                return [{"role": "user", "content": messages}], key
            if key == "contents" and isinstance(messages, str):  # an SDK for Gemini accepts it too
                return [{"role": "user", "parts": [{"text": messages}]}], key
            if key == "contents" and is_object(messages):  # the SDK and the endpoint accept one message without a list
                return [messages], key
    raise DamageError(
        f"The document is not a conversation in the format {form.name} (expected a list of messages or an object with"
        f" {' or '.join(repr(key) for key in form.keys)}). Choose its format, or extract the list of messages."
    )


def expect_data(messages: Sequence[object]) -> None:
    """Raise `UsageError` if a message is a Python object of another kind: only plain data can be read."""
    for index, message in enumerate(messages):
        if not isinstance(message, _DATA):
            raise UsageError(
                f"Message {index} is an object of the class {type(message).__name__!r} (expected plain data, as in"
                " JSON). Convert it first: message.model_dump(exclude_none=True) for an SDK's message,"
                " ModelMessagesTypeAdapter.dump_python(messages, mode='json') for those of pydantic-ai."
            )


def too_deep(document: object) -> DamageError:
    """Return the error for a document that is nested too deeply, with the position."""
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
        f"The document is nested {len(deepest)} levels deep at {position(deepest[:_SHOWN])}…, which is too deep."
        " Remove the value, or make it text."
    )
