"""Checks the strings of a message: accepted by JSON parsers, and not longer than the provider accepts.

The fast check may report a valid string, but never misses an invalid one. Bytes, ids and thinking are not texts: other
limits apply to them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

import msgspec

from holdfast.history.rules.profile import TextLimits
from holdfast.history.shape import InvalidString, LongText, Message, Path
from holdfast.text import valid_unicode

_MANY = 1_000
"""Messages checked at once: faster than one by one, without a second copy of the whole conversation."""

_NO_LIMITS = TextLimits()


def with_strings(
    projected: list[Message], messages: Sequence[object], limits: TextLimits | None, *, begin: int
) -> list[Message]:
    """Return the projection with a finding for every string that is invalid or too long."""
    limits = limits or _NO_LIMITS
    result = projected
    for at in range(0, len(messages), _MANY):
        if _is_fine(messages[at : at + _MANY], limits):
            continue
        result = list(result) if result is projected else result
        for number in range(at, min(at + _MANY, len(messages))):
            raw = messages[number]
            if not _is_fine(raw, limits):
                long = result[number].long_texts if limits == _NO_LIMITS else tuple(_long(result[number], raw, limits))
                bad = tuple(invalid_strings(raw, (begin + number,)))
                result[number] = msgspec.structs.replace(result[number], invalid_strings=bad, long_texts=long)
    return result


def _is_fine(raw: object, limits: TextLimits) -> bool:
    """Return whether no string in `raw` is refused by JSON parsers or too long; a fast check."""
    try:
        encoded = msgspec.json.encode(raw)
    except (UnicodeEncodeError, TypeError, RecursionError, OverflowError):
        return False
    if limits.depth is not None and encoded.count(b"{") + encoded.count(b"[") > limits.depth:
        return False
    return b"\\u0000" not in encoded and (limits.least is None or len(encoded) <= limits.least)


def invalid_strings(raw: object, path: Path) -> Iterator[InvalidString]:
    """Yield every string in `raw` that is not valid Unicode without NUL."""
    if isinstance(raw, str):
        if valid_unicode(raw) != raw:
            yield InvalidString(
                path, "nul" if valid_unicode(raw) == raw.replace("\x00", "\ufffd") else "lone-surrogate"
            )
    elif isinstance(raw, dict):
        for key, value in cast("dict[str, object]", raw).items():
            yield from invalid_strings(key, path)
            yield from invalid_strings(value, (*path, valid_unicode(key)))
    elif isinstance(raw, list | tuple):
        for index, value in enumerate(cast("Sequence[object]", raw)):
            yield from invalid_strings(value, (*path, index))
    elif isinstance(raw, msgspec.Struct):
        yield from invalid_strings(msgspec.to_builtins(raw), path)


# --- length ----------------------------------------------------------------------------------------------------------

_FUNCTION = frozenset({"function", "custom", "functionCall", "function_call"})
_ARGUMENTS = frozenset({"arguments", "args", "input"})
_NOT_TEXT = frozenset(
    {"type", "role", "kind", "name", "id", "call_id", "tool_call_id", "tool_use_id", "signature", "encrypted_content"}
    | {"thoughtSignature", "thought_signature", "source", "data", "blob", "b64_json", "url", "image_url", "input_audio"}
    | {"file", "file_id", "file_data", "fileData", "inlineData", "inline_data"}
)
"""The fields of a text or a result that hold no text."""


def _long(message: Message, raw: object, limits: TextLimits) -> Iterator[LongText]:
    """Yield each text of the message, and the arguments of each call, that is too long."""
    for item in message.items:
        if item.kind not in ("text", "result", "call"):
            continue
        value = _at(item.path[1:], raw)
        if item.kind == "call":
            yield from _of_call(item.path, value, limits)
        elif limits.text is not None:
            yield from _texts(item.path, value, limits.text)


def _at(path: Path, raw: object) -> object:
    """Return the value there, None if there is none."""
    for key in path:
        if isinstance(raw, dict):
            raw = cast("dict[str | int, object]", raw).get(key)
        elif isinstance(raw, list | tuple) and isinstance(key, int):
            raw = cast("Sequence[object]", raw)[key]
        else:
            return None
    return raw


def _texts(path: Path, raw: object, most: int) -> Iterator[LongText]:
    if isinstance(raw, str):
        if len(raw) > most:
            yield LongText(path, "text", len(raw))
    elif isinstance(raw, dict):
        for key, value in cast("dict[str, object]", raw).items():
            if key not in _NOT_TEXT:
                yield from _texts((*path, key), value, most)
    elif isinstance(raw, list | tuple):
        for index, value in enumerate(cast("Sequence[object]", raw)):
            yield from _texts((*path, index), value, most)


def _of_call(path: Path, raw: object, limits: TextLimits) -> Iterator[LongText]:
    if not isinstance(raw, dict):
        return
    for key, value in cast("dict[str, object]", raw).items():
        if key in _FUNCTION:
            yield from _of_call((*path, key), value, limits)
        elif key == "input" and isinstance(value, str):  # a custom tool takes a text
            yield from _texts((*path, key), value, limits.text) if limits.text is not None else ()
        elif key in _ARGUMENTS and value is not None:
            yield from _of_arguments((*path, key), value, limits)


def _of_arguments(path: Path, raw: object, limits: TextLimits) -> Iterator[LongText]:
    written = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False, separators=(",", ":"), default=str)
    if limits.arguments is not None and len(written) > limits.arguments:
        yield LongText(path, "arguments", len(written))
    elif limits.depth is not None and (deep := _depth(written)) > limits.depth:
        yield LongText(path, "depth", deep)


def _depth(written: str) -> int:
    """Return how deeply the JSON text is nested, 0 if it is not JSON."""
    try:
        level = [json.loads(written)]
    except (ValueError, RecursionError):
        return 0
    deep = 0
    while any(isinstance(each, dict | list) for each in level):
        deep += 1
        level = [inner for each in level for inner in _within(each)]
    return deep


def _within(raw: object) -> Iterable[object]:
    if isinstance(raw, dict):
        return cast("dict[str, object]", raw).values()
    return cast("list[object]", raw) if isinstance(raw, list) else ()
