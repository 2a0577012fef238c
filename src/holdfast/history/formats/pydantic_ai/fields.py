"""The fields of pydantic-ai's messages and parts without content, and those that its adapter would reject.

Two rules. Only a wrong type of JSON is a finding: which words a field knows differs from version to version. A field
that is wrong goes, for all of these may be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from holdfast.history.formats.format import Json, as_text, is_array, is_object


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_text_or_null(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_object_or_null(value: object) -> bool:
    return value is None or is_object(value)


def _is_list_or_null(value: object) -> bool:
    return value is None or is_array(value)


def _is_time(value: object) -> bool:
    """Return whether it may be a time: a number, or a string that begins with one."""
    return isinstance(value, str | int | float) and str(value).lstrip("+-")[:1].isdigit()


def _is_time_or_null(value: object) -> bool:
    return value is None or _is_time(value)


_TEXTS = ("run_id", "conversation_id", "instructions", "model_name", "provider_name", "provider_url")
_Fields = Mapping[str, Callable[[object], bool]]

_OF_BOTH: _Fields = {**dict.fromkeys(_TEXTS[:2], _is_text_or_null), "state": _is_text, "metadata": _is_object_or_null}
_MESSAGES: Mapping[object, _Fields] = MappingProxyType(
    {
        "request": {**_OF_BOTH, "timestamp": _is_time_or_null, "instructions": _is_text_or_null},
        "response": {
            **_OF_BOTH,
            **dict.fromkeys((*_TEXTS[3:], "provider_response_id", "finish_reason"), _is_text_or_null),
            "timestamp": _is_time,
            "usage": is_object,
            "provider_details": _is_object_or_null,
        },
    }
)
_MADE: _Fields = {
    "id": _is_text_or_null,
    "provider_name": _is_text_or_null,
    "provider_details": _is_object_or_null,
}
_RETURNED: _Fields = {"outcome": _is_text, "timestamp": _is_time, "tool_kind": _is_text_or_null}
_PARTS: Mapping[object, _Fields] = MappingProxyType(
    {
        "system-prompt": {"timestamp": _is_time, "dynamic_ref": _is_text_or_null, "metadata": _is_object_or_null},
        "user-prompt": {"timestamp": _is_time},
        "tool-return": {**_RETURNED, "tool_name": _is_text},
        "retry-prompt": {"timestamp": _is_time, "tool_call_id": _is_text, "tool_name": _is_text_or_null},
        "text": {**_MADE, "citations": _is_list_or_null},
        "thinking": {**_MADE, "signature": _is_text_or_null},
        "tool-call": {**_MADE, "tool_kind": _is_text_or_null},
        "builtin-tool-call": {**_MADE, "tool_kind": _is_text_or_null},
        "builtin-tool-return": {**_MADE, **_RETURNED},
    }
)
_REQUIRED = frozenset({("tool-return", "tool_name")})
"""What is wrong also where it is missing."""


def mistyped(raw: Json) -> list[str]:
    """Return the fields of a message or a part that do not load."""
    kind = None if "parts" in raw else raw.get("part_kind")
    known = _PARTS.get(kind) if isinstance(kind, str) else _MESSAGES.get(as_text(raw.get("kind")) or "")
    wrong = [key for key, value in raw.items() if key in known and not known[key](value)] if known else []
    return wrong + [key for of, key in _REQUIRED if of == kind and key not in raw]


def is_feedback(content: object) -> bool:
    """Return whether it is feedback for the model: a text, or a list of what is wrong."""
    return isinstance(content, str) or (is_array(content) and all(map(_is_error, content)))


def _is_error(raw: object) -> bool:
    """Return whether it is one of the errors that pydantic finds in arguments."""
    if not is_object(raw) or "input" not in raw or not is_array(place := raw.get("loc")):
        return False
    named = isinstance(raw.get("type"), str) and isinstance(raw.get("msg"), str)
    beside = isinstance(raw.get("ctx", {}), dict) and isinstance(raw.get("url", ""), str)
    return named and beside and all(isinstance(each, str | int) for each in place)


def is_served(call: Json) -> bool:
    """Return whether a provider-run call, or its result, has its required fields."""
    named = as_text(call.get("tool_name")) is not None and isinstance(call.get("tool_call_id"), str | None)
    return named and (call.get("args") is None or isinstance(call["args"], str | dict))


def loadable(raw: Json) -> Json:
    """Return the message or the part without the fields that do not load."""
    wrong = mistyped(raw)
    return {key: value for key, value in raw.items() if key not in wrong} if wrong else raw
