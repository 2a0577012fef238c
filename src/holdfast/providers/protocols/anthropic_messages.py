"""Anthropic Messages: at Anthropic, at Amazon Bedrock, and at servers that speak the same protocol.

The cache marks. Anthropic caches a request up to a mark, and only there. One is on the last tool, one on the system
prompt, one on the last block of the last message, which moves: it is added by `closing` and never kept. They are on
blocks, where proxies expect them. Servers that are not Anthropic's get none, because some refuse them.

Bound thinking. The newest models bind a thinking block to everything before it. If that has changed since, because a
result was pruned or the conversation compacted, Anthropic refuses the request unless it says that such blocks are to be
dropped. So every request to these models says it: the blocks that still fit are kept, and the conversation goes on.

The settings over Anthropic Messages.

When thinking with a budget may begin. A loop of calls and results is one turn of the model's. If thinking is enabled,
Anthropic refuses the loop unless its first response begins with thinking ("Expected `thinking` or `redacted_thinking`,
but found `tool_use`"). So a budget is sent only if the loop began with thinking that is still sent, or if there is no
loop: an effort that is set in the middle of one counts from the next prompt. The same is true after a compaction, a
change of model and a lost signature, because only the messages decide. Adaptive thinking has no such rule.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

import msgspec

from holdfast.history.formats.format import Json
from holdfast.providers.model_table import ModelFacts
from holdfast.providers.protocols.anthropic_messages_reader import AnthropicMessagesReader
from holdfast.providers.protocols.call_arguments import arguments_object
from holdfast.providers.protocols.protocol import JsonObject, MessageWriter, ResponseReader
from holdfast.providers.protocols.sent_settings import (
    ChosenEffort,
    SentSettings,
    chosen_effort,
    chosen_limit,
    chosen_temperature,
    chosen_tier,
    closest,
    drop_none,
    merge_fields,
    non_empty_notes,
)
from holdfast.providers.registry import ModelEndpoint
from holdfast.session.conversation.conversation import (
    AssistantMessage,
    Conversation,
    ConversationMessage,
    Result,
    UserContent,
    UserMessage,
)
from holdfast.session.journal.entries import Part
from holdfast.session.journal.model_settings import Effort, ModelSettings
from holdfast.session.journal.parts import REQUIRED_THINKING, CallPart, TextPart, ThinkingPart
from holdfast.tool_calls import ToolSchema

USUAL_LIMIT = 16_384
"""The limit of an answer's tokens for models that are not known; every model since Claude 3.7 accepts it."""

INTERLEAVED = "interleaved-thinking-2025-05-14"
"""The beta with which a model with a budget also thinks between calls."""

_TIERS = ("auto", "standard_only")
_LEAST_BUDGET = 1_024
_BUDGETS: dict[Effort, int] = {
    "minimal": 1_024,
    "low": 4_096,
    "medium": 10_000,
    "high": 20_000,
    "xhigh": 32_000,
    "max": 60_000,
}
"""Tokens to think with; at most three quarters of the answer's limit are sent, so that there is room for the answer."""


def anthropic_settings(
    settings: ModelSettings, facts: ModelFacts, messages: Sequence[ConversationMessage], *, foreign: bool = False
) -> SentSettings:
    """Return the settings to send; `foreign` if the server is not Anthropic's own: its service tiers are unknown."""
    limit, limit_note = chosen_limit(settings.max_output, facts)
    most = limit or facts.max_tokens or USUAL_LIMIT
    effort = chosen_effort(settings.effort, facts)
    thinking, output, thinking_note = _thinking(settings.effort, effort, facts, messages, most)
    reasons = thinking["type"] in ("enabled", "adaptive") if thinking else facts.reasoning.by_default is True
    temperature, temperature_note = chosen_temperature(
        settings.temperature, facts, reasons=reasons, most=1.0, refused=True
    )
    tier, tier_note = chosen_tier(settings.service_tier, facts, () if foreign else _TIERS)
    fields = {
        "max_tokens": most,
        "thinking": thinking,
        "output_config": output,
        "temperature": temperature,
        "service_tier": tier,
    }
    interleaved = thinking is not None and thinking["type"] == "enabled" and not foreign
    return SentSettings(
        fields=drop_none(fields),
        notes=non_empty_notes(effort.note, thinking_note, temperature_note, limit_note, tier_note),
        betas=(INTERLEAVED,) if interleaved else (),
    )


_Json = dict[str, object]


