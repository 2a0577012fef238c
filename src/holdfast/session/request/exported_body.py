"""Exports a conversation as a request body of another protocol. Pure.

The body breaks no rule of its format (`holdfast check`) once the next prompt is added.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator

import msgspec

from holdfast.history.profiles import PROFILES
from holdfast.session.conversation.conversation import AssistantMessage, Conversation, UserContent, UserMessage
from holdfast.session.conversation.fold import Fold
from holdfast.session.journal.entries import Entry, TurnEnded
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.session.request.normalize import normalize
from holdfast.tool_calls import Image

Body = dict[str, object]

_LONGEST_ANSWER = 8192
"""The `max_tokens` that an Anthropic body requires. The user can change it."""


def settled_conversation(entries: Iterable[Entry]) -> Conversation:
    """Return the conversation of a journal. The text of an unfinished response becomes its last message."""
    folded = Fold(entries, left="fork")
    conversation = folded.conversation()
    if conversation.streaming is None:
        return conversation
    turn = conversation.open_turn or conversation.turns
    return folded.after([TurnEnded(turn=turn, reason="cancelled", cause="fork")])


def _facts_in_system(conversation: Conversation) -> Conversation:
    """Return the conversation with its facts at the end of the system prompt: a session made of it has its own."""
    opened = conversation.opened
    if opened is None or not opened.facts:
        return conversation
    system = "\n\n".join(filter(None, (opened.system, opened.facts)))
    return msgspec.structs.replace(conversation, opened=msgspec.structs.replace(opened, system=system, facts=""))


def openai_chat(conversation: Conversation) -> Body:
    """Return a body for OpenAI Chat Completions, without thinking."""
    sent = normalize(_facts_in_system(conversation), PROFILES["openai-chat"])
    system: list[object] = [{"role": "system", "content": sent.system}] if sent.system else []
    return {
        "model": _name(sent),
        "messages": [*system, *(each for message in sent.messages for each in _chat(message))],
        "tools": [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in (sent.opened.tools if sent.opened else ())
        ],
    }


def anthropic(conversation: Conversation) -> Body:
    """Return a body for Anthropic Messages, with the thinking that Anthropic signed for the session's model."""
    sent = normalize(_facts_in_system(conversation), PROFILES["anthropic"])
    return {
        "model": _name(sent),
        "max_tokens": _LONGEST_ANSWER,
        "system": sent.system,
        "messages": [
            {"role": "user" if isinstance(message, UserMessage) else "assistant", "content": list(_blocks(message))}
            for message in sent.messages
        ],
        "tools": [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in (sent.opened.tools if sent.opened else ())
        ],
    }


def _name(conversation: Conversation) -> str:
    provider, _, name = conversation.model.partition(":")
    return name or provider


def _chat(message: UserMessage | AssistantMessage) -> Iterator[Body]:
    if isinstance(message, UserMessage):
        for result in message.results:
            yield {"role": "tool", "tool_call_id": result.call, "content": result.text}
        if message.content:
            parts = [_chat_part(item) for item in message.content]
            first = message.content[0] if len(parts) == 1 else None
            yield {"role": "user", "content": first if isinstance(first, str) else parts}
        return
    text = "".join(part.text for part in message.parts if isinstance(part, TextPart))
    calls = [
        {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": part.arguments}}
        for part in message.parts
        if isinstance(part, CallPart)
    ]
    body: Body = {"role": "assistant", "content": text or None}
    if text or calls:
        yield body | {"tool_calls": calls} if calls else body


def _chat_part(item: UserContent) -> Body:
    if isinstance(item, str):
        return {"type": "text", "text": item}
    return {"type": "image_url", "image_url": {"url": f"data:{item.media_type};base64,{_base64(item)}"}}


def _base64(image: Image) -> str:
    return base64.b64encode(image.data).decode()


def _blocks(message: UserMessage | AssistantMessage) -> Iterator[Body]:
    if isinstance(message, UserMessage):
        for result in message.results:
            block: Body = {"type": "tool_result", "tool_use_id": result.call, "content": result.text}
            yield block if result.outcome == "ok" else block | {"is_error": True}
        for item in message.content:
            if isinstance(item, str):
                yield {"type": "text", "text": item}
            else:
                source = {"type": "base64", "media_type": item.media_type, "data": _base64(item)}
                yield {"type": "image", "source": source}
        return
    for part in message.parts:
        match part:
            case TextPart(text=text):
                yield {"type": "text", "text": text}
            case ThinkingPart(text=text, signature=signature):
                if text and signature and part.provider == "anthropic":
                    yield {"type": "thinking", "thinking": text, "signature": signature}
            case CallPart(id=call, name=name):
                yield {"type": "tool_use", "id": call, "name": name, "input": json.loads(part.arguments)}
