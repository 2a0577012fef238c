"""How each format writes the abstract conversations of `conversations`."""

from __future__ import annotations

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


RENDERINGS: dict[str, Rendering] = {"openai-chat": openai_chat}