def _thinking(
    user_effort: Effort | None,
    effort: ChosenEffort,
    facts: ModelFacts,
    messages: Sequence[ConversationMessage],
    most: int,
) -> tuple[_Json | None, _Json | None, str]:
    """Return the fields `thinking` and `output_config`, None for none, and a note."""
    reasoning = facts.reasoning
    if effort.state == "unset":
        return None, None, ""
    if effort.state == "off":  # a model that does not think by default needs no field
        return ({"type": reasoning.off} if reasoning.by_default else None), None, ""
    level = closest(effort.level, reasoning.levels) if reasoning.levels else ""
    output: _Json | None = {"effort": level} if level else None
    if reasoning.kind != "budget":
        return {"type": "adaptive"}, output, ""
    if not may_begin_thinking(messages):
        why = "it may not begin between a call and its result"
        return None, output, f"{facts.name} reasons from the next prompt on: {why}."
    full_budget = _BUDGETS[user_effort if user_effort and user_effort != "off" else "minimal"]
    budget = max(_LEAST_BUDGET, min(full_budget, most * 3 // 4))
    if budget >= most:
        return None, output, f"{facts.name} cannot think within {most} tokens of output: no effort is sent."
    return {"type": "enabled", "budget_tokens": budget}, output, ""


def may_begin_thinking(messages: Sequence[ConversationMessage]) -> bool:
    """Return whether Anthropic accepts these messages with thinking enabled: see the module."""
    last = messages[-1] if messages else None
    if not isinstance(last, UserMessage) or not last.results:
        return True
    prompts = (at for at, each in enumerate(messages) if isinstance(each, UserMessage) and not each.results)
    first = max(prompts, default=-1) + 1
    first_message = messages[first]
    if not isinstance(first_message, AssistantMessage):
        return False
    sent_parts = (part for part in first_message.parts if not _is_omitted(part))
    return isinstance(next(sent_parts, None), ThinkingPart)


def _is_omitted(part: Part) -> bool:
    match part:
        case ThinkingPart():
            return not part.signature
        case TextPart():
            return not part.text
        case _:
            return False


# --- anthropic messages ---

_ADDRESS = "https://api.anthropic.com"

_VERSION = "2023-06-01"
"""The version that Anthropic documents for Messages: it keeps every field of requests and responses, and may add some.

Anthropic's Python SDK now sends 2026-10-21 (`anthropic/_constants.py`). Nothing in it reads a response differently for
that, and what the version changes is not documented; servers that copy the protocol were written for this one.
"""

_MARK = msgspec.Raw(b'{"type":"ephemeral","ttl":"5m"}')

_CACHEABLE = frozenset({"text", "tool_use", "tool_result", "image"})
"""The kinds of blocks that may have a cache mark; thinking may not."""

REDACTED = "redacted_thinking"
"""The `ThinkingPart.id` of encrypted thinking; its data is the signature."""


class AnthropicMessages:
    """The protocol; `bearer` if the key goes into `Authorization` instead of Anthropic's own header."""

    messages_field = "messages"
    open_ended = False

    def __init__(self, *, bearer: bool = False) -> None:
        self._bearer = bearer

    def url(self, target: ModelEndpoint, *, non_streaming: bool) -> str:
        """Return the URL below the base URL, which is without `/v1` as in Anthropic's SDK, and whose query is kept."""
        del non_streaming
        address, mark, query = (target.address or _ADDRESS).partition("?")
        return f"{address.rstrip('/')}/v1/messages{mark}{query}"

    def headers(self, target: ModelEndpoint, conversation: Conversation | None = None) -> Mapping[str, str]:
        """Return the version, and the key if there is one."""
        headers = {"anthropic-version": _VERSION}
        betas = (_BINDING_BETA,) if _binds_thinking(target) else ()  # without it, the field is refused
        if conversation is not None:
            betas = (*betas, *self.settings(target, conversation).betas)
        if betas:
            headers["anthropic-beta"] = ",".join(betas)
        # Servers that copy the protocol expect a bearer token; only Anthropic knows its own header.
        bearer = self._bearer or target.provider.foreign
        return {**headers, **target.key_header("bearer" if bearer else "x-api-key")}

    def settings(self, target: ModelEndpoint, conversation: Conversation) -> SentSettings:
        """Return the settings as this model takes them."""
        foreign = target.provider.foreign or target.provider.kind != "anthropic"
        return anthropic_settings(conversation.settings, target.facts, conversation.messages, foreign=foreign)

    def head(self, target: ModelEndpoint, conversation: Conversation, *, non_streaming: bool) -> JsonObject:
        """Return the fields before the messages."""
        settings = self.settings(target, conversation).fields
        head: JsonObject = {"model": target.model, "max_tokens": settings["max_tokens"]}
        if not non_streaming:
            head["stream"] = True
        if _binds_thinking(target):  # adaptive thinking is their default, so this changes nothing else
            head["thinking"] = _BOUND
        head = merge_fields(head, settings)
        cached = not target.provider.foreign
        if conversation.system:
            block: JsonObject = {"type": "text", "text": conversation.system}
            head["system"] = [_with_cache_mark(block)] if cached else conversation.system
        if conversation.opened and (tools := [_tool(tool) for tool in conversation.opened.tools]):
            head["tools"] = [*tools[:-1], _with_cache_mark(tools[-1])] if cached else tools
            head["tool_choice"] = {"type": "auto"}
        return head

    def writer(self, target: ModelEndpoint) -> MessageWriter:
        """Return a writer; it keeps nothing."""
        del target
        return _Writer()

    def closing(self, target: ModelEndpoint, last: JsonObject) -> JsonObject:
        """Return the last message with the cache mark that moves, on the last block that may have one."""
        content = last.get("content")
        if target.provider.foreign or not isinstance(content, list):
            return last
        blocks: list[Json] = list(content)  # pyright: ignore[reportUnknownArgumentType] - `_Writer` made it
        for place in reversed(range(len(blocks))):
            if blocks[place]["type"] in _CACHEABLE:
                blocks[place] = _with_cache_mark(blocks[place])
                break
        return {**last, "content": blocks}

    def reader(self, target: ModelEndpoint) -> ResponseReader:
        """Return a reader for one response."""
        return AnthropicMessagesReader(target)


class _Writer:
    def opening(self, conversation: Conversation) -> list[JsonObject]:
        """Return nothing: the system prompt has its own field."""
        del conversation
        return []

    def message(self, message: ConversationMessage) -> list[JsonObject]:
        """Return the message; none if nothing of it can be sent."""
        match message:
            case UserMessage():
                role = "user"
                blocks = [*map(_result, message.results), *map(_content_block, message.content)]
            case AssistantMessage():
                role = "assistant"
                blocks = [block for part in message.parts for block in _part(part)]
        return [{"role": role, "content": blocks}] if blocks else []


def _result(result: Result) -> JsonObject:
    return {
        "type": "tool_result",
        "tool_use_id": result.call,
        "content": [{"type": "text", "text": result.text}],
        "is_error": result.outcome == "failed",
    }


def _content_block(content: UserContent) -> JsonObject:
    if isinstance(content, str):
        return {"type": "text", "text": content}
    data = base64.b64encode(content.data).decode("ascii")
    return {"type": "image", "source": {"type": "base64", "media_type": content.media_type, "data": data}}


def _part(part: Part) -> list[JsonObject]:
    """Return the part as a block; none for empty text and unsigned thinking, which would be refused."""
    match part:
        case TextPart():
            return [{"type": "text", "text": part.text}] if part.text else []
        case ThinkingPart() if part == REQUIRED_THINKING:
            return [{"type": "thinking", "thinking": "", "signature": ""}]
        case ThinkingPart() if not part.signature:
            return []
        case ThinkingPart() if part.id == REDACTED:
            return [{"type": REDACTED, "data": part.signature}]
        case ThinkingPart():
            return [{"type": "thinking", "thinking": part.text, "signature": part.signature}]
        case CallPart():
            arguments = arguments_object(part.arguments)
            return [{"type": "tool_use", "id": part.id, "name": part.name, "input": arguments}]


def _tool(tool: ToolSchema) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _with_cache_mark(block: JsonObject) -> JsonObject:
    return {**block, "cache_control": _MARK}


_BINDING_BETA = "thinking-binding-controls-2026-08-01"
_BOUND: Json = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}

_BINDING = (
    *("claude-fable-5-1", "claude-fable-5-2", "claude-mythos-5-2"),
    *("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"),
)
"""The beginnings of the names of models that bind thinking to the conversation before it."""


def _binds_thinking(target: ModelEndpoint) -> bool:
    # Whether Amazon accepts the beta is unknown; there it is enough that the fold omits thinking after a pruned result.
    return target.provider.kind == "anthropic" and not target.provider.foreign and target.model.startswith(_BINDING)


WIRE = AnthropicMessages()

BEDROCK_WIRE = AnthropicMessages(bearer=True)
"""The same at Amazon's address, for Amazon's token."""
