"""What OpenAI's Chat Completions refuses about a body, in its words and in its order.

The order was measured on the real service: model, messages, unknown keys, types and roles, pairing, missing content.
`reasoning_content` of an assistant is let through, as the compatible services want it back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.testing.wires.strict import is_array, is_object
from holdfast.testing.wires.wire import Refusal

_PARAMETERS = frozenset(
    {
        "model",
        "messages",
        "audio",
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "modalities",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_retention",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
    }
)
_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_MESSAGE_KEYS = frozenset(
    {
        "role",
        "content",
        "name",
        "refusal",
        "audio",
        "tool_calls",
        "tool_call_id",
        "function_call",
        "reasoning_content",
    }
)
_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
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
_MOST_ID = 40
_MOST = 128


@dataclass(frozen=True, slots=True)
class _Message:
    """What pairing and content rules look at."""

    role: str
    calls: tuple[str, ...] = ()
    answers: str = ""
    empty: bool = False


def check(body: object) -> dict[str, object]:
    """Return the body; raises `Refusal` for the first rule it breaks."""
    if not is_object(body) or body.get("model") is None or body["model"] == "":
        raise Refusal("you must provide a model parameter")
    if "messages" not in body:
        raise _missing("messages")
    _known(body, _PARAMETERS, "")
    _text(body["model"], "model")
    items = _array(body["messages"], "messages", least=1)
    messages = [_message(item, f"messages[{i}]") for i, item in enumerate(items)]
    _tools(body)
    if body.get("stream_options") is not None and body.get("stream") is not True:
        what = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        raise Refusal(what, param="stream_options")
    _pairs(messages)
    _contents(messages)
    return body


def _message(item: object, at: str) -> _Message:
    message = _object(item, at)
    if "role" not in message:
        raise _missing(f"{at}.role")
    role = message["role"]
    if not isinstance(role, str) or role not in _ROLES:
        shown = role if isinstance(role, str) else str(role).lower()
        listed = ", ".join(f"'{each}'" for each in _ROLES[:-1])
        what = f"Invalid value: '{shown}'. Supported values are: {listed}, and '{_ROLES[-1]}'."
        raise Refusal(what, param=f"{at}.role", code="invalid_value")
    _known(message, _MESSAGE_KEYS, f"{at}.")
    _content(message.get("content"), at, role)
    answers = ""
    if role == "tool":
        answers = _identifier(message, "tool_call_id", at)
    instead = any(message.get(key) is not None for key in _INSTEAD_OF_CONTENT)
    return _Message(
        role=role,
        calls=_calls(message, at) if role == "assistant" else (),
        answers=answers,
        empty=message.get("content") is None and not (role == "assistant" and instead),
    )


def _content(content: object, at: str, role: str) -> None:
    if content is None or isinstance(content, str):
        return
    if not is_array(content):
        raise _wrong_type(f"{at}.content", "one of a string or array of objects", content)
    for i, item in enumerate(content):
        part = _object(item, f"{at}.content[{i}]")
        kind = part.get("type")
        if role == "tool" and kind not in {"text", "image_url"}:
            what = f"Invalid '{at}'. Content blocks are expected to be either text or image_url type."
            raise Refusal(what, param=at, code="invalid_value")
        if kind == "text":
            _text(part.get("text"), f"{at}.content[{i}].text")
        elif kind is None:
            raise _missing(f"{at}.content[{i}].type")


def _calls(message: dict[str, object], at: str) -> tuple[str, ...]:
    if message.get("tool_calls") is None:
        return ()
    items = _array(message["tool_calls"], f"{at}.tool_calls", least=1, most=_MOST)
    ids: list[str] = []
    for i, item in enumerate(items):
        place = f"{at}.tool_calls[{i}]"
        call = _object(item, place)
        ids.append(_identifier(call, "id", place))
        if "type" not in call:
            raise _missing(f"{place}.type")
        function = _object(call.get("function"), f"{place}.function")
        _function_name(function, f"{place}.function")
        _text(function.get("arguments"), f"{place}.function.arguments")
    return tuple(ids)


def _tools(body: dict[str, object]) -> None:
    if body.get("tools") is None:
        return
    for i, item in enumerate(_array(body["tools"], "tools", least=1, most=_MOST)):
        tool = _object(item, f"tools[{i}]")
        if "type" not in tool:
            raise _missing(f"tools[{i}].type")
        if tool["type"] == "function":
            _function_name(_object(tool.get("function"), f"tools[{i}].function"), f"tools[{i}].function")


def _pairs(messages: list[_Message]) -> None:
    caller: frozenset[str] | None = None  # the ids of the assistant message that tool messages may still answer
    waiting: list[str] = []
    for i, message in enumerate(messages):
        if message.role == "tool":
            if caller is None:
                what = (
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with"
                    " 'tool_calls'."
                )
                raise Refusal(what, param=f"messages.[{i}].role")
            if message.answers not in caller:
                what = (
                    f"Invalid parameter: 'tool_call_id' of '{message.answers}' not found in 'tool_calls' of previous"
                    " message."
                )
                raise Refusal(what, param=f"messages.[{i}].tool_call_id")
            if message.answers not in waiting:
                raise _duplicate(message.answers, i)
            waiting.remove(message.answers)
            continue
        if waiting:
            raise _unanswered(waiting, f"messages.[{i}].role")
        caller, waiting = (frozenset(message.calls), list(message.calls)) if message.calls else (None, [])
        for place, call in enumerate(message.calls):
            if call in message.calls[:place]:
                raise _duplicate(call, i)
    if waiting:
        raise _unanswered(waiting, "messages")


def _contents(messages: list[_Message]) -> None:
    for i, message in enumerate(messages):
        if message.empty and message.role == "developer":
            raise _missing(f"messages[{i}].content")
        if message.empty:
            raise Refusal("Invalid value for 'content': expected a string, got null.", param=f"messages.[{i}].content")


def _unanswered(waiting: list[str], param: str) -> Refusal:
    what = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
        f" The following tool_call_ids did not have response messages: {', '.join(waiting)}"
    )
    return Refusal(what, param=param)


def _duplicate(call: str, index: int) -> Refusal:
    return Refusal(f"Duplicate value for 'tool_call_id' of {call} in message[{index}]")


def _identifier(owner: dict[str, object], key: str, at: str) -> str:
    if key not in owner:
        raise _missing(f"{at}.{key}")
    return _sized(_text(owner[key], f"{at}.{key}"), f"{at}.{key}", most=_MOST_ID)


def _function_name(function: dict[str, object], at: str) -> None:
    if "name" not in function:
        raise _missing(f"{at}.name")
    name = _sized(_text(function["name"], f"{at}.name"), f"{at}.name", most=_MOST_NAME)
    if not _NAME.match(name):
        what = (
            f"Invalid '{at}.name': string does not match pattern. Expected a string that matches the pattern"
            " '^[a-zA-Z0-9_-]+$'."
        )
        raise Refusal(what, param=f"{at}.name", code="invalid_value")


def _sized(text: str, at: str, *, most: int) -> str:
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


def _array(value: object, at: str, *, least: int = 0, most: int | None = None) -> list[object]:
    if not is_array(value):
        raise _wrong_type(at, "an array of objects", value)
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


def _object(value: object, at: str) -> dict[str, object]:
    if value is None:
        raise _missing(at)
    if not is_object(value):
        raise _wrong_type(at, "an object", value)
    return value


def _text(value: object, at: str) -> str:
    if value is None:
        raise _missing(at)
    if not isinstance(value, str):
        raise _wrong_type(at, "a string", value)
    return value


def _known(owner: dict[str, object], keys: frozenset[str], prefix: str) -> None:
    for key in owner:
        if key not in keys:
            raise Refusal(f"Unknown parameter: '{prefix}{key}'.", param=f"{prefix}{key}", code="unknown_parameter")


def _missing(at: str) -> Refusal:
    return Refusal(f"Missing required parameter: '{at}'.", param=at, code="missing_required_parameter")


def _wrong_type(at: str, expected: str, value: object) -> Refusal:
    what = f"Invalid type for '{at}': expected {expected}, but got {_KINDS[type(value)]} instead."
    return Refusal(what, param=at, code="invalid_type")
