"""The frame of a JSON message, also of a broken one: its id, whether it is a request, and how many values it holds.

A message that cannot be read still has to be answered, or the program that waits for the answer waits for minutes. So
its id is found by its tokens alone: text that is no Unicode, a number that is too large and values within each other
without end do not matter here. It takes no recursion and no memory for the values.

Laws (`tests/tools/test_message_frame_laws.py`): whatever the bytes are, there is a frame or None, in time that grows
with their number; a valid message has the frame that its decoded form has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

MOST_VALUES = 200_000
"""Values, commas and colons of one message. Decoded, a value takes many times its bytes."""

_WIDE = re.compile(rb"[\x80-\xff]|\\u")
_TOKEN = re.compile(rb'\s++|"(?:[^"\\]++|\\.)*+"|[{}\[\],:"]|[^\s{}\[\],:"]++', re.DOTALL)
_REST = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)  # of a text that has begun
_SPACE = frozenset(b" \t\n\r\f\v")
_LONGEST_ID = 400  # bytes


class MessageFrame(msgspec.Struct, frozen=True):
    """The `id` of a message, None if it has none that can be read, and whether it asks for something."""

    id: str | int | None
    has_method: bool


def message_frame(message: bytes) -> MessageFrame | None:
    """Return the frame of a JSON object, None for anything else. Never raises.

    Of more than `MOST_VALUES` only so many are read: what asks for something mostly says so first.
    """
    depth, key, is_value = 0, b"", False
    found: str | int | None = None
    has_method = False
    for count, token in enumerate(_tokens(message)):
        if count == 0 and token != b"{":
            return None
        if token == b'"' or count > MOST_VALUES:  # a text without an end; what follows is not read
            return MessageFrame(found, has_method)
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
        return MessageFrame(found, has_method) if message.lstrip()[:1] == b"{" else None
    return MessageFrame(found, has_method)


def _tokens(message: bytes) -> Iterator[bytes]:
    return (match[0] for match in _TOKEN.finditer(message) if message[match.start()] not in _SPACE)


def is_too_complex(message: bytes) -> bool:
    """Return whether a message has more than `MOST_VALUES`. Nothing is decoded."""
    if len(message) <= MOST_VALUES:
        return False
    counter = ValueCounter()
    counter.feed(message)
    return counter.is_over


def is_wide(piece: bytes) -> bool:
    """Return whether a text in it may take four bytes for each character once it is decoded."""
    return _WIDE.search(piece) is not None


class ValueCounter:
    """Counts the values of a message that arrives in pieces, up to `MOST_VALUES`. A text counts once, however long."""

    def __init__(self) -> None:
        self._count = 0
        self._in_text = False
        self._escape = b""  # a backslash whose other half is in the next piece

    @property
    def is_over(self) -> bool:
        """Return whether there are more than `MOST_VALUES`."""
        return self._count > MOST_VALUES

    def feed(self, piece: bytes) -> None:
        """Count the values in the next piece."""
        piece, self._escape = self._escape + piece, b""
        start = self._skip_text(piece, 0) if self._in_text else 0
        if self._in_text:
            return
        for match in _TOKEN.finditer(piece, start):
            if piece[match.start()] in _SPACE:
                continue
            self._count += 1
            if self._count > MOST_VALUES:
                return
            if match[0] == b'"':
                self._in_text = True
                self._skip_text(piece, match.end())
                return

    def _skip_text(self, piece: bytes, start: int) -> int:
        """Return where the text that goes on at `start` has ended; without an end, it goes on in the next piece."""
        found = _REST.match(piece, start)
        end = start if found is None else found.end()
        self._in_text = piece[end : end + 1] != b'"'
        if self._in_text:
            self._escape = piece[end:]
        return end + 1


def _id(token: bytes) -> str | int | None:
    if len(token) > _LONGEST_ID:
        return None
    try:
        value: object = msgspec.json.decode(token)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None
