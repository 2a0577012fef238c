"""How each format writes the abstract conversations of `conversations`."""

from __future__ import annotations

import json

from conversations import Answered, Called, Junk, Piece, Rendering, Returned, Said, Thought

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


def openai_responses(pieces: tuple[Piece, ...]) -> list[object]:
    """Return the items; some have ids of their own, of which some stand twice or are none, and some lack a field."""
    items: list[object] = []
    for number, piece in enumerate(pieces):
        match piece:
            case Said(role, text, parts):
                typed: Json = {"type": "message"} if parts else {}
                items.append({**typed, "role": role, "content": [_input_text(text)] if parts else text})
            case Answered(text, calls, thought):
                item_id = f"{number % 3}"
                if thought is not None:
                    items.append(_reasoning_item(item_id, thought))
                if text is not None or not (calls or thought):
                    items.append(_output_message(item_id, text, plain=not calls))
                items += [_call_item(f"{item_id}{at}", call) for at, call in enumerate(calls)]
            case Returned():
                items.append(_output_item(piece))
            case Junk(role=None, text=text):
                items.append(text)
            case Junk(role=role, text=text):
                items.append({"type": "message", "role": role, "content": [_input_text(text)]})
    return items


def _input_text(text: str) -> Json:
    return {"type": "input_text", "text": text}


def _reasoning_item(item_id: str, thought: Thought) -> Json:
    item: Json = {"type": "reasoning", "id": f"rs_{item_id}", "x-unknown": 1}
    if thought.signature is None:
        return item
    summary = [{"type": "summary_text", "text": thought.text}]
    if thought.signature:
        return {**item, "summary": summary, "encrypted_content": thought.signature}
    return {**item, "summary": [], "content": [{"type": "reasoning_text", "text": thought.text}]}


def _output_message(item_id: str, text: str | None, *, plain: bool) -> Json:
    if plain:
        return {"role": "assistant", "content": text}
    kind = "input_text" if item_id == "2" else "output_text"
    parts = [] if text is None else [{"type": kind, "text": text}]
    return {"type": "message", "id": f"msg_{item_id}", "role": "assistant", "status": "completed", "content": parts}


def _call_item(item_id: str, call: Called) -> Json:
    """Return the call; what takes text instead of arguments is a custom tool's."""
    item: Json = {"call_id": call.id, "name": call.name}
    if call.arguments == "null":
        return {"type": "custom_tool_call", "id": f"fc_{item_id}", **item, "input": "null"}
    item |= {"type": "function_call", "arguments": call.arguments}
    return item if item_id.startswith("0") else {"id": f"fc_{item_id}", **item}


def _output_item(piece: Returned) -> Json:
    """Return the result; some have their output as parts, with a blank one among them."""
    item: Json = {"type": "function_call_output", "call_id": piece.id, "x-unknown": 1}
    match piece:
        case Returned(name="", text=None):
            pass  # no output at all
        case Returned(name="9lives", text=str(text)):
            item["output"] = [_input_text(text), _input_text(" ")]
        case Returned(name="bash", text=str(text)):
            item["output"] = [{"type": "text", "text": text}]
        case Returned(name=name, text=text):
            item |= {"name": name, "output": text}
    return item


def pydantic_ai(pieces: tuple[Piece, ...]) -> list[object]:
    """Return the messages; results, and what the user says in parts, stand in the request before them."""
    messages: list[object] = []
    parts: list[object] | None = None
    for piece in pieces:
        match piece:
            case Returned():
                part = _return_part(piece)
            case Said(role="user", text=text, parts=in_parts):
                part = {"part_kind": "user-prompt", "content": [text, {"kind": "cache-point"}] if in_parts else text}
                parts = parts if in_parts else None
            case Said(role, text):
                part = {"part_kind": f"{role}-prompt", "content": text}
            case Answered():
                messages.append(_response(piece))
                parts = None
                continue
            case Junk(role, text):
                bogus = {"kind": role, "parts": [{"part_kind": "user-prompt", "content": text}]}
                messages.append(text if role is None else bogus)
                parts = None
                continue
        if parts is None:
            parts = []
            messages.append({"kind": "request", "parts": parts, "instructions": None, "run_id": "r", "x-unknown": 1})
        parts.append(part)
    return messages


