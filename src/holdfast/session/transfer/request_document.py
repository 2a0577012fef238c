"""The body of a request to OpenAI Chat or Anthropic Messages, read as a pydantic-ai document.

Both are read by one set of rules, because their parts cannot be confused. A part that neither has is kept as its JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from holdfast.history.formats.format import Json, as_array, as_object, as_text, is_array, is_object

_OWN_KEYS = {"model", "messages", "system", "tools", "max_tokens"}
_ROLES = ("system", "developer", "user", "assistant", "tool")


def is_request(document: Json) -> bool:
    """Return whether this is a request body: messages with roles, and none of pydantic-ai."""
    messages = [as_object(each) for each in as_array(document.get("messages"))]
    return bool(messages) and all(each.get("role") in _ROLES and "parts" not in each for each in messages)


def as_document(body: Json) -> dict[str, object]:
    """Return the body as a pydantic-ai document; fields that are not of a conversation stay, to be reported."""
    messages = [as_object(each) for each in as_array(body.get("messages"))]
    names = {call: name for message in messages for call, name in _calls(message)}
    thinks = any(block.get("type") == "thinking" for message in messages for block in _blocks(message.get("content")))
    model = as_text(body.get("model")) or ""
    maker = f"anthropic:{model}" if thinks else model
    read: list[dict[str, object]] = []
    if system := _text(body.get("system")):
        read.append({"kind": "request", "parts": [{"part_kind": "system-prompt", "content": system}]})
    for message in messages:
        if message.get("role") == "assistant":
            read.append({"kind": "response", "parts": list(_answer(message)), "model_id": maker, "model_name": model})
        else:
            read.append({"kind": "request", "parts": list(_request(message, names))})
    tools = [_tool(as_object(each)) for each in as_array(body.get("tools"))]
    rest = {key: value for key, value in body.items() if key not in _OWN_KEYS}
    return rest | {"format": "pydantic-ai", "tools": tools, "messages": read}


def _calls(message: Json) -> Iterator[tuple[str, str]]:
    for call in map(as_object, as_array(message.get("tool_calls"))):
        yield as_text(call.get("id")) or "", as_text(as_object(call.get("function")).get("name")) or ""
    for block in _blocks(message.get("content")):
        if block.get("type") == "tool_use":
            yield as_text(block.get("id")) or "", as_text(block.get("name")) or ""


def _blocks(content: object) -> list[Json]:
    return [as_object(each) for each in as_array(content)]


def _text(content: object) -> str:
    """Return a text, or the texts of blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(as_text(block.get("text")) or "" for block in _blocks(content) if block.get("type") == "text")


def _request(message: Json, names: dict[str, str]) -> Iterator[dict[str, object]]:
    content = message.get("content")
    match message.get("role"):
        case "system" | "developer":
            yield {"part_kind": "system-prompt", "content": _text(content)}
        case "tool":
            yield _result(as_text(message.get("tool_call_id")) or "", content, names, outcome="success")
        case _ if isinstance(content, str):
            yield {"part_kind": "user-prompt", "content": content}
        case _:
            for block in _blocks(content):
                if block.get("type") == "tool_result":
                    outcome = "failed" if block.get("is_error") is True else "success"
                    call = as_text(block.get("tool_use_id")) or ""
                    yield _result(call, block.get("content"), names, outcome=outcome)
                else:
                    yield {"part_kind": "user-prompt", "content": _user_content(block)}


def _result(call: str, content: object, names: dict[str, str], *, outcome: str) -> dict[str, object]:
    text = content if isinstance(content, str) else [_user_content(block) for block in _blocks(content)]
    return {
        "part_kind": "tool-return",
        "tool_name": names.get(call, ""),
        "content": text,
        "tool_call_id": call,
        "outcome": outcome,
    }


def _user_content(block: Json) -> object:
    """Return a text, or a file that the import names."""
    match block.get("type"):
        case "text":
            return as_text(block.get("text")) or ""
        case "image":
            return [{"kind": "binary", "media_type": as_text(as_object(block.get("source")).get("media_type")) or ""}]
        case "image_url":
            url = as_text(as_object(block.get("image_url")).get("url")) or ""
            kind = url.removeprefix("data:").partition(";")[0] if url.startswith("data:") else ""
            return [{"kind": "binary", "media_type": kind} if kind else {"kind": "image-url", "url": url}]
        case _:
            return json.dumps(block, ensure_ascii=False)


def _answer(message: Json) -> Iterator[dict[str, object]]:
    content = message.get("content")
    if isinstance(content, str) and content:
        yield {"part_kind": "text", "content": content}
    for block in _blocks(content) if is_array(content) else ():
        match block.get("type"):
            case "text":
                yield {"part_kind": "text", "content": as_text(block.get("text")) or ""}
            case "thinking":
                yield {
                    "part_kind": "thinking",
                    "content": as_text(block.get("thinking")) or "",
                    "signature": block.get("signature"),
                    "provider_name": "anthropic",
                }
            case "tool_use":
                yield _call(block.get("id"), block.get("name"), json.dumps(block.get("input"), ensure_ascii=False))
            case _:
                yield {"part_kind": "text", "content": json.dumps(block, ensure_ascii=False)}
    for call in map(as_object, as_array(message.get("tool_calls"))):
        function = as_object(call.get("function"))
        yield _call(call.get("id"), function.get("name"), function.get("arguments"))


def _call(call: object, name: object, arguments: object) -> dict[str, object]:
    return {"part_kind": "tool-call", "tool_call_id": call, "tool_name": name, "args": arguments}


def _tool(tool: Json) -> dict[str, object]:
    """Return a declared tool in holdfast's form."""
    function = as_object(tool.get("function")) if is_object(tool.get("function")) else tool
    return {
        "name": function.get("name"),
        "description": function.get("description") or "",
        "parameters": function.get("parameters") or function.get("input_schema") or {},
    }
