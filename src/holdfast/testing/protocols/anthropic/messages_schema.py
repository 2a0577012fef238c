"""The fields of a Messages body as Anthropic checks them, before it looks at the whole conversation."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.testing.protocols.protocol import Refusal
from holdfast.testing.protocols.strict_json import is_integer, is_json_array, is_json_object
from holdfast.testing.protocols.vendor_schema import VendorSchema, pydantic_words

_LEAST_BUDGET = 1_024
_DOCS = "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
_ADAPTIVE_ONLY = ("claude-opus-4-7", "claude-opus-4-8", "claude-opus-5", "claude-sonnet-5", "claude-haiku-5")
_BUDGET_ONLY = ("claude-3-7", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-5", "claude-opus-4-1")
_NO_XHIGH = ("claude-opus-4-6", "claude-sonnet-4-6")
_NO_DISABLED = ("claude-opus-5-5", "claude-sonnet-5-5")
_NO_EFFORT = ("claude-3-7", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-1")


def check_settings(body: dict[str, object]) -> None:
    """Raise `Refusal` for the first setting that the model does not take. Names that are not Claude's take all."""
    model, thinking = str(body["model"]), body.get("thinking")
    kind = str(thinking.get("type")) if is_json_object(thinking) else ""
    if is_json_object(thinking) and kind == "enabled":
        _budget(thinking["budget_tokens"], body["max_tokens"])
    if kind == "enabled" and model.startswith(_ADAPTIVE_ONLY):
        what = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and'
        raise Refusal(f'{what} "output_config.effort" to control thinking behavior.')
    if kind == "adaptive" and model.startswith(_BUDGET_ONLY):
        raise Refusal("adaptive thinking is not supported on this model")
    if kind == "disabled" and model.startswith(_NO_DISABLED):
        raise Refusal('"thinking.type.disabled" is not supported for this model.')
    _effort(model, body.get("output_config"))
    _temperature(model, body.get("temperature"), thinks=kind in ("enabled", "adaptive"))


def _budget(budget: object, most: object) -> None:
    if not is_integer(budget) or budget < _LEAST_BUDGET:
        what = "thinking.enabled.budget_tokens: Input should be greater than or equal to"
        raise Refusal(f"{what} {_LEAST_BUDGET}")
    if is_integer(most) and most <= budget:
        raise Refusal(f"`max_tokens` must be greater than `thinking.budget_tokens`. {_DOCS}")


def _effort(model: str, config: object) -> None:
    level = config.get("effort") if is_json_object(config) else None
    if level is None:
        return
    if model.startswith(_NO_EFFORT):
        raise Refusal("This model does not support the effort parameter.")
    if level == "xhigh" and model.startswith(_NO_XHIGH):
        raise Refusal("This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.")
    if level in ("xhigh", "max") and model.startswith("claude-opus-4-5"):
        raise Refusal(f"This model does not support effort level '{level}'. Supported levels: high, low, medium.")


def _temperature(model: str, temperature: object, *, thinks: bool) -> None:
    if temperature is None:
        return
    if not isinstance(temperature, int | float) or not 0 <= temperature <= 1:
        raise Refusal("temperature: range: 0..1")
    if model.startswith(_ADAPTIVE_ONLY):
        raise Refusal("`temperature` is deprecated for this model.")
    if thinks and temperature != 1:
        raise Refusal(f"`temperature` may only be set to 1 when thinking is enabled. {_DOCS}")


# --- messages schema ---

