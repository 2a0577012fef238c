"""JSON as the strictest provider parses it: UTF-8, no duplicate keys, no lone surrogates, no NaN."""

from __future__ import annotations

import json
import re
from typing import NoReturn, TypeGuard

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_HIGH, _LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)


class NotJson(ValueError):
    """The bytes are not strict JSON; the message has reason and position, in the words of Anthropic's parser."""


def parse_strict_json(raw: bytes) -> object:
    """Return the document. Raise `NotJson`."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(_at("str is not valid UTF-8: surrogates not allowed", "", error.start)) from error
    _refuse_lone_surrogates(text)
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        ended = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        why, where = ("unexpected end of data", len(text)) if ended else ("unexpected character", error.pos)
        raise NotJson(_at(why, text, where)) from error


def is_json_object(value: object) -> TypeGuard[dict[str, object]]:
    """Return whether a parsed value is a JSON object."""
    return isinstance(value, dict)


def is_json_array(value: object) -> TypeGuard[list[object]]:
    """Return whether a parsed value is a JSON array."""
    return isinstance(value, list)


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a parsed value is a JSON integer; true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def _refuse_lone_surrogates(text: str) -> None:
    if not _SURROGATE.search(text):
        return
    escapes = _ESCAPE.finditer(text)
    for escape in escapes:
        if _unit(escape) in _LOW:
            raise NotJson(_at("invalid high surrogate in string", text, escape.start()))
        if _unit(escape) in _HIGH:
            low = next(escapes, None)
            if low is None or low[1] is None or low.start() != escape.end():
                raise NotJson(_at("no low surrogate in string", text, escape.end()))
            if _unit(low) not in _LOW:
                raise NotJson(_at("invalid low surrogate in string", text, low.start()))


def _unit(escape: re.Match[str]) -> int | None:
    return int(escape[1], 16) if escape[1] else None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise NotJson(f"duplicate key {twice!r} in object")
    return members


def _constant(name: str) -> NoReturn:
    raise NotJson(f"unexpected character: {name} is not JSON")


def _at(why: str, text: str, place: int) -> str:
    line = text.count("\n", 0, place) + 1
    column = place - text.rfind("\n", 0, place)
    return f"{why}: line {line} column {column} (char {place})"
