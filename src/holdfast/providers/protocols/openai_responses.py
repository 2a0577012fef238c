"""OpenAI Responses, for OpenAI and servers that speak the same protocol.

The service stores nothing: each request is the whole conversation. So no item is sent with its ID, which the service
would look up: reasoning is identified by its encrypted content, a call by its call ID.

Reasoning is one item with several summaries. In a journal it is one `ThinkingPart` for each summary, under the item's
ID; the first has the encrypted content as its signature, and the text of open models (`raw_content`) in its details.

The settings over OpenAI Responses.

No summary of the reasoning is requested: OpenAI refuses that to organizations that it has not verified ("Your
organization must be verified to generate reasoning summaries"). A verified user sets `reasoning = { summary = "auto" }`
in `extra_body`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping

from holdfast.history.formats.format import is_array
from holdfast.providers.catalog import Compat
from holdfast.providers.model_table import ModelFacts
from holdfast.providers.protocols.openai_responses_reader import OpenAIResponsesReader
from holdfast.providers.protocols.protocol import JsonObject, MessageWriter, ResponseReader, with_properties
from holdfast.providers.protocols.sent_settings import (
    SentSettings,
    chosen_effort,
    chosen_limit,
    chosen_temperature,
    chosen_tier,
    drop_none,
    merge_fields,
    non_empty_notes,
)
from holdfast.providers.registry import ModelEndpoint
from holdfast.session.conversation.conversation import (
    AssistantMessage,
    Conversation,
    ConversationMessage,
    UserContent,
    UserMessage,
)
from holdfast.session.journal.entries import Part
from holdfast.session.journal.model_settings import ModelSettings
from holdfast.session.journal.parts import REQUIRED_THINKING, CallPart, TextPart, ThinkingPart
from holdfast.tool_calls import ToolSchema

_LEAST_LIMIT = 16
"""The smallest `max_output_tokens` that OpenAI accepts."""


def responses_settings(settings: ModelSettings, facts: ModelFacts, compat: Compat) -> SentSettings:
    """Return the settings to send."""
    effort = chosen_effort(settings.effort, facts)
    temperature, temperature_note = chosen_temperature(settings.temperature, facts, reasons=effort.reasons(facts))
    limit, limit_note = chosen_limit(settings.max_output, facts, least=_LEAST_LIMIT)
    tier, tier_note = chosen_tier(settings.service_tier, facts, compat.service_tiers)
    level = effort.level if effort.state == "on" else facts.reasoning.off
    fields = {
        "reasoning": None if effort.state == "unset" else {"effort": level},
        "temperature": temperature,
        "max_output_tokens": limit,
        "service_tier": tier,
    }
    return SentSettings(
        fields=drop_none(fields), notes=non_empty_notes(effort.note, temperature_note, limit_note, tier_note)
    )


# --- openai responses ---

_ADDRESS = "https://api.openai.com/v1"

_CHAT_FIELDS = frozenset({"content", "reasoning", "reasoning_content"})
"""The `ThinkingPart.id` of reasoning that came over Chat Completions: a field's name, not an item's ID."""


class OpenAIResponsesProtocol:
    """The protocol."""

    messages_field = "input"
    open_ended = False

    def url(self, target: ModelEndpoint, *, non_streaming: bool) -> str:
        """Return the URL below the base URL, which has `/v1` as in OpenAI's SDK, and whose query is kept."""
        del non_streaming
        address, mark, query = (target.address or _ADDRESS).partition("?")
        return f"{address.rstrip('/')}/responses{mark}{query}"

    def headers(self, target: ModelEndpoint, conversation: Conversation | None = None) -> Mapping[str, str]:
        """Return the header with the key, if there is one."""
        del conversation
        return target.key_header("bearer")

    def settings(self, target: ModelEndpoint, conversation: Conversation) -> SentSettings:
        """Return the settings as this model takes them."""
        return responses_settings(conversation.settings, target.facts, target.provider.compat)

    def head(self, target: ModelEndpoint, conversation: Conversation, *, non_streaming: bool) -> JsonObject:
        """Return the fields before the items."""
        head: JsonObject = {"model": target.model}
        if not non_streaming:
            head["stream"] = True
        head["store"] = False
        facts = target.facts
        if facts.sealed_reasoning:  # models that do not reason refuse it
            head["include"] = ["reasoning.encrypted_content"]
        if facts.all_turns:
            head["reasoning"] = {"context": "all_turns"}
        if conversation.opened and conversation.opened.tools:
            head["tools"] = [_tool(tool) for tool in conversation.opened.tools]
            head["tool_choice"] = "auto"
        return merge_fields(head, self.settings(target, conversation).fields)

    def writer(self, target: ModelEndpoint) -> MessageWriter:
        """Return a writer; it keeps nothing from one message to the next."""
        return _Writer(seals=target.facts.sealed_reasoning)

    def closing(self, target: ModelEndpoint, last: JsonObject) -> JsonObject:
        """Return the last item as it is."""
        del target
        return last

    def reader(self, target: ModelEndpoint) -> ResponseReader:
        """Return a reader for one response."""
        return OpenAIResponsesReader(target)


