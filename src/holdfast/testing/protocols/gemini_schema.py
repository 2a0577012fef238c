"""The fields of a Gemini body as Google's gateway checks them, before the service looks at the conversation.

Names are accepted in camel case and snake case, as in protobuf's JSON; error positions are in snake case.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.testing.protocols.protocol import Refusal
from holdfast.testing.protocols.strict_json import is_json_array, is_json_object
from holdfast.testing.protocols.vendor_schema import VendorSchema

_BODY = frozenset(
    {
        "model",
        "contents",
        "tools",
        "tool_config",
        "safety_settings",
        "system_instruction",
        "generation_config",
        "cached_content",
        "service_tier",
        "store",
    }
)
_SCHEMA = VendorSchema("gemini", protobuf=True)
_DATA = frozenset(  # a part must have one of these
    {
        "text",
        "inline_data",
        "function_call",
        "function_response",
        "file_data",
        "executable_code",
        "code_execution_result",
        "tool_call",
        "tool_response",
    }
)
_STRUCT = "type.googleapis.com/google.protobuf.Struct"

_STRUCTS = ("args", "response", "part_metadata")
_PROTOBUF = {
    "string": "TYPE_STRING",
    "boolean": "TYPE_BOOL",
    "integer": "TYPE_INT32",
    "number": "TYPE_DOUBLE",
    "array": "a list",
}

_Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiPart:
    """The fields of a part that the conversation rules need; `kind` names its data field, "" if there is none."""

    at: str
    kind: str
    text: str = ""
    name: str = ""
    args: _Json | None = None
    thought: bool = False
    signature: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A content with valid fields; a missing `role` means the user."""

    at: str
    role: str
    parts: tuple[GeminiPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiBody:
    """A body with valid fields. `tools` are the names that each of its tools declares."""

    body: _Json
    system: Content | None
    contents: tuple[Content, ...]
    tools: tuple[tuple[str, ...], ...]
    calling: bool


def parse_gemini_body(body: object) -> GeminiBody:
    """Return the conversation. Raise `Refusal` for the first invalid field."""
    if not is_json_object(body):
        raise Refusal('Invalid JSON payload received. Unknown name "": Root element must be a message.')
    fields = _message(body)
    if unknown := next((key for key in body if _SCHEMA.snake(key) not in _BODY), None):
        raise _unknown(unknown, "")
    _settings(fields.get("generation_config"))
    system = fields.get("system_instruction")
    config = _object(fields.get("tool_config", {}), "tool_config", "ToolConfig")
    return GeminiBody(
        body=body,
        system=None if system is None else _content(system, "system_instruction"),
        contents=tuple(_content(item, f"contents[{i}]") for i, item in enumerate(_list(fields, "contents", ""))),
        tools=tuple(_tool(item, f"tools[{i}]") for i, item in enumerate(_list(fields, "tools", ""))),
        calling=any(_SCHEMA.snake(key) == "function_calling_config" for key in config),
    )


def _settings(config: object) -> None:
    """Check the settings as Google's types declare them. Raise `Refusal`."""
    if not is_json_object(config):
        return
    _check_declared(config, "GenerationConfig", "generation_config")
    thinking = _message(config).get("thinking_config")
    if thinking is None:
        return
    _check_declared(thinking, "ThinkingConfig", "generation_config.thinking_config")
    inner = _message(_object(thinking, "generation_config.thinking_config", "ThinkingConfig"))
    if {"thinking_budget", "thinking_level"} <= inner.keys():
        raise Refusal("You can only set only one of thinking budget and thinking level.", kind="INVALID_ARGUMENT")


def _content(item: object, at: str) -> Content:
    _check_declared(item, "Content", at)
    fields = _message(_object(item, at, "Content"))
    parts = tuple(_part(part, f"{at}.parts[{i}]") for i, part in enumerate(_list(fields, "parts", at)))
    return Content(at=at, role=str(fields.get("role") or "user"), parts=parts)


def _part(item: object, at: str) -> GeminiPart:
    fields = _message(_object(item, at, "Part"))
    kinds = [kind for kind in fields if kind in _DATA]
    if len(kinds) > 1:
        what = f"oneof field 'data' is already set. Cannot set '{_camel(kinds[1])}'"
        raise _invalid(at, f"Invalid value at '{at}' (oneof), {what}")
    kind = kinds[0] if kinds else ""
    name, args = "", None
    if kind in {"function_call", "function_response"}:
        inner = _message(_object(fields[kind], f"{at}.{kind}", kind))
        name = str(inner.get("name", ""))
        data = "args" if kind == "function_call" else "response"
        args = _object(inner.get(data, {}), f"{at}.{kind}.{data}", _STRUCT)
    return GeminiPart(
        at=at,
        kind=kind,
        text=str(fields.get("text", "")),
        name=name,
        args=args,
        thought=fields.get("thought") is True,
        signature=_bytes(str(fields.get("thought_signature", ""))),
    )


def _tool(item: object, at: str) -> tuple[str, ...]:
    _check_declared(item, "Tool", at)
    fields = _message(_object(item, at, "Tool"))
    names: list[str] = []
    for i, declared in enumerate(_list(fields, "function_declarations", at)):
        place = f"{at}.function_declarations[{i}]"
        _check_declared(declared, "FunctionDeclaration", place)
        inner = _message(_object(declared, place, "FunctionDeclaration"))
        names.append(str(inner.get("name", "")))
    if not names and not fields.keys() - {"function_declarations"}:
        what = f"* GenerateContentRequest.{at}.tool_type: required one_of 'tool_type' must have one initialized field"
        raise Refusal(what)
    return tuple(names)


def _message(raw: Mapping[str, object]) -> _Json:
    """Return the fields under their snake case names, without nulls."""
    return {_SCHEMA.snake(key): value for key, value in raw.items() if value is not None}


def _check_declared(value: object, name: str, at: str) -> None:
    """Refuse what is not as the SDK declares it, in the words of Google's gateway."""
    fault = _SCHEMA.fault(value, name)
    if fault is None:
        return
    steps = [f"[{each}]" if isinstance(each, int) else f".{each}" for each in fault.path]
    place = f"{at}{''.join(steps)}"
    match fault.problem:
        case "missing" | "unknown" | "kind":
            raise _unknown(str(fault.path[-1]), f"{at}{''.join(steps[:-1])}")
        case "base64":
            what = f"Invalid value at '{place}' (TYPE_BYTES), Base64 decoding failed for \"{fault.value}\""
            raise _invalid(place, what)
        case "type" | "value":
            last = str(fault.path[-1]) if fault.path else name
            kind = _PROTOBUF.get(fault.expected[0], _STRUCT if last in _STRUCTS else last)
            raise _wrong(place, kind, fault.value)


def _object(value: object, at: str, kind: str) -> _Json:
    if not is_json_object(value):
        raise _wrong(at, kind, value)
    return value


def _list(fields: _Json, name: str, at: str) -> list[object]:
    """Return the items; a single value counts as a list of one."""
    value = fields.get(name, [])
    if is_json_array(value):
        return value
    if is_json_object(value):
        return [value]
    raise _wrong(f"{at}.{name}".strip("."), "a list", value)


def _bytes(text: str) -> bytes | None:
    return base64.b64decode(text.translate(_URL_SAFE) + "=" * (-len(text) % 4)) if text else None


_URL_SAFE = str.maketrans("-_", "+/")


def _wrong(at: str, kind: str, value: object) -> Refusal:
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return _invalid(at, f"Invalid value at '{at}' ({kind}), {shown}")


def _invalid(at: str, what: str) -> Refusal:
    return Refusal(what, param=at)


def _unknown(name: str, at: str) -> Refusal:
    where = f" at '{at}'" if at else ""
    return _invalid(at, f'Invalid JSON payload received. Unknown name "{name}"{where}: Cannot find field.')


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
