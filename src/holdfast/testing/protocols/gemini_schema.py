"""The fields of a Gemini body as Google's gateway checks them, before the service looks at the conversation.

Names are accepted in camel case and snake case, as in protobuf's JSON; error positions are in snake case.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.testing.protocols.protocol import Refusal
from holdfast.testing.protocols.strict_json import is_json_array, is_json_object

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
_CONTENT = frozenset({"parts", "role"})
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
_PART = _DATA | {"thought", "thought_signature", "part_metadata", "video_metadata", "media_resolution"}
_CALL = frozenset({"id", "name", "args"})
_RESPONSE = frozenset({"id", "name", "response", "parts", "will_continue", "scheduling"})
_TOOL = frozenset(
    {
        "function_declarations",
        "google_search",
        "google_search_retrieval",
        "google_maps",
        "code_execution",
        "computer_use",
        "file_search",
        "mcp_servers",
        "url_context",
    }
)
_DECLARATION = frozenset(
    {"name", "description", "behavior", "parameters", "parameters_json_schema", "response", "response_json_schema"}
)
_STRUCT = "type.googleapis.com/google.protobuf.Struct"
_CAPITAL = re.compile("[A-Z]")

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
    fields = _message(body, _BODY, "")
    system = fields.get("system_instruction")
    config = _object(fields.get("tool_config", {}), "tool_config", "ToolConfig")
    return GeminiBody(
        body=body,
        system=None if system is None else _content(system, "system_instruction"),
        contents=tuple(_content(item, f"contents[{i}]") for i, item in enumerate(_list(fields, "contents", ""))),
        tools=tuple(_tool(item, f"tools[{i}]") for i, item in enumerate(_list(fields, "tools", ""))),
        calling=any(_snake(key) == "function_calling_config" for key in config),
    )


def _content(item: object, at: str) -> Content:
    fields = _message(_object(item, at, "Content"), _CONTENT, at)
    parts = tuple(_part(part, f"{at}.parts[{i}]") for i, part in enumerate(_list(fields, "parts", at)))
    return Content(at=at, role=_text(fields, "role", at) or "user", parts=parts)


def _part(item: object, at: str) -> GeminiPart:
    fields = _message(_object(item, at, "Part"), _PART, at)
    kinds = [kind for kind in fields if kind in _DATA]
    if len(kinds) > 1:
        what = f"oneof field 'data' is already set. Cannot set '{_camel(kinds[1])}'"
        raise _invalid(at, f"Invalid value at '{at}' (oneof), {what}")
    kind = kinds[0] if kinds else ""
    name, args = "", None
    if kind in {"function_call", "function_response"}:
        known = _CALL if kind == "function_call" else _RESPONSE
        inner = _message(_object(fields[kind], f"{at}.{kind}", kind), known, f"{at}.{kind}")
        name = _text(inner, "name", f"{at}.{kind}")
        _text(inner, "id", f"{at}.{kind}")
        data = "args" if kind == "function_call" else "response"
        args = _object(inner.get(data, {}), f"{at}.{kind}.{data}", _STRUCT)
    return GeminiPart(
        at=at,
        kind=kind,
        text=_text(fields, "text", at),
        name=name,
        args=args,
        thought=fields.get("thought") is True,
        signature=_bytes(fields, "thought_signature", at),
    )


def _tool(item: object, at: str) -> tuple[str, ...]:
    fields = _message(_object(item, at, "Tool"), _TOOL, at)
    names: list[str] = []
    for i, declared in enumerate(_list(fields, "function_declarations", at)):
        place = f"{at}.function_declarations[{i}]"
        inner = _message(_object(declared, place, "FunctionDeclaration"), _DECLARATION, place)
        names.append(_text(inner, "name", place))
    if not names and not fields.keys() - {"function_declarations"}:
        what = f"* GenerateContentRequest.{at}.tool_type: required one_of 'tool_type' must have one initialized field"
        raise Refusal(what)
    return tuple(names)


def _message(raw: Mapping[str, object], known: frozenset[str], at: str) -> _Json:
    """Return the fields under their snake case names, without nulls."""
    fields: _Json = {}
    for key, value in raw.items():
        name = _snake(key)
        if name not in known:
            where = f" at '{at}'" if at else ""
            raise _invalid(at, f'Invalid JSON payload received. Unknown name "{key}"{where}: Cannot find field.')
        if value is not None:
            fields[name] = value
    return fields


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


def _text(fields: _Json, name: str, at: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise _wrong(f"{at}.{name}", "TYPE_STRING", value)
    return value


def _bytes(fields: _Json, name: str, at: str) -> bytes | None:
    text = _text(fields, name, at)
    try:
        return base64.b64decode(text.translate(_URL_SAFE) + "=" * (-len(text) % 4), validate=True) if text else None
    except binascii.Error as error:
        what = f"Invalid value at '{at}.{name}' (TYPE_BYTES), Base64 decoding failed for \"{text}\""
        raise _invalid(f"{at}.{name}", what) from error


_URL_SAFE = str.maketrans("-_", "+/")


def _wrong(at: str, kind: str, value: object) -> Refusal:
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return _invalid(at, f"Invalid value at '{at}' ({kind}), {shown}")


def _invalid(at: str, what: str) -> Refusal:
    return Refusal(what, param=at)


def _snake(name: str) -> str:
    return _CAPITAL.sub(lambda letter: f"_{letter[0].lower()}", name)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
