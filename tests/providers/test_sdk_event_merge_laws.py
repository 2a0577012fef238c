"""The laws of joining: whoever reads the joined events reads what was said, and nothing is added up twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.providers.pydantic_ai.event_merge import at_an_end, merge_deltas

Json: TypeAlias = dict[str, object]


def chat(**choice: object) -> Json:
    frame: Json = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "service_tier": None}
    return frame | {"choices": [{"index": 0, "logprobs": None, "finish_reason": None, **choice}], "usage": None}


def chat_says(key: str) -> Callable[[str], Json]:
    return lambda text: chat(delta={key: text}) | {"obfuscation": "x" * (len(text) % 3)}


def chat_writes(text: str) -> Json:
    return chat(delta={"tool_calls": [{"index": 0, "function": {"arguments": text}}]})


def block(kind: str, key: str) -> Callable[[str], Json]:
    return lambda text: {"type": "content_block_delta", "index": 0, "delta": {"type": kind, key: text}}


def response(kind: str) -> Callable[[str], Json]:
    return lambda text: {
        "type": f"response.{kind}.delta",
        "sequence_number": len(text),
        "item_id": "i1",
        "output_index": 0,
        "delta": text,
        "logprobs": [],
    }


GROW = {
    "content": chat_says("content"),
    "reasoning": chat_says("reasoning_content"),
    "chat arguments": chat_writes,
    "text": block("text_delta", "text"),
    "thinking": block("thinking_delta", "thinking"),
    "block arguments": block("input_json_delta", "partial_json"),
    "output": response("output_text"),
    "response arguments": response("function_call_arguments"),
}
"""What only goes on with a text."""


def _grown(kind: str, text: str) -> Json:
    return GROW[kind](text)


STAY: list[Json] = [
    chat(delta={"role": "assistant", "content": "a"}) | {"usage": {"prompt_tokens": 1}},
    chat(delta={"content": "a"}, logprobs={"content": [{"token": "a"}]}),
    chat(delta={"content": "a", "reasoning_content": "b"}),
    chat(delta={"content": "a", "tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}),
    chat(delta={"tool_calls": [{"index": 0, "id": "x", "function": {"name": "bash", "arguments": ""}}]}),
    chat(delta={"tool_calls": [{"index": n, "function": {"arguments": "{"}} for n in range(2)]}),
    chat(delta={"refusal": "no"}),
    chat(delta={"content": ["a"]}),
    chat(delta={}, finish_reason="stop"),
    chat(delta={"content": "a"}, finish_reason="stop"),
    {**chat(), "choices": []},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
    {"type": "content_block_start", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
    {"type": "response.audio.delta", "delta": "QQ=="},
    {"type": "response.output_text.delta", "delta": "a", "logprobs": [{"token": "a"}]},
    {"type": ["list"], "delta": "a"},
    {"delta": "a"},
    {"error": {"message": "a"}},
]
"""What does more than that: twice the same is said twice."""

NEWLINES = st.sampled_from([b"\n", b"\r\n"])


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, ...]:
    """Return the events of a stream, as bytes."""
    newline = draw(NEWLINES)
    named = draw(st.booleans())
    kinds = draw(st.lists(st.sampled_from(list(GROW)), min_size=1, max_size=3))
    growing = st.builds(_grown, st.sampled_from(kinds), st.text(max_size=4))
    events: list[Json | bytes] = draw(
        st.lists(st.one_of(growing, growing, growing, st.sampled_from(STAY), st.sampled_from([b": ping", b"data: {"])))
    )
    out: list[bytes] = []
    for event in events:
        ascii_only = draw(st.booleans())
        if isinstance(event, dict):
            name = b"event: " + str(event.get("type")).encode() + newline if named else b""
            data = json.dumps(event, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
            out.append(name + b"data: " + data + newline * 2)
        else:
            out.append(event + newline * 2)
    return tuple(out)


Heard = list[tuple[str, object]]


def heard(data: bytes) -> Heard:
    """Return the stream as one reads it: every character with what it belongs to, everything else as it came."""
    said: Heard = []
    for event in data.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = event.split(b"\n")
        name = lines[0].decode() if lines[0].startswith(b"event:") else ""
        try:
            content: Json = json.loads(lines[-1].removeprefix(b"data: "))
        except ValueError:
            said.append(("raw", event))
            continue
        kind = next((kind for kind, make in GROW.items() if _frame(content) == _frame(make(""))), None)
        if kind is None or content in STAY:
            said.append((name, content))
        else:
            said += [(kind + name, letter) for letter in _text(content)]
    return said


def _text(content: Json) -> str:
    return "".join(value for key, value in _leaves(content) if key in _KEYS)


def _frame(content: Json) -> list[tuple[str, object]]:
    return [(key, "" if key in _KEYS else value) for key, value in _leaves(content) if key not in _LOOSE]


_KEYS = {"content", "reasoning_content", "arguments", "text", "thinking", "partial_json", "delta"}
_LOOSE = {"obfuscation", "sequence_number"}


def _leaves(value: object, key: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [leaf for name, inner in value.items() for leaf in _leaves(inner, name)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
    if isinstance(value, list) and value:
        return [leaf for inner in value for leaf in _leaves(inner, key)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
    return [(key, value if isinstance(value, str) else json.dumps(value))]


@given(events=streams(), cut=st.integers(0, 400))
def test_what_is_read_of_the_joined_events_is_what_was_said(events: tuple[bytes, ...], cut: int) -> None:
    data = b"".join(events)
    once = merge_deltas(data, begun=False)
    assert heard(once) == heard(data)
    assert merge_deltas(once, begun=False) == once
    first, rest = data[:cut], data[cut:]
    assert heard(
        merge_deltas(first, begun=False) + merge_deltas(rest, begun=not at_an_end(first) and cut > 0)
    ) == heard(data)


@given(events=streams())
def test_an_event_alone_is_as_it_came(events: tuple[bytes, ...]) -> None:
    for event in events:
        assert merge_deltas(event, begun=False) == event


def test_the_rest_of_an_event_is_no_event() -> None:
    data = b"data: " + json.dumps(chat_says("content")("a")).encode() + b"\n\n"
    assert merge_deltas(data * 3, begun=True) == data + merge_deltas(data * 2, begun=False)


@pytest.mark.parametrize("kind", GROW)
def test_a_text_in_many_pieces_becomes_one(kind: str) -> None:
    events = [b"data: " + json.dumps(GROW[kind](piece)).encode() + b"\n\n" for piece in ("a", "\n", "é", '"', "😀")]
    together = merge_deltas(b"".join(events), begun=False)
    assert together.count(b"data:") == 1
    assert _text(json.loads(together.removeprefix(b"data: "))) == 'a\né"😀'


@pytest.mark.parametrize("event", STAY, ids=json.dumps)
def test_what_may_be_added_up_is_not_joined(event: Json) -> None:
    data = b"data: " + json.dumps(event).encode() + b"\n\n"
    assert merge_deltas(data * 3, begun=False) == data * 3


def test_two_texts_side_by_side_are_never_taken_for_one() -> None:
    said = [("", "THINK"), ("", "ING"), ("hello", ""), (" you", "")]
    deltas = [chat(delta={"content": text, "reasoning_content": thought}) for text, thought in said]
    data = b"".join(b"data: " + json.dumps(delta).encode() + b"\n\n" for delta in deltas)
    events = merge_deltas(data, begun=False).removesuffix(b"\n\n").split(b"\n\n")
    assert [json.loads(event.removeprefix(b"data: "))["choices"][0]["delta"] for event in events] == [
        {"content": "", "reasoning_content": "THINKING"},
        {"content": "hello you", "reasoning_content": ""},
    ]


def test_what_is_no_utf_8_stays_as_it_came() -> None:
    event = b'data: {"choices": [{"delta": {"content": "\xb0"}}]}\n\n'
    assert merge_deltas(event * 2, begun=False) == event * 2
