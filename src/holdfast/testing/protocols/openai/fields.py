"""The fields of a body as OpenAI checks them, with the same words in both protocols."""

from __future__ import annotations

import re

from holdfast.testing.protocols.protocol import Refusal
from holdfast.testing.protocols.strict_json import is_integer, is_json_array, is_json_object
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


# --- What OpenAI refuses about reasoning effort, temperature and the limit of an answer, in its words ---

_LEAST_LIMIT = 16
_LEVELS = {  # the first that fits counts
    "gpt-5-pro": ("high",),
    "gpt-5-codex": ("low", "medium", "high"),
    "gpt-5.1-codex-max": ("none", "low", "medium", "high", "xhigh"),
    "gpt-5.1-codex": ("low", "medium", "high"),
    "gpt-5.1": ("none", "low", "medium", "high"),
    "gpt-5.2-pro": ("medium", "high", "xhigh"),
    "gpt-5.2": ("none", "low", "medium", "high", "xhigh"),
    "gpt-5.4": ("none", "low", "medium", "high", "xhigh"),
    "gpt-5.5": ("none", "low", "medium", "high", "xhigh"),
    "gpt-5": ("minimal", "low", "medium", "high"),
    "o3": ("low", "medium", "high"),
    "gpt-4": (),
}
_THINKS_UNASKED = ("gpt-5-", "gpt-5.5", "o3")
_NO_EFFORT_WITH_TOOLS = ("gpt-5.4", "gpt-5.5")


def check_effort(body: dict[str, object], effort: object, field: str) -> None:
    """Raise `Refusal` for an effort or a temperature that the model does not take. Unknown names take all."""
    model = str(body["model"])
    levels = next((each for prefix, each in _LEVELS.items() if model.startswith(prefix)), None)
    if levels is None:
        return
    if effort is not None and not levels:
        raise Refusal(f"Unsupported parameter: '{field}' is not supported with this model.", param=field)
    if effort is not None and effort not in levels:
        listed = ", ".join(f"'{each}'" for each in levels)
        what = (
            f"Unsupported value: '{effort}' is not supported with the '{model}' model. Supported values are: {listed}."
        )
        raise Refusal(what, param=field, code="unsupported_value")
    thinks = effort not in (None, "none") or (effort is None and model.startswith(_THINKS_UNASKED)) or model == "gpt-5"
    if body.get("temperature") is not None and thinks:
        what = "Unsupported parameter: 'temperature' is not supported with this model."
        raise Refusal(what, param="temperature", code="unsupported_parameter")


def check_chat_settings(body: dict[str, object]) -> None:
    """Raise `Refusal` for a setting that the model does not take over Chat Completions."""
    model, effort = str(body["model"]), body.get("reasoning_effort")
    check_effort(body, effort, "reasoning_effort")
    if effort not in (None, "none") and body.get("tools") and model.startswith(_NO_EFFORT_WITH_TOOLS):
        what = f"Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use"
        advice = "function tools, use /v1/responses or set reasoning_effort to 'none'."
        raise Refusal(f"{what} {advice}", param="reasoning_effort")
    if body.get("max_tokens") is not None and any(model.startswith(prefix) for prefix, each in _LEVELS.items() if each):
        what = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        raise Refusal(what, param="max_tokens", code="unsupported_parameter")


def check_responses_settings(body: dict[str, object]) -> None:
    """Raise `Refusal` for a setting that the model does not take over Responses."""
    reasoning = body.get("reasoning")
    check_effort(body, reasoning.get("effort") if is_json_object(reasoning) else None, "reasoning.effort")
    limit = body.get("max_output_tokens")
    if is_integer(limit) and limit < _LEAST_LIMIT:
        what = f"Expected a value >= {_LEAST_LIMIT}, but got {limit} instead."
        message = f"Invalid 'max_output_tokens': integer below minimum value. {what}"
        raise Refusal(message, param="max_output_tokens", code="integer_below_min_value")
