"""Bodies that every judge of their wire accepts, and one fault away from them: what programs do to what they keep.

Two rules. A fault is one that a real conversation may have: something lost, repeated, swapped, emptied, or of a kind
that another provider has. What a judge makes of it is not said here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypeVar

from hypothesis import strategies as st

from holdfast.history.formats.format import Json, as_array, is_array, is_object

T = TypeVar("T")

_BYTES = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
_URL = f"data:image/png;base64,{_BYTES}"
_TEXT: Json = {"type": "text", "text": "x"}


def _called(call: str) -> Json:
    return {"id": call, "type": "function", "function": {"name": "read", "arguments": '{"a": 1}'}}


def _used(call: str) -> Json:
    return {"type": "tool_use", "id": call, "name": "read", "input": {"a": 1}}


_CHAT: list[object] = [
    {"role": "system", "content": "x"},
    {"role": "user", "content": [_TEXT, {"type": "image_url", "image_url": {"url": _URL}}]},
    {"role": "assistant", "content": "", "tool_calls": [_called("abcdefgh1"), _called("abcdefgh2")]},
    {"role": "tool", "tool_call_id": "abcdefgh1", "name": "read", "content": "x"},
    {"role": "tool", "tool_call_id": "abcdefgh2", "content": [_TEXT]},
    {"role": "assistant", "content": "x"},
    {"role": "user", "content": "x"},
]
_THOUGHT_CHAT: list[object] = [
    {"role": "user", "content": "x"},
    {"role": "assistant", "content": "", "reasoning_content": "x", "tool_calls": [_called("abcdefgh1")]},
    {"role": "tool", "tool_call_id": "abcdefgh1", "content": "x"},
]
_ANTHROPIC: list[object] = [
    {"role": "user", "content": "x"},
    {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "x", "signature": "x"}, _TEXT, _used("a"), _used("b")],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "x"},
            {
                "type": "tool_result",
                "tool_use_id": "b",
                "content": [
                    _TEXT,
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _BYTES}},
                ],
                "is_error": True,
            },
            _TEXT,
        ],
    },
    {"role": "assistant", "content": "x"},
    {"role": "user", "content": [_TEXT, {"type": "document", "source": {"type": "url", "url": "x"}}]},
]
_RESPONSES: list[object] = [
    {"role": "system", "content": "x"},
    {"role": "user", "content": [{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": _URL}]},
    {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "x"}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
    {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"},
    {"type": "custom_tool_call", "call_id": "b", "name": "bash", "input": "x"},
    {"type": "function_call_output", "call_id": "a", "output": "x"},
    {"type": "custom_tool_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "x"}]},
    {"role": "assistant", "content": "x"},
    {"type": "message", "role": "user", "content": "x"},
]
_GEMINI: list[object] = [
    {"role": "user", "parts": [{"text": "x"}, {"inlineData": {"mimeType": "image/png", "data": _BYTES}}]},
    {
        "role": "model",
        "parts": [
            {"text": "x", "thought": True},
            {"text": "x", "thoughtSignature": "eA=="},
            {"functionCall": {"id": "a", "name": "read", "args": {"a": 1}}, "thoughtSignature": "eA=="},
            {"functionCall": {"name": "read", "args": {}}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "a", "name": "read", "response": {"output": "x"}}},
            {"functionResponse": {"name": "read", "response": {"error": "x"}}},
        ],
    },
    {"role": "user", "parts": [{"text": "x"}]},
    {"role": "model", "parts": [{"text": "x"}]},
    {"role": "user", "parts": [{"text": "x"}, {"fileData": {"fileUri": "x", "mimeType": "text/plain"}}]},
]
BODIES: dict[str, list[list[object]]] = {
    "openai-chat": [_CHAT, _THOUGHT_CHAT],
    "anthropic": [_ANTHROPIC],
    "openai-responses": [_RESPONSES],
    "gemini": [_GEMINI],
}

_ROLES = ("user", "assistant", "tool", "system", "developer", "function", "model", "human")
_BLOCKS: dict[str, tuple[Json, ...]] = {
    "openai-chat": (
        _TEXT,
        {"type": "refusal", "refusal": "x"},
        {"type": "image_url", "image_url": {"url": _URL}},
        {"type": "image_url", "image_url": _URL},
        {"type": "input_text", "text": "x"},
        {"type": "thinking", "thinking": "x"},
        {"type": "tool_use", "id": "a", "name": "read", "input": {}},
        {"type": "file", "file": {"file_id": "x"}},
        {"type": "input_audio", "input_audio": {"data": "eA==", "format": "wav"}},
        {"type": "video_url", "video_url": {"url": "x"}},
        {"role": "function", "name": "read", "content": "x"},
        {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}},
        {"role": "assistant", "content": None, "refusal": "x"},
        {"role": "assistant", "content": None, "audio": {"id": "x"}},
        {"role": "assistant", "content": None, "reasoning": "x", "tool_calls": [_called("abcdefgh9")]},
        {"role": "user", "content": "x", "tool_calls": [_called("abcdefgh9")]},
        {"role": "tool", "tool_call_id": "abcdefgh1", "content": "x", "tool_calls": [_called("abcdefgh9")]},
        {"role": "user", "content": "x", "name": 7},
        {"role": "tool", "tool_call_id": "abcdefgh1", "content": "x", "name": {}},
        {"id": "abcdefgh8", "type": "custom", "custom": {"name": "read", "input": "x"}},
        {"id": "abcdefgh8", "function": {"name": "read", "arguments": "{}"}},
    ),
    "anthropic": (
        _TEXT,
        _used("a"),
        {"type": "tool_result", "tool_use_id": "a", "content": "x"},
        {"type": "server_tool_use", "id": "srvtoolu_s", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_s", "content": []},
        {"type": "thinking", "thinking": "x"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "compaction", "content": "x"},
        {"type": "container_upload", "file_id": "x"},
        {"type": "fallback", "from": {"model": "x"}, "to": {"model": "y"}},
        {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "x"}},
        {"type": "tool_reference", "tool_name": "x"},
        {"type": "search_result", "source": "x", "title": "x", "content": [_TEXT]},
        {"type": "image", "source": {"type": "file", "file_id": "x"}},
        {"type": "image_url", "image_url": {"url": _URL}},
        {"role": "system", "content": "x"},
        {"role": "tool", "tool_call_id": "a", "content": "x"},
    ),
    "openai-responses": (
        {"type": "input_text", "text": "x"},
        {"type": "output_text", "text": "x"},
        {"type": "refusal", "refusal": "x"},
        _TEXT,
        {"type": "reasoning", "summary": [], "content": "x"},
        {"type": "reasoning", "summary": [], "encrypted_content": "x"},
        {"type": "item_reference", "id": "x"},
        {"id": "x"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}},
        {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}},
        {"type": "function_call_output", "call_id": "a", "output": "y"},
        {"type": "compaction", "encrypted_content": "x"},
        {"role": "developer", "content": "x"},
        {"role": "tool", "tool_call_id": "a", "content": "x"},
    ),
    "gemini": (
        {"text": "x"},
        _TEXT,
        {"text": ""},
        {"function_call": {"name": "read", "args": {}}},
        {"functionCall": {"name": "read", "args": "{}"}},
        {"functionCall": {"name": "read"}, "thoughtSignature": "x"},
        {"functionResponse": {"name": "read", "response": "x"}},
        {"functionResponse": {"name": "read", "response": {"output": "x"}, "parts": [{"text": "x"}]}},
        {"executableCode": {"language": "PYTHON", "code": "x"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "x"}},
        {"inlineData": {"mimeType": "image/png", "data": "x"}},
        {"toolCall": {"id": "s", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}},
        {"role": "user", "parts": {"text": "x"}},
        {"role": "function", "parts": [{"functionResponse": {"name": "read", "response": {"output": "x"}}}]},
        {"role": "assistant", "content": "x"},
        {"role": "tool", "tool_call_id": "a", "content": "x"},
    ),
}


@st.composite
def faulty(draw: st.DrawFn, form: str) -> list[object]:
    """Draw a body of the wire with one or two faults."""
    body: list[object] = _copy(draw(st.sampled_from(BODIES[form])))
    for _ in range(draw(st.integers(1, 2))):
        _spoil(draw, form, body)
    return body


def _spoil(draw: st.DrawFn, form: str, body: list[object]) -> None:
    fault = draw(st.sampled_from(("lose", "empty", "repeat", "swap", "insert", "insert", "speak")))
    lists, places = list(_lists(body)), list(_places(body))
    match fault:
        case "lose" | "empty" if places:
            holder, key = draw(st.sampled_from(places))
            if fault == "lose":
                del holder[key]
            else:
                holder[key] = draw(st.sampled_from((None, "", " ")))
        case "repeat" | "swap" if filled := [each for each in lists if each]:
            some = draw(st.sampled_from(filled))
            at, other = (draw(st.integers(0, len(some) - 1)) for _ in range(2))
            if fault == "repeat":
                some.insert(other, _copy(some[at]))
            else:
                some[at], some[other] = some[other], some[at]
        case "insert":
            some = draw(st.sampled_from(lists))
            some.insert(draw(st.integers(0, len(some))), _copy(draw(st.sampled_from(_BLOCKS[form]))))
        case "speak" if speakers := [each for each in body if is_object(each) and "role" in each]:
            draw(st.sampled_from(speakers))["role"] = draw(st.sampled_from(_ROLES))
        case _:
            pass


def _copy(raw: T) -> T:
    """Return it with no part of it shared."""
    return json.loads(json.dumps(raw))


def _lists(raw: object) -> Iterator[list[object]]:
    """Yield every list."""
    if is_array(raw):
        yield raw
    for each in raw.values() if is_object(raw) else as_array(raw):
        yield from _lists(each)


def _places(raw: object) -> Iterator[tuple[Json, str]]:
    """Yield every field, with what holds it."""
    if is_object(raw):
        for key in raw:
            yield raw, key
    for each in raw.values() if is_object(raw) else as_array(raw):
        yield from _places(each)
