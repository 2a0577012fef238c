"""OpenAI Chat Completions, for OpenAI, Mistral and every server that speaks it; `Compat` says how they differ.

Thinking is sent back to its model in the form in which it came. The ID of its part records the form: the name of a
field next to the content, "content" for tags in it, "thinking" for parts of it.

Example: a message of DeepSeek's with a call and thinking is written as
`{"role": "assistant", "reasoning_content": "…", "content": "", "tool_calls": […]}`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping

from holdfast.providers.catalog import Compat
from holdfast.providers.model_table import ModelFacts
from holdfast.providers.protocols.chat_content import CLOSING_TAG, OPENING_TAG
from holdfast.providers.protocols.openai_chat_reader import (
    DETAILS,
    REASONING_FIELDS,
    TAGS,
    THINKING_PARTS,
    ChatReader,
)
from holdfast.providers.protocols.protocol import JsonObject, with_properties
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
    UserContent,
    UserMessage,
)
from holdfast.session.journal.model_settings import ModelSettings
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.tool_calls import ToolSchema


def chat_settings(settings: ModelSettings, facts: ModelFacts, compat: Compat, *, tools: bool) -> SentSettings:
    """Return the settings to send; `tools` is whether the request has tools."""
    in_template = compat.effort == "chat_template_kwargs"
    effort = chosen_effort(settings.effort, facts, stops=in_template)
    if tools and effort.state == "on" and facts.name.partition(":")[2].startswith(compat.no_effort_with_tools):
        effort = _without_effort(facts)
    temperature, temperature_note = chosen_temperature(settings.temperature, facts, reasons=effort.reasons(facts))
    limit, limit_note = chosen_limit(settings.max_output, facts)
    tier, tier_note = chosen_tier(settings.service_tier, facts, compat.service_tiers)
    fields = {
        **_effort(effort, facts, compat),
        "temperature": temperature,
        compat.output_limit: limit,
        "service_tier": tier,
    }
    return SentSettings(
        fields=drop_none(fields), notes=non_empty_notes(effort.note, temperature_note, limit_note, tier_note)
    )


def _without_effort(facts: ModelFacts) -> ChosenEffort:
    """Return the effort for a model that takes none together with tools."""
    what = f"{facts.name} takes no effort together with tools over Chat Completions"
    advice = f"Use openai:{facts.name.partition(':')[2]} for it."
    if facts.reasoning.off:
        return ChosenEffort("off", note=f"{what}: effort {facts.reasoning.off!r} is sent. {advice}")
    return ChosenEffort("unset", note=f"{what}: none is sent. {advice}")


def _effort(effort: ChosenEffort, facts: ModelFacts, compat: Compat) -> dict[str, object]:
    if effort.state == "unset":
        return {}
    level = effort.level if effort.state == "on" else facts.reasoning.off
    match compat.effort:
        case "reasoning_effort":
            return {"reasoning_effort": level}
        case "reasoning":
            return {"reasoning": {"effort": level}}
        case "chat_template_kwargs":  # templates ignore fields that they do not know
            on = {"enable_thinking": True, "reasoning_effort": level}
            return {"chat_template_kwargs": on if effort.state == "on" else {"enable_thinking": False}}


# --- openai chat ---

_ADDRESS = "https://api.openai.com/v1"
_REQUIRED_WITH_CALLS = "reasoning_content"
"""The field that DeepSeek and Moonshot require in each message with calls once they think; "" is accepted."""


class ChatProtocol:
    """The protocol."""

    messages_field = "messages"
    open_ended = False

    def url(self, target: ModelEndpoint, *, non_streaming: bool) -> str:  # noqa: ARG002 - the body says whether to stream
        """Return the URL of the endpoint below the base URL, whose query is kept."""
        address, mark, query = (target.address or _ADDRESS).partition("?")
        return f"{address.rstrip('/')}/chat/completions{mark}{query}"

    def headers(self, target: ModelEndpoint, conversation: Conversation | None = None) -> Mapping[str, str]:  # noqa: ARG002 - of the interface
        """Return the header with the key, if there is one."""
        return target.key_header("bearer")

    def settings(self, target: ModelEndpoint, conversation: Conversation) -> SentSettings:
        """Return the settings as this model takes them."""
        tools = bool(conversation.opened and conversation.opened.tools)
        return chat_settings(conversation.settings, target.facts, target.provider.compat, tools=tools)

    def head(self, target: ModelEndpoint, conversation: Conversation, *, non_streaming: bool) -> JsonObject:
        """Return model, tools, and whether to stream."""
        head: JsonObject = {"model": target.model}
        if not non_streaming:
            head["stream"] = True
        if not non_streaming and target.provider.compat.stream_usage:
            head["stream_options"] = {"include_usage": True}
        if not non_streaming and target.provider.compat.prompt_progress:
            head["return_progress"] = True
        if conversation.opened and conversation.opened.tools:
            head["tools"] = [_tool(tool) for tool in conversation.opened.tools]
            head["tool_choice"] = "auto"
        return merge_fields(head, self.settings(target, conversation).fields)

    def writer(self, target: ModelEndpoint) -> ChatWriter:
        """Return a writer for a conversation."""
        return ChatWriter(target)

    def closing(self, target: ModelEndpoint, last: JsonObject) -> JsonObject:  # noqa: ARG002 - of the interface
        """Return the last message as it is."""
        return last

    def reader(self, target: ModelEndpoint) -> ChatReader:
        """Return a reader for one response."""
        return ChatReader(target)


class ChatWriter:
    """Writes the messages of one conversation."""

    def __init__(self, target: ModelEndpoint) -> None:
        """Create it for a model."""
        self._compat = target.provider.compat
        self._requires_field = self._compat.reasoning_with_calls

    def opening(self, conversation: Conversation) -> list[JsonObject]:
        """Return the system prompt, if there is one."""
        return [{"role": "system", "content": conversation.system}] if conversation.system else []

    def message(self, message: ConversationMessage) -> list[JsonObject]:
        """Return the message, after a message for each result of calls."""
        if isinstance(message, AssistantMessage):
            return [self._assistant(message)]
        return list(_user(message))

    def _assistant(self, message: AssistantMessage) -> JsonObject:
        thinking, content = self._thinking(message)
        calls = [_call(call) for call in message.calls]
        self._requires_field = self._requires_field or _REQUIRED_WITH_CALLS in thinking
        if calls and self._requires_field:
            thinking.setdefault(_REQUIRED_WITH_CALLS, "")
        written: JsonObject = {"role": "assistant", **thinking, "content": content}
        if calls:
            written["tool_calls"] = calls
        return written

    def _thinking(self, message: AssistantMessage) -> tuple[JsonObject, object]:
        """Return the fields with thinking, and the content, which may contain thinking too."""
        fields: dict[str, list[str]] = {}
        tagged: list[str] = []
        parts: list[JsonObject] = []
        details: list[object] = []
        for part in message.parts if self._compat.thinking != "none" else ():
            if not isinstance(part, ThinkingPart):
                continue
            if self._compat.thinking == "parts" or part.id == THINKING_PARTS:
                parts.append({"type": "thinking", "thinking": [{"type": "text", "text": part.text}]})
            elif part_details := _details(part):
                details.extend(part_details)
            elif part.id in REASONING_FIELDS:
                fields.setdefault(part.id, []).append(part.text)
            elif part.id == TAGS:
                tagged.append(f"{OPENING_TAG}{part.text}{CLOSING_TAG}")
            else:  # of an imported session: its form is unknown
                tagged.append(f"{OPENING_TAG}\n{part.text}\n{CLOSING_TAG}\n\n")
        texts = (part.text for part in message.parts if isinstance(part, TextPart))
        text = "".join(tagged) + "\n\n".join(texts)
        extra: JsonObject = {name: "\n\n".join(each) for name, each in fields.items()}
        if details:  # they repeat the fields, and have more
            extra = {DETAILS: details}
        if parts:
            return extra, [*parts, {"type": "text", "text": text}] if text else parts
        return extra, text or (None if self._compat.null_content else "")


def _tool(tool: ToolSchema) -> JsonObject:
    parameters = with_properties(tool.parameters)
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def _details(part: ThinkingPart) -> list[object]:
    part_details = part.details.get(DETAILS) if part.details else None
    return list(part_details) if isinstance(part_details, list) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON


def _call(part: CallPart) -> JsonObject:
    call: JsonObject = {
        "id": part.id,
        "type": "function",
        "function": {"name": part.name, "arguments": part.arguments},
    }
    if part.details and "extra_content" in part.details:  # Gemini's signatures, through its Chat endpoint
        call["extra_content"] = part.details["extra_content"]
    return call


def _user(message: UserMessage) -> Iterator[JsonObject]:
    for result in message.results:
        yield {"role": "tool", "tool_call_id": result.call, "content": result.text}
    if len(message.content) == 1 and isinstance(message.content[0], str):
        yield {"role": "user", "content": message.content[0]}
    elif message.content:
        yield {"role": "user", "content": [_content_part(each) for each in message.content]}


def _content_part(content: UserContent) -> JsonObject:
    if isinstance(content, str):
        return {"type": "text", "text": content}
    url = f"data:{content.media_type};base64,{base64.b64encode(content.data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


WIRE = ChatProtocol()
