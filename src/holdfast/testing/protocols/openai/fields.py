"""The fields of a body as OpenAI checks them, with the same words in both protocols."""

from __future__ import annotations

import re

from holdfast.testing.protocols.protocol import Refusal
from holdfast.testing.protocols.strict_json import is_json_array, is_json_object
from holdfast.testing.protocols.vendor_schema import KindStep, VendorSchema

_NAME = re.compile(r"[a-zA-Z0-9_-]+\Z")
_SPEAKER = re.compile(r"[^\s<|\\/>]+\Z")
_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
    str: "a string",
    list: "an array",
    dict: "an object",
}
_EXPECTED = {
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a decimal",
    "string": "a string",
    "array": "an array of objects",
    "object": "an object",
}
_MOST_NAME = 64


def function_name(function: dict[str, object], at: str) -> None:
    """Check the name of a function. Raise `Refusal`."""
    if "name" not in function:
        raise missing(f"{at}.name")
    name = check_length(text(function["name"], f"{at}.name"), f"{at}.name", most=_MOST_NAME)
    if not _NAME.match(name):
        what = (
            f"Invalid '{at}.name': string does not match pattern. Expected a string that matches the pattern"
            " '^[a-zA-Z0-9_-]+$'."
        )
        raise Refusal(what, param=f"{at}.name", code="invalid_value")


def speaker_name(message: dict[str, object], at: str) -> None:
    """Check the name of who speaks, if there is one. Raise `Refusal`."""
    if message.get("name") is None:
        return
    name = check_length(text(message["name"], f"{at}.name"), f"{at}.name", most=_MOST_NAME)
    if not _SPEAKER.match(name):
        what = (
            f"Invalid '{at}.name': string does not match pattern. Expected a string that matches the pattern"
            r" '^[^\s<|\\/>]+$'."
        )
        raise Refusal(what, param=f"{at}.name", code="invalid_value")


def check_length(text: str, at: str, *, most: int) -> str:
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


def check_declared(schema: VendorSchema, value: object, name: str, at: str = "") -> None:
    """Check the value against what OpenAI's SDK declares under the name. Raise `Refusal`."""
    fault = schema.fault(value, name)
    if fault is None:
        return
    steps = (
        f"[{each}]" if isinstance(each, int) else f".{each}" for each in fault.path if not isinstance(each, KindStep)
    )
    place = f"{at}{''.join(steps)}".removeprefix(".")
    match fault.problem:
        case "missing":
            raise missing(place)
        case "unknown":
            raise Refusal(f"Unknown parameter: '{place}'.", param=place, code="unknown_parameter")
        case "type" | "base64":
            raise wrong_type(place, _expected(fault.expected), fault.value)
        case "value" | "kind":
            raise not_one_of(place, fault.value, fault.expected)


def _expected(types: tuple[str, ...]) -> str:
    words = [_EXPECTED[each] for each in types if each in _EXPECTED]
    if len(words) == 1:
        return words[0]
    return "one of " + " or ".join(words[:1] + [each.split(" ", 1)[1] for each in words[1:]])


def not_one_of(at: str, value: object, allowed: tuple[str, ...]) -> Refusal:
    """Return the refusal of a value that is none of those allowed."""
    *most, last = (f"'{each}'" for each in allowed)
    listed = f"{', '.join(most)}, and {last}" if most else last
    return Refusal(f"Invalid value: '{value}'. Supported values are: {listed}.", param=at, code="invalid_value")


def missing(at: str) -> Refusal:
    """Return the refusal of a missing field."""
    return Refusal(f"Missing required parameter: '{at}'.", param=at, code="missing_required_parameter")


def wrong_type(at: str, expected: str, value: object) -> Refusal:
    """Return the refusal of a value of the wrong type."""
    what = f"Invalid type for '{at}': expected {expected}, but got {_KINDS[type(value)]} instead."
    return Refusal(what, param=at, code="invalid_type")
