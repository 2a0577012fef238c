"""The fields of a body as OpenAI checks them, with the same words in both protocols."""

from __future__ import annotations

import re

from holdfast.testing.protocols.protocol import Refusal
from holdfast.testing.protocols.strict_json import is_json_array, is_json_object

_NAME = re.compile(r"[a-zA-Z0-9_-]+\Z")
_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
    str: "a string",
    list: "an array",
    dict: "an object",
}
_MOST_NAME = 64


def function_name(function: dict[str, object], at: str) -> None:
    """Check the name of a function. Raise `Refusal`."""
    if "name" not in function:
        raise missing(f"{at}.name")
    name = sized(text(function["name"], f"{at}.name"), f"{at}.name", most=_MOST_NAME)
    if not _NAME.match(name):
        what = (
            f"Invalid '{at}.name': string does not match pattern. Expected a string that matches the pattern"
            " '^[a-zA-Z0-9_-]+$'."
        )
        raise Refusal(what, param=f"{at}.name", code="invalid_value")


def sized(text: str, at: str, *, most: int) -> str:
    """Return the text if its length is accepted. Raise `Refusal`."""
    if not text:
        what = (
            f"Invalid '{at}': empty string. Expected a string with minimum length 1, but got an empty string instead."
        )
        raise Refusal(what, param=at, code="empty_string")
    if len(text) > most:
        what = (
            f"Invalid '{at}': string too long. Expected a string with maximum length {most}, but got a string with"
            f" length {len(text)} instead."
        )
        raise Refusal(what, param=at, code="string_above_max_length")
    return text


def array(value: object, at: str, *, least: int = 0, most: int | None = None) -> list[object]:
    """Return the array if its length is accepted. Raise `Refusal`."""
    if not is_json_array(value):
        raise wrong_type(at, "an array of objects", value)
    if len(value) < least:
        what = f"Invalid '{at}': empty array. Expected an array with minimum length 1, but got an empty array instead."
        raise Refusal(what, param=at, code="empty_array")
    if most is not None and len(value) > most:
        what = (
            f"Invalid '{at}': array too long. Expected an array with maximum length {most}, but got an array with"
            f" length {len(value)} instead."
        )
        raise Refusal(what, param=at, code="array_above_max_length")
    return value


def an_object(value: object, at: str) -> dict[str, object]:
    """Return the value if it is an object. Raise `Refusal`."""
    if value is None:
        raise missing(at)
    if not is_json_object(value):
        raise wrong_type(at, "an object", value)
    return value


def text(value: object, at: str) -> str:
    """Return the value if it is a string. Raise `Refusal`."""
    if value is None:
        raise missing(at)
    if not isinstance(value, str):
        raise wrong_type(at, "a string", value)
    return value


def require_known_keys(owner: dict[str, object], keys: frozenset[str], prefix: str) -> None:
    """Check that the object has no other keys than these. Raise `Refusal`."""
    for key in owner:
        if key not in keys:
            raise Refusal(f"Unknown parameter: '{prefix}{key}'.", param=f"{prefix}{key}", code="unknown_parameter")


def missing(at: str) -> Refusal:
    """Return the refusal of a missing field."""
    return Refusal(f"Missing required parameter: '{at}'.", param=at, code="missing_required_parameter")


def wrong_type(at: str, expected: str, value: object) -> Refusal:
    """Return the refusal of a value of the wrong type."""
    what = f"Invalid type for '{at}': expected {expected}, but got {_KINDS[type(value)]} instead."
    return Refusal(what, param=at, code="invalid_type")
