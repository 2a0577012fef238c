"""The fields of a Messages body as Anthropic checks them, before it looks at the whole conversation."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.testing.protocols.protocol import Refusal
from holdfast.testing.protocols.strict_json import is_integer, is_json_array, is_json_object

_PARAMETERS = frozenset(
    {
        "model",
        "messages",
        "max_tokens",
        "cache_control",
        "container",
        "context_management",
        "inference_geo",
        "mcp_servers",
        "metadata",
        "output_config",
        "output_format",
        "service_tier",
        "speed",
        "stop_sequences",
        "stream",
        "system",
        "temperature",
        "thinking",
        "tool_choice",
        "tools",
        "top_k",
        "top_p",
    }
)
_FIELDS = {  # required and optional fields of each kind of block
    "text": ("text", "cache_control citations"),
    "image": ("source", "cache_control"),
    "document": ("source", "cache_control citations context title"),
    "search_result": ("content source title", "cache_control citations"),
    "thinking": ("thinking signature", ""),
    "redacted_thinking": ("data", ""),
    "tool_use": ("id name input", "cache_control caller"),
    "tool_result": ("tool_use_id", "cache_control content is_error"),
    "server_tool_use": ("id name input", "cache_control caller"),
}
_STRINGS = ("text", "thinking", "signature", "data", "id", "tool_use_id", "name")
_SERVER_RESULT = re.compile(r"[a-z_]+_tool_result")
_ID = "^[a-zA-Z0-9_-]+$"
_NAME = "^[a-zA-Z0-9_-]{1,128}$"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicBlock:
    """The fields of a block that the conversation rules need; `at` is its position, `id` its own or the answered ID."""

    at: str
    kind: str
    text: str = ""
    id: str = ""
    signature: str = ""
    cached: bool = False
    inner: tuple[AnthropicBlock, ...] = ()


@dataclass(frozen=True, slots=True)
class AnthropicMessage:
    """A message with valid fields."""

    at: str
    role: str
    blocks: tuple[AnthropicBlock, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicBody:
    """A body with valid fields and at least one message."""

    body: dict[str, object]
    system: tuple[AnthropicBlock, ...]
    messages: tuple[AnthropicMessage, ...]
    thinking: str


def parse_anthropic_body(body: object) -> AnthropicBody:
    """Return the conversation. Raise `Refusal` for the first invalid field."""
    if not is_json_object(body):
        raise Refusal("Input should be a valid dictionary or object to extract fields from")
    for key in ("model", "max_tokens", "messages"):
        if key not in body:
            raise Refusal(f"{key}: Field required")
    _known(body, _PARAMETERS, "")
    _text(body, "model", "model")
    if not is_integer(body["max_tokens"]):
        raise Refusal("max_tokens: Input should be a valid integer")
    if body["max_tokens"] < 1:
        raise Refusal("max_tokens: Input should be greater than or equal to 1")
    items = _array(body, "messages", "messages")
    if not items:
        raise Refusal("messages: at least one message is required")
    messages = tuple(_message(item, i) for i, item in enumerate(items))
    thinking = body.get("thinking")
    _tools(body)
    return AnthropicBody(
        body=body,
        system=_content(body, "system", "system") if body.get("system") is not None else (),
        messages=messages,
        thinking=str(thinking.get("type")) if is_json_object(thinking) else "disabled",
    )


def _message(item: object, index: int) -> AnthropicMessage:
    at = f"messages.{index}"
    message = _object(item, at)
    for key in ("role", "content"):
        if key not in message:
            raise Refusal(f"{at}.{key}: Field required")
    if message["role"] == "system" and index == 0:
        raise Refusal("messages.0: use the top-level 'system' parameter for the initial system prompt")
    if message["role"] == "system":
        raise Refusal("role 'system' is not supported on this model")
    if message["role"] not in ("user", "assistant"):
        raise Refusal(f"{at}.role: Input should be 'user' or 'assistant'")
    _known(message, frozenset({"role", "content"}), f"{at}.")
    return AnthropicMessage(at, str(message["role"]), _content(message, "content", f"{at}.content"))


def _content(owner: dict[str, object], key: str, at: str) -> tuple[AnthropicBlock, ...]:
    """Return the blocks; a string is one text block, an empty string is none."""
    content = owner[key]
    if isinstance(content, str):
        return (AnthropicBlock(at=at, kind="text", text=content),) if content else ()
    return tuple(_block(item, f"{at}.{i}") for i, item in enumerate(_array(owner, key, at)))


def _block(item: object, at: str) -> AnthropicBlock:
    block = _object(item, at)
    kind = block.get("type")
    if kind is None:
        raise Refusal(f"{at}.type: Field required")
    if isinstance(kind, str) and kind not in _FIELDS and _SERVER_RESULT.fullmatch(kind):
        return AnthropicBlock(at=at, kind=kind, id=_text(block, "tool_use_id", f"{at}.{kind}.tool_use_id"))
    if not isinstance(kind, str) or kind not in _FIELDS:
        listed = ", ".join(f"'{each}'" for each in _FIELDS)
        what = f"Input tag '{kind}' found using 'type' does not match any of the expected tags: {listed}"
        raise Refusal(f"{at}: {what}")
    here = f"{at}.{kind}"
    required, optional = (keys.split() for keys in _FIELDS[kind])
    for key in required:
        if key not in block:
            raise Refusal(f"{here}.{key}: Field required")
        if key in _STRINGS:
            _text(block, key, f"{here}.{key}")
    _known(block, frozenset({"type", *required, *optional}), f"{here}.")
    _patterns(block, kind, here)
    inner: tuple[AnthropicBlock, ...] = ()
    if kind == "tool_result" and block.get("content") is not None:
        inner = _content(block, "content", f"{here}.content")
        if block["content"] == []:
            raise Refusal(f"{here}.content: List should have at least 1 item after validation, not 0")
    return AnthropicBlock(
        at=at,
        kind=kind,
        text=str(block.get(kind, "")),  # a text block has `text`, a thinking block `thinking`
        id=str(block.get("tool_use_id" if kind == "tool_result" else "id", "")),
        signature=str(block.get("signature", "")),
        cached=block.get("cache_control") is not None,
        inner=inner,
    )


def _patterns(block: dict[str, object], kind: str, here: str) -> None:
    for key, pattern in (("id", _ID), ("tool_use_id", _ID), ("name", _NAME)):
        if key in block:
            _matches(str(block[key]), pattern, f"{here}.{key}")
    if kind in {"tool_use", "server_tool_use"} and not is_json_object(block["input"]):
        raise Refusal(f"{here}.input: Input should be a valid dictionary")


def _tools(body: dict[str, object]) -> None:
    if body.get("tools") is None:
        return
    for i, item in enumerate(_array(body, "tools", "tools")):
        tool = _object(item, f"tools.{i}")
        if tool.get("type") not in {None, "custom"}:
            continue
        here = f"tools.{i}.custom"
        for key in ("name", "input_schema"):
            if key not in tool:
                raise Refusal(f"{here}.{key}: Field required")
        _matches(_text(tool, "name", f"{here}.name"), _NAME, f"{here}.name")
        _object(tool["input_schema"], f"{here}.input_schema")


def _matches(text: str, pattern: str, at: str) -> None:
    if not re.match(pattern.replace("$", r"\Z"), text):
        raise Refusal(f"{at}: String should match pattern '{pattern}'")


def _known(owner: dict[str, object], keys: frozenset[str], prefix: str) -> None:
    for key in owner:
        if key not in keys:
            raise Refusal(f"{prefix}{key}: Extra inputs are not permitted")


def _object(value: object, at: str) -> dict[str, object]:
    if not is_json_object(value):
        raise Refusal(f"{at}: Input should be a valid dictionary")
    return value


def _array(owner: dict[str, object], key: str, at: str) -> list[object]:
    value = owner[key]
    if not is_json_array(value):
        raise Refusal(f"{at}: Input should be a valid list")
    return value


def _text(owner: dict[str, object], key: str, at: str) -> str:
    if key not in owner:
        raise Refusal(f"{at}: Field required")
    value = owner[key]
    if not isinstance(value, str):
        raise Refusal(f"{at}: Input should be a valid string")
    return value