def _return_part(piece: Returned) -> Json:
    """Return the result, some as what asks to try again, some behind a part that says nothing."""
    part: Json = {"part_kind": "tool-return", "tool_name": piece.name, "x-unknown": 1}
    if piece.id is not None:
        part["tool_call_id"] = piece.id
    match piece:
        case Returned(name="", text=None):
            pass  # no content at all
        case Returned(name="bash", text=str(text)):
            part |= {"part_kind": "retry-prompt", "content": text}
        case Returned(name="9lives", text=str(text)):
            part["content"] = [text, {"kind": "image-url", "url": "https://example.org/x.png"}]
        case Returned(text=text):
            part["content"] = text
    return part


def _response(piece: Answered) -> Json:
    """Return the response; one without a text has its calls in `tool_calls` too."""
    parts: list[object] = []
    calls: list[object] = [
        {"part_kind": "tool-call", "tool_name": call.name, "tool_call_id": call.id, "args": _args(call)}
        for call in piece.calls
    ]
    if piece.thought is not None:
        thinking = {"part_kind": "thinking", "content": piece.thought.text, "signature": piece.thought.signature}
        parts.append({**thinking, "provider_name": "anthropic"})
    if piece.text is not None:
        parts.append({"part_kind": "text", "content": piece.text})
    response: Json = {"kind": "response", "parts": [*parts, *calls], "model_name": "m", "x-unknown": 1}
    return response if piece.text is not None or not calls else {**response, "tool_calls": calls}


def _args(call: Called) -> object:
    return _input(call.arguments) if call.name == "bash" else call.arguments


def gemini(pieces: tuple[Piece, ...]) -> list[object]:
    """Return the contents; results stand together, but one of `bash` begins a content, and `b` is no id here.

    Responses without a text are spelled as Google's SDK for Python does.
    """
    contents: list[object] = []
    results: list[object] | None = None
    for piece in pieces:
        match piece:
            case Returned(name=name):
                if results is None or name == "bash":
                    contents.append({"role": "user", "parts": (results := []), "x-unknown": 1})
                results.append({"functionResponse": _function_response(piece)})
                continue
            case Said(role="user", text=text, parts=True) if results is not None:
                results.append({"text": text})
                continue
            case Said(role, text) | Junk(role=str(role), text=text):
                contents.append({"role": role, "parts": [{"text": text}]})
            case Answered():
                contents.append({"role": "model", "parts": _answer_parts(piece), "x-unknown": 1})
            case Junk(text=text):
                contents.append(text)
        results = None
    return contents


def _call_id(call: str | None) -> Json:
    return {} if call in (None, "b") else {"id": call}


def _function_response(piece: Returned) -> Json:
    """Return the result; some have a response that is no object, some are of fields, some without a name."""
    response: Json = {**_call_id(piece.id), **({"name": piece.name} if piece.name else {})}
    match piece:
        case Returned(text=None):
            pass
        case Returned(name="9lives", text=str(text)):
            response["response"] = text
        case Returned(name="", text=str(text)):
            response["response"] = {"stdout": text, "code": 1}
        case Returned(text=text):
            response["response"] = {"output": text}
    return response


def _answer_parts(piece: Answered) -> list[object]:
    snake = piece.text is None
    signed: Json = {}
    parts: list[object] = []
    if piece.thought is not None:
        if piece.thought.signature is not None:
            signed = {"thought_signature" if snake else "thoughtSignature": piece.thought.signature}
        parts.append({"text": piece.thought.text, "thought": True, **signed})
    if piece.text is not None:
        parts.append({"text": piece.text})
    for call in piece.calls:
        function: Json = {**_call_id(call.id), "name": call.name, "args": _input(call.arguments)}
        parts.append({"function_call" if snake else "functionCall": function, **signed})
        signed = {}
    return parts


RENDERINGS: dict[str, Rendering] = {
    "openai-chat": openai_chat,
    "anthropic": anthropic,
    "openai-responses": openai_responses,
    "pydantic-ai": pydantic_ai,
    "gemini": gemini,
}
