"""Google's Gemini: `streamGenerateContent` with server-sent events, and `generateContent`.

How thinking goes back. Gemini signs what follows a thought, a call or a text, never the thought. A call keeps its
signature in its `details`; a text's is journalled as empty thinking before the text, so that another model does not get
it. Signatures are sent as they came: Google reads both alphabets of base64.

Why not continue a long answer with Google's continuation token: one response would be several requests, each with a
token that no journal has. Such an answer ends as `max_tokens`, and the next prompt continues it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from holdfast.history.formats.format import Json, is_array, is_object
from holdfast.providers.model_table import ModelFacts
from holdfast.providers.protocols.call_arguments import arguments_object
from holdfast.providers.protocols.gemini_reader import SIGNATURE, GeminiReader
from holdfast.providers.protocols.protocol import JsonObject, MessageWriter, ProviderProtocol, ResponseReader
from holdfast.providers.protocols.sent_settings import (
    ChosenEffort,
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
    Result,
    UserContent,
    UserMessage,
)
from holdfast.session.journal.entries import Part
from holdfast.session.journal.model_settings import ModelSettings
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.tool_calls import ToolSchema

_TIERS = ("standard", "flex", "priority")
_BUDGETS = {"minimal": 512, "low": 2_048, "medium": 8_192, "high": 24_576, "xhigh": 24_576, "max": 24_576}
"""Tokens to think with: every model with a budget takes 512 to 24,576 (ai.google.dev, "Thinking")."""


def gemini_settings(settings: ModelSettings, facts: ModelFacts) -> SentSettings:
    """Return the settings to send."""
    effort = chosen_effort(settings.effort, facts)
    temperature, temperature_note = chosen_temperature(settings.temperature, facts, reasons=effort.reasons(facts))
    limit, limit_note = chosen_limit(settings.max_output, facts)
    tier, tier_note = chosen_tier(settings.service_tier, facts, _TIERS)
    config = drop_none(
        {"temperature": temperature, "maxOutputTokens": limit, "thinkingConfig": _thinking(effort, facts)}
    )
    fields = {"generationConfig": config or None, "serviceTier": tier}
    return SentSettings(
        fields=drop_none(fields), notes=non_empty_notes(effort.note, temperature_note, limit_note, tier_note)
    )


def _thinking(effort: ChosenEffort, facts: ModelFacts) -> dict[str, object] | None:
    match effort.state:
        case "unset":
            return None
        case "off":
            return {"thinkingBudget": 0}
        case "on" if facts.reasoning.kind == "budget":
            return {"thinkingBudget": _BUDGETS[effort.level]}
        case "on":
            return {"thinkingLevel": effort.level.upper()}


# --- gemini ---

_ADDRESS = "https://generativelanguage.googleapis.com"
_STAND_IN = base64.b64encode(b"skip_thought_signature_validator").decode()
"""For the first call of a response that has no signature of this model (ai.google.dev, "Thought signatures", FAQ)."""


class GeminiProtocol:
    """The Gemini protocol."""

    messages_field = "contents"
    open_ended = True

    def url(self, target: ModelEndpoint, *, non_streaming: bool) -> str:
        """Return the URL of the method for the model; a model may be named with its collection, `tunedModels/NAME`."""
        model = target.model if target.model.startswith(("models/", "tunedModels/")) else f"models/{target.model}"
        method = "generateContent" if non_streaming else "streamGenerateContent?alt=sse"
        return f"{(target.address or _ADDRESS).rstrip('/')}/v1beta/{quote(model)}:{method}"

    def headers(self, target: ModelEndpoint, conversation: Conversation | None = None) -> Mapping[str, str]:
        """Return the header with the key."""
        del conversation
        return target.key_header("x-goog-api-key")

    def settings(self, target: ModelEndpoint, conversation: Conversation) -> SentSettings:
        """Return the settings as this model takes them."""
        return gemini_settings(conversation.settings, target.facts)

    def head(self, target: ModelEndpoint, conversation: Conversation, *, non_streaming: bool) -> JsonObject:
        """Return system prompt, tools and settings; model and streaming are in the URL."""
        del non_streaming
        head: JsonObject = {}
        if conversation.system:
            head["systemInstruction"] = {"role": "user", "parts": [{"text": conversation.system}]}
        if conversation.opened and conversation.opened.tools:
            head["tools"] = [{"functionDeclarations": [_declaration(tool) for tool in conversation.opened.tools]}]
            head["toolConfig"] = {"functionCallingConfig": {"mode": "AUTO"}}
        head["generationConfig"] = {"responseModalities": ["TEXT"]}
        return merge_fields(head, self.settings(target, conversation).fields)

    def writer(self, target: ModelEndpoint) -> MessageWriter:
        """Return a writer for a conversation."""
        return _Writer(target.provider.name)

    def closing(self, target: ModelEndpoint, last: JsonObject) -> JsonObject:
        """Return the last message as it is."""
        del target
        return last

    def reader(self, target: ModelEndpoint) -> ResponseReader:
        """Return a reader for one response."""
        return GeminiReader(target)


def _declaration(tool: ToolSchema) -> JsonObject:
    return {
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": _schema(tool.parameters),
    }


def _schema(schema: object) -> object:
    """Return a JSON Schema with the keywords that Gemini documents: `const`, which it ignores, becomes an `enum`."""
    if is_array(schema):
        return [_schema(each) for each in schema]
    if not is_object(schema):
        return schema
    written: Json = {}
    for key, value in schema.items():
        if key == "const":
            written["enum"] = [value]
        elif key in ("properties", "$defs") and is_object(value):
            written[key] = {name: _schema(each) for name, each in value.items()}
        elif key in ("items", "prefixItems", "additionalProperties", "anyOf", "oneOf"):
            written[key] = _schema(value)
        elif key != "$schema":
            written[key] = value
    return written


class _Writer:
    """Writes messages; only signatures of `provider` are sent back."""

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def opening(self, conversation: Conversation) -> list[JsonObject]:
        """Return an empty prompt if a response comes first: Gemini accepts a call only after a user's message."""
        first = conversation.messages[0] if conversation.messages else None
        return [] if isinstance(first, UserMessage) else [_content("user", [{"text": ""}])]

    def message(self, message: ConversationMessage) -> list[JsonObject]:
        """Return the message. Results are a separate content: next to text, Gemini takes them for the model's."""
        match message:
            case UserMessage():
                parts = [_result(each) for each in message.results], [_content_part(each) for each in message.content]
                return [_content("user", each) for each in parts if each]
            case AssistantMessage():
                parts = list(self._parts(message.parts))
                return [_content("model", parts)] if parts else []

    def _parts(self, parts: Iterable[Part]) -> Iterator[JsonObject]:
        next_signature: str | None = None  # the signature of the part before, sent with the next one
        has_call = False
        for part in parts:
            signature, next_signature = self._signature(part) or next_signature, None
            written: JsonObject
            match part:
                case TextPart():
                    written = {"text": part.text}
                case ThinkingPart():
                    next_signature = part.signature if part.provider == self._provider else None
                    if not part.text:
                        continue
                    written = {"text": part.text, "thought": True}
                case CallPart():
                    arguments = arguments_object(part.arguments)
                    written = {"functionCall": {"id": part.id, "name": part.name, "args": arguments}}
                    signature = signature or (None if has_call else _STAND_IN)
                    has_call = True
            yield {**written, "thoughtSignature": signature} if signature else written

    def _signature(self, part: Part) -> str | None:
        if isinstance(part, TextPart) or part.provider != self._provider:
            return None
        signature = (part.details or {}).get(SIGNATURE)
        return signature if isinstance(signature, str) else None


def _content(role: str, parts: list[JsonObject]) -> JsonObject:
    return {"role": role, "parts": parts}


def _result(result: Result) -> JsonObject:
    field = "error" if result.outcome == "failed" else "return_value"
    return {"functionResponse": {"id": result.call, "name": result.name, "response": {field: result.text}}}


def _content_part(content: UserContent) -> JsonObject:
    if isinstance(content, str):
        return {"text": content}
    return {"inlineData": {"mimeType": content.media_type, "data": base64.b64encode(content.data).decode()}}


WIRE: ProviderProtocol = GeminiProtocol()
