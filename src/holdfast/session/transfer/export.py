"""A conversation as a pydantic-ai document."""

from __future__ import annotations

import base64
from typing import Literal, assert_never

import msgspec

from holdfast import __version__
from holdfast.session.conversation.conversation import (
    AssistantMessage,
    Conversation,
    Result,
    UserContent,
    UserMessage,
)
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.session.transfer.imported_parts import OUTCOME, WIRE_IDS
from holdfast.session.transfer.transfer import DOCUMENT_FORMAT
from holdfast.tool_calls import Outcome


def export(conversation: Conversation) -> dict[str, object]:
    """Return the conversation as a JSON-able document whose `messages` pydantic-ai loads.

    Laws (`tests/session/transfer/test_transfer_laws.py`): reading it back gives the same messages, except that the text
    of an unfinished response is a separate message, and that images are named and left out.
    """
    opened = conversation.opened
    messages: list[dict[str, object]] = []
    for message in conversation.messages:
        match message:
            case UserMessage():
                prompts = () if messages or opened is None else (opened.system, opened.facts)
                messages.append({"kind": "request", "parts": _request_parts(message, prompts)})
            case AssistantMessage():
                messages.append(_response(message.model, message.parts))
    streaming = conversation.streaming
    if streaming is not None and streaming.text.strip():
        messages.append(_response(streaming.model, (TextPart(streaming.text),)) | {"state": "interrupted"})
    document: dict[str, object] = {
        "format": DOCUMENT_FORMAT,
        "holdfast": __version__,
        "session": opened.session if opened else "",
        "cwd": opened.cwd if opened else "",
        "model": conversation.model,
        "tools": msgspec.to_builtins(opened.tools) if opened else [],
    }
    if conversation.open_turn is None and conversation.last_end is not None:
        document["ended"] = msgspec.to_builtins(conversation.last_end)
    if conversation.rewound:  # rewound turns are only in the journal
        document["rewound"] = list(conversation.rewound)
    return document | {"messages": messages}


def _request_parts(message: UserMessage, prompts: tuple[str, ...]) -> list[dict[str, object]]:
    """Return the parts, first the system `prompts`. The facts of a session are one: an import has its own."""
    parts: list[dict[str, object]] = [{"part_kind": "system-prompt", "content": text} for text in prompts if text]
    parts.extend(_result(result) for result in message.results)
    images = (image for result in message.results for image in result.images)
    parts.extend({"part_kind": "user-prompt", "content": _content(item)} for item in (*images, *message.content))
    return parts


def _content(item: UserContent) -> object:
    if isinstance(item, str):
        return item
    data = base64.b64encode(item.data).decode()
    return [{"kind": "binary", "media_type": item.media_type, "data": data}]


def _result(result: Result) -> dict[str, object]:
    return {
        "part_kind": "tool-return",
        "tool_name": result.name,
        "content": result.text,
        "tool_call_id": result.call,
        "outcome": _outcome(result.outcome),
        "metadata": {OUTCOME: result.outcome},
    }


def _response(model: str, parts: tuple[Part, ...]) -> dict[str, object]:
    provider, _, name = model.partition(":")
    wire_ids = {part.id: part.wire_id for part in parts if isinstance(part, CallPart) and part.wire_id is not None}
    return {
        "kind": "response",
        "parts": [_part(part) for part in parts],
        "model_id": model,
        "model_name": name or provider,
        "provider_name": provider if name else None,
        "metadata": {WIRE_IDS: wire_ids},
    }


def _part(part: Part) -> dict[str, object]:
    match part:
        case TextPart():
            return {"part_kind": "text", "content": part.text}
        case ThinkingPart():
            return {
                "part_kind": "thinking",
                "content": part.text,
                "id": part.id,
                "signature": part.signature,
                "provider_name": part.provider,
                "provider_details": part.details,
            }
        case CallPart():
            return {
                "part_kind": "tool-call",
                "tool_name": part.name,
                "args": part.arguments,
                "tool_call_id": part.id,
                "id": part.item_id,
                "provider_name": part.provider,
                "provider_details": part.details,
            }


def _outcome(outcome: Outcome) -> Literal["success", "failed", "denied", "interrupted"]:
    match outcome:
        case "ok":
            return "success"
        case "not_started":
            return "interrupted"
        case "failed" | "denied" | "interrupted":
            return outcome
        case _:
            assert_never(outcome)
