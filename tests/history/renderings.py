"""How each format writes the abstract conversations of `conversations`."""

from __future__ import annotations

import json

from conversations import Answered, Called, Junk, Piece, Rendering, Returned, Said

Json = dict[str, object]


def openai_chat(pieces: tuple[Piece, ...]) -> list[object]:
    messages: list[object] = []
    for piece in pieces:
        match piece:
            case Said(role, text, parts):
                messages.append({"role": role, "content": [{"type": "text", "text": text}] if parts else text})
            case Answered(text, calls, thought):
                message: Json = {"role": "assistant", "content": text, "x-unknown": 1}
                if calls:
                    message["tool_calls"] = [_chat_call(call) for call in calls]
                if thought is not None:
                    message["reasoning_content"] = thought.text
                messages.append(message)
            case Returned(id, _, text):
                messages.append({"role": "tool", "tool_call_id": id, "content": text})
            case Junk(role=None, text=text):
                messages.append(text)
            case Junk(role=role, text=text):
                messages.append({"role": role, "content": text})
    return messages


def _chat_call(call: Called) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def anthropic(pieces: tuple[Piece, ...]) -> list[object]:
    """Return the messages; what the user says in parts stands in the message of the results before it."""
    messages: list[object] = []
    results: list[object] | None = None
    for piece in pieces:
        match piece:
            case Returned():
                if results is None:
                    messages.append({"role": "user", "content": (results := []), "x-unknown": 1})
                results.append(_result_block(piece))
                continue
            case Said(role="user", text=text, parts=True) if results is not None:
                results.append({"type": "text", "text": text})
                continue
            case Said(role, text, parts):
                messages.append({"role": role, "content": [{"type": "text", "text": text}] if parts else text})
            case Answered(text=str(text), calls=(), thought=None):
                messages.append({"role": "assistant", "content": text})
            case Answered():
                messages.append({"role": "assistant", "content": _answer_blocks(piece), "x-unknown": 1})
            case Junk(role=None, text=text):
                messages.append(text)
            case Junk(role=role, text=text):
                messages.append({"role": role, "content": text})
        results = None
    return messages


def _result_block(piece: Returned) -> Json:
    """Return the result; some have their content as blocks, with a blank one among them."""
    block: Json = {"type": "tool_result", "tool_use_id": piece.id}
    match piece:
        case Returned(name="", text=None):
            pass  # no content at all
        case Returned(name="9lives", text=str(text)):
            block["content"] = [{"type": "text", "text": text}, {"type": "text", "text": " "}]
        case Returned(name="bash", text=str(text)):
            block["content"] = [{"type": "text", "text": text}]
        case Returned(text=text):
            block["content"] = text
    return block


def _answer_blocks(piece: Answered) -> list[object]:
    blocks: list[object] = []
    if piece.thought is not None:
        signed = {} if piece.thought.signature is None else {"signature": piece.thought.signature}
        blocks.append({"type": "thinking", "thinking": piece.thought.text, **signed})
    if piece.text is not None:
        blocks.append({"type": "text", "text": piece.text})
    return [*blocks, *(_use_block(call) for call in piece.calls)]


def _use_block(call: Called) -> Json:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments)}


def _input(arguments: str) -> object:
    """Return what a client keeps of the arguments: their value, or the text that is no JSON."""
    try:
        return json.loads(arguments)
    except json.JSONDecodeError:
        return arguments


RENDERINGS: dict[str, Rendering] = {"openai-chat": openai_chat, "anthropic": anthropic}