class _Writer:
    def __init__(self, *, seals: bool) -> None:
        self._seals = seals

    def opening(self, conversation: Conversation) -> list[JsonObject]:
        """Return the system prompt as the first item."""
        return [{"role": "system", "content": conversation.system}] if conversation.system else []

    def message(self, message: ConversationMessage) -> list[JsonObject]:
        """Return the items of the message."""
        match message:
            case UserMessage():
                results: list[JsonObject] = [
                    {"type": "function_call_output", "call_id": result.call, "output": result.text}
                    for result in message.results
                ]
                return [*results, *_prompt(message.content)]
            case AssistantMessage():
                return self._answer(message.parts)

    def _answer(self, parts: tuple[Part, ...]) -> list[JsonObject]:
        """Return the parts as items. Parts of one reasoning item, under its ID, become that item."""
        items: list[JsonObject] = []
        reasoning: dict[str, JsonObject] = {}
        for part in parts:
            match part:
                case TextPart():
                    items.append({"role": "assistant", "content": part.text})
                case CallPart():
                    items.append(_call(part))
                case ThinkingPart() if part == REQUIRED_THINKING:
                    blank = [{"type": "reasoning_text", "text": " "}]  # DeepSeek takes a blank text, no empty one
                    items.append({"type": "reasoning", "summary": [], "content": blank})
                case ThinkingPart(id=str() as item_id) if item_id not in _CHAT_FIELDS or part.signature or _raw(part):
                    content = self._reasoning(part)
                    if item_id in reasoning:
                        _extend(reasoning[item_id], content)
                    elif content["summary"] or content["encrypted_content"] or "content" in content:
                        reasoning[item_id] = content
                        items.append(content)
                case ThinkingPart():
                    if part.text:  # empty is a field of Chat Completions, which there is none of here
                        items.append({"role": "assistant", "content": f"<think>\n{part.text}\n</think>"})
        return items

    def _reasoning(self, part: ThinkingPart) -> JsonObject:
        item: JsonObject = {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": part.text}] if part.text else [],
            "encrypted_content": part.signature if self._seals else None,
        }
        if raw := _raw(part):
            item["content"] = [{"type": "reasoning_text", "text": text} for text in raw]
        return item


def _extend(item: JsonObject, further: JsonObject) -> None:
    """Add a further part of a reasoning item to it. The encrypted content is that of the first."""
    item["summary"] = [*_list(item["summary"]), *_list(further["summary"])]
    if "content" in further:
        item["content"] = further["content"]


def _list(value: object) -> list[object]:
    return list(value) if is_array(value) else []


def _raw(part: ThinkingPart) -> list[str]:
    """Return the raw reasoning of an open model, without summaries."""
    return [text for text in _list((part.details or {}).get("raw_content")) if isinstance(text, str)]


def _call(part: CallPart) -> JsonObject:
    return {"type": "function_call", "call_id": part.id, "name": part.name, "arguments": part.arguments}


def _prompt(contents: tuple[UserContent, ...]) -> Iterator[JsonObject]:
    """Yield the user's content as one item: a single text as it is, anything else as a list."""
    if len(contents) == 1 and isinstance(contents[0], str):
        yield {"role": "user", "content": contents[0]}
    elif contents:
        yield {"role": "user", "content": [_content(each) for each in contents]}


def _content(content: UserContent) -> JsonObject:
    if isinstance(content, str):
        return {"type": "input_text", "text": content}
    data = base64.b64encode(content.data).decode("ascii")
    return {"type": "input_image", "detail": "auto", "image_url": f"data:{content.media_type};base64,{data}"}


def _tool(tool: ToolSchema) -> JsonObject:
    # `strict` is sent because its default differs between servers; schemas of tools do not fit strict mode.
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": with_properties(tool.parameters),
        "strict": False,
    }


WIRE = OpenAIResponsesProtocol()
