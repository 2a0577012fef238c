"""Translate an outgoing conversation into pydantic-ai messages, and pydantic-ai parts into holdfast's.

The same conversation always gives the same messages. Nothing is repaired here: `holdfast.session.request.normalize` has
already changed what a provider would refuse.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic_ai import messages as pai
from pydantic_ai.tools import ToolDefinition

from holdfast.session.conversation.conversation import AssistantMessage, Conversation, UserContent, UserMessage
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.tool_calls import ToolSchema


def to_messages(conversation: Conversation) -> list[pai.ModelMessage]:
    """Return the outgoing conversation as pydantic-ai messages, the journalled system prompt first.

    Results have no outcome: pydantic-ai would turn a failed one into JSON with every newline escaped. The text as
    journalled says itself that the call failed.
    """
    messages: list[pai.ModelMessage] = []
    for message in conversation.messages:
        match message:
            case UserMessage():
                request_parts: list[pai.ModelRequestPart] = []
                if not messages and conversation.system:
                    request_parts.append(pai.SystemPromptPart(conversation.system))
                request_parts.extend(pai.ToolReturnPart(each.name, each.text, each.call) for each in message.results)
                contents = [_to_content(each) for each in message.content]
                if contents:
                    request_parts.append(
                        pai.UserPromptPart(
                            contents[0] if len(contents) == 1 and isinstance(contents[0], str) else contents
                        )
                    )
                messages.append(pai.ModelRequest(parts=request_parts))
            case AssistantMessage(model=model, parts=parts):
                providers = (part.provider for part in parts if not isinstance(part, TextPart) and part.provider)
                messages.append(
                    pai.ModelResponse(
                        parts=[_to_part(part) for part in parts], model_name=model, provider_name=next(providers, None)
                    )
                )
    return messages


def to_tools(tools: tuple[ToolSchema, ...]) -> list[ToolDefinition]:
    """Return the journalled tool declarations as pydantic-ai's."""
    return [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=cast("dict[str, Any]", tool.parameters),
            strict=False,  # else pydantic-ai sets it by schema, for some tools only; some servers refuse that
        )
        for tool in tools
    ]


def from_part(part: pai.ModelResponsePart) -> Iterator[Part]:
    """Yield a response part as holdfast's parts; nothing for kinds that cannot be sent again (files, audio).

    A call's `id` stays empty: the agent assigns it. The signature of a text becomes an empty thinking part before it,
    which is how pydantic-ai expects it back.
    """
    match part:
        case pai.TextPart():
            if signature := (part.provider_details or {}).get("thought_signature"):
                yield ThinkingPart("", signature=signature, provider=part.provider_name)
            yield TextPart(part.content)
        case pai.ThinkingPart():
            yield ThinkingPart(
                part.content,
                signature=part.signature or None,
                id=part.id,
                provider=part.provider_name,
                details=cast("dict[str, object] | None", part.provider_details),
            )
        case pai.ToolCallPart():
            yield CallPart(
                id="",
                name=part.tool_name,
                arguments=arguments_text(part.args),
                wire_id=part.tool_call_id,
                provider=part.provider_name,
                details=cast("dict[str, object] | None", part.provider_details),
            )
        case _:
            pass


def arguments_text(args: str | Mapping[str, object] | None) -> str:
    """Return the arguments as the raw string for the journal; an object becomes its JSON."""
    return args if isinstance(args, str) else json.dumps(args, ensure_ascii=False) if args is not None else ""


def _to_content(content: UserContent) -> pai.UserContent:
    return content if isinstance(content, str) else pai.BinaryContent(content.data, media_type=content.media_type)


def _to_part(part: Part) -> pai.ModelResponsePart:
    match part:
        case TextPart():
            return pai.TextPart(part.text)
        case ThinkingPart():
            return pai.ThinkingPart(
                part.text,
                id=part.id,
                signature=part.signature,
                provider_name=part.provider,
                provider_details=cast("dict[str, Any] | None", part.details),
            )
        case CallPart():
            return pai.ToolCallPart(
                tool_name=part.name,
                args=part.arguments,
                tool_call_id=part.id,
                provider_details=cast("dict[str, Any] | None", part.details),
                provider_name=part.provider,
            )
