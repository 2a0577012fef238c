"""The outline of a JSON message, also of a broken one: its id, whether it is a request, and how many values it holds.

A message that cannot be read still has to be answered, or the program that waits for the answer waits for minutes. So
its id is found by its tokens alone: text that is no Unicode, a number that is too large and values within each other
without end do not matter here. It takes no recursion and no memory for the values.

Laws (`tests/tools/test_json_outline_laws.py`): whatever the bytes are, there is an outline or None, in time that grows
with their number; a valid message has the outline that its decoded form has.
"""

from __future__ import annotations

import re

import msgspec

MOST_VALUES = 200_000
"""Values, commas and colons of one message. Decoded, a value takes many times its bytes."""

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\],:"]|[^\s{}\[\],:"]++', re.DOTALL)
_LONGEST_ID = 400  # bytes


class Outline(msgspec.Struct, frozen=True):
    """The `id` of a message, None if it has none that can be read, and whether it asks for something."""

    id: str | int | None
    has_method: bool


def outline(message: bytes) -> Outline | None:
    """Return the outline of a JSON object, None for anything else, and for more than `MOST_VALUES`. Never raises."""
    depth, key, is_value = 0, b"", False
    found: str | int | None = None
    has_method = False
    for count, match in enumerate(_TOKEN.finditer(message)):
        token = match[0]
        if count == 0 and token != b"{":
            return None
        if token == b'"' or count > MOST_VALUES:  # a text without an end; what follows is not read
            return None if count > MOST_VALUES else Outline(found, has_method)
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
            if depth == 0:
                break
        elif depth == 1 and token in (b",", b":"):
            is_value = token == b":"
        elif depth == 1 and is_value:
            found = _id(token) if key == b'"id"' else found
            has_method = has_method or key == b'"method"'
        elif depth == 1:
            key = token
    else:
        return Outline(found, has_method) if message.lstrip()[:1] == b"{" else None
    return Outline(found, has_method)


def is_too_complex(message: bytes) -> bool:
    """Return whether a message has more than `MOST_VALUES`. Nothing is decoded."""
    if len(message) <= MOST_VALUES:
        return False
    return any(count > MOST_VALUES for count, _ in enumerate(_TOKEN.finditer(message)))


def _id(token: bytes) -> str | int | None:
    if len(token) > _LONGEST_ID:
        return None
    try:
        value: object = msgspec.json.decode(token)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None