_SCHEMA = VendorSchema("anthropic")
_ID = "^[a-zA-Z0-9_-]+$"
_NAME = "^[a-zA-Z0-9_-]{1,128}$"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicBlock:
    """The fields of a block that the conversation rules need; `at` is its position, `id` its own or the answered ID.

    `ttl` is how long its cache mark holds, "" without one; `failed` is what a result says of its call.
    """

    at: str
    kind: str
    text: str = ""
    id: str = ""
    signature: str = ""
    cached: bool = False
    ttl: str = ""
    failed: bool = False
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
    _check_declared(body, "Body", "")
    if not is_integer(body["max_tokens"]) or body["max_tokens"] < 1:
        raise Refusal("max_tokens: Input should be greater than or equal to 1")
    for name, field in (("Thinking", "thinking"), ("OutputConfig", "output_config")):
        if field in body:
            _check_declared(body[field], name, field)
    check_settings(body)
    items = _items(body["messages"])
    if not items:
        raise Refusal("messages: at least one message is required")
    messages = tuple(_message(item, i) for i, item in enumerate(items))
    thinking = body.get("thinking")
    for i, tool in enumerate(_items(body.get("tools"))):
        _tool(tool, f"tools.{i}")
    for i, block in enumerate(_items(body.get("system"))):
        _check_declared(block, "System", f"system.{i}")
    return AnthropicBody(
        body=body,
        system=_content(body.get("system"), "system"),
        messages=messages,
        thinking=str(thinking.get("type")) if is_json_object(thinking) else "disabled",
    )


def _message(item: object, index: int) -> AnthropicMessage:
    at = f"messages.{index}"
    message = item if is_json_object(item) else {}
    if message.get("role") == "system" and index == 0:
        raise Refusal("messages.0: use the top-level 'system' parameter for the initial system prompt")
    if message.get("role") == "system":
        raise Refusal("role 'system' is not supported on this model")
    _check_declared(item, "Message", at)
    return AnthropicMessage(at, str(message["role"]), _content(message["content"], f"{at}.content"))


def _content(content: object, at: str) -> tuple[AnthropicBlock, ...]:
    """Return the blocks; a string is one text block, an empty string is none."""
    if isinstance(content, str):
        return (AnthropicBlock(at=at, kind="text", text=content),) if content else ()
    return tuple(_block(item, f"{at}.{i}") for i, item in enumerate(_items(content)) if is_json_object(item))


def _block(block: dict[str, object], at: str) -> AnthropicBlock:
    kind = str(block["type"])
    here = f"{at}.{kind}"
    for key, pattern in (("id", _ID), ("tool_use_id", _ID), ("name", _NAME)):
        if key in block:
            _matches(str(block[key]), pattern, f"{here}.{key}")
    if kind == "tool_result" and block.get("content") == []:
        raise Refusal(f"{here}.content: List should have at least 1 item after validation, not 0")
    return AnthropicBlock(
        at=at,
        kind=kind,
        text=str(block.get(kind, "")),  # a text block has `text`, a thinking block `thinking`
        id=str(block.get("tool_use_id" if kind.endswith("tool_result") else "id", "")),
        signature=str(block.get("signature", "")),
        cached=block.get("cache_control") is not None,
        ttl=cache_ttl(block),
        failed=block.get("is_error") is True,
        inner=_content(block.get("content"), f"{here}.content") if kind == "tool_result" else (),
    )


def cache_ttl(block: object) -> str:
    """Return how long the cache mark of a block or a tool holds, "" without one."""
    mark = block.get("cache_control") if is_json_object(block) else None
    return str(mark.get("ttl") or "5m") if is_json_object(mark) else ""


def _tool(item: object, at: str) -> None:
    if is_json_object(item) and item.get("type") not in {None, "custom"}:
        return
    here = f"{at}.custom"
    _check_declared(item, "Tool", here)
    if is_json_object(item):
        _matches(str(item["name"]), _NAME, f"{here}.name")


def _matches(text: str, pattern: str, at: str) -> None:
    if not re.match(pattern.replace("$", r"\Z"), text):
        raise Refusal(f"{at}: String should match pattern '{pattern}'")


def _check_declared(value: object, name: str, at: str) -> None:
    """Refuse what is not as the SDK declares it, in the words of pydantic."""
    if fault := _SCHEMA.fault(value, name):
        raise Refusal(f"{'.'.join(filter(None, (at, *map(str, fault.path))))}: {pydantic_words(fault)}")


def _items(value: object) -> list[object]:
    return value if is_json_array(value) else []
