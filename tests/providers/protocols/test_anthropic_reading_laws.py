"""Our reader and Anthropic's own SDK read the same bytes alike, in whatever chunks they arrive."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx2
from anthropic import AsyncAnthropic
from anthropic.types import Message
from hypothesis import event, given
from hypothesis import strategies as st

from holdfast.providers.event_stream import EventSplitter
from holdfast.providers.model import CallDelta, StreamFinished, TextDelta, ThinkingDelta
from holdfast.providers.protocols.anthropic_messages import WIRE
from holdfast.providers.protocols.protocol import Delta
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from laws import law

Json = dict[str, Any]
TARGET = resolve_endpoint("anthropic:m", {"ANTHROPIC_API_KEY": "k"})
FINISH = {
    "end_turn": ("stop", "calls"),
    "stop_sequence": ("stop", "calls"),
    "pause_turn": ("stop", "calls"),
    "tool_use": ("calls",),
    "max_tokens": ("max_tokens",),
    "model_context_window_exceeded": ("max_tokens",),
    "refusal": ("refusal",),
}

_texts = st.text(st.characters(codec="utf-8"))
_pieces = st.lists(_texts, max_size=4)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_texts, inner, max_size=2),
    max_leaves=4,
)
_arguments = st.dictionaries(_texts, _json, max_size=3)
_counts = st.fixed_dictionaries(
    {"output_tokens": st.integers(0, 10**6)},
    optional=dict.fromkeys(
        ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"), st.none() | st.integers(0, 10**6)
    ),
)
_other_events = st.sampled_from(
    [
        b'event: ping\ndata: {"type": "ping"}\n\n',
        b": a comment\n\n",
        b'event: surprise\ndata: {"type": "surprise", "index": 0}\n\n',
    ]
)


def _cut(text: str, places: Sequence[int]) -> list[str]:
    """Return the text in pieces, cut at these places."""
    at = sorted({place % (len(text) + 1) for place in places})
    return [text[start:end] for start, end in zip([0, *at], [*at, len(text)], strict=True)]


@st.composite
def _blocks(draw: st.DrawFn) -> tuple[Json, list[Json]]:
    """Return the beginning of a block, and its deltas."""
    match draw(st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use"])):
        case "text":
            begun = {"type": "text", "text": draw(st.sampled_from(["", "so: "]))}
            return begun, [{"type": "text_delta", "text": piece} for piece in draw(_pieces)]
        case "thinking":
            deltas: list[Json] = [{"type": "thinking_delta", "thinking": piece} for piece in draw(_pieces)]
            signed = [{"type": "signature_delta", "signature": draw(st.text("abc", min_size=1))}]
            return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, *signed]
        case "redacted_thinking":
            return {"type": "redacted_thinking", "data": draw(st.text("abc", min_size=1))}, []
        case kind:
            written = json.dumps(draw(_arguments), ensure_ascii=draw(st.booleans()))
            pieces = _cut(written, draw(st.lists(st.integers(0, 1000), max_size=3)))
            begun = {"type": kind, "id": draw(st.text("abc", min_size=1)), "name": "web_search", "input": Json()}
            return begun, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def _sse(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """Return a stream in chunks."""
    usage = {"input_tokens": 1, "output_tokens": 1, **draw(_counts)}
    usage = {key: 0 if counted is None else counted for key, counted in usage.items()}
    message: Json = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    events = [_sse("message_start", message={**message, "stop_reason": None, "stop_sequence": None})]
    for index, (begun, deltas) in enumerate(draw(st.lists(_blocks(), max_size=4))):
        events.append(_sse("content_block_start", index=index, content_block=begun))
        events.extend(_sse("content_block_delta", index=index, delta=delta) for delta in deltas)
        events.append(_sse("content_block_stop", index=index))
        events.extend(draw(st.lists(_other_events, max_size=1)))
    ended = {"stop_reason": draw(st.sampled_from(list(FINISH))), "stop_sequence": None}
    events += [_sse("message_delta", delta=ended, usage=draw(_counts)), _sse("message_stop")]
    raw = b"".join(events)
    places = sorted(draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    return [raw[start:end] for start, end in zip([0, *places], [*places, len(raw)], strict=True)]


class _Body(httpx2.AsyncByteStream):
    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


async def anthropics(chunks: Sequence[bytes]) -> Message:
    """Return what Anthropic's SDK reads."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        del request
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_Body(chunks))

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        client = AsyncAnthropic(api_key="k", http_client=http, max_retries=0)
        async with client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "go"}]
        ) as stream:
            return await stream.get_final_message()


def ours(chunks: Sequence[bytes]) -> tuple[list[Delta], StreamFinished]:
    """Return what holdfast reads."""
    reader, splitter = WIRE.reader(TARGET), EventSplitter()
    deltas = [delta for chunk in chunks for name, data in splitter.feed(chunk) for delta in reader.event(name, data)]
    assert reader.closed
    return deltas, reader.finished()


@given(chunks=streams())
@law()
async def test_a_stream_is_read_as_anthropics_sdk_reads_it(chunks: list[bytes]) -> None:
    message = await anthropics(chunks)
    deltas, finished = ours(chunks)
    theirs: list[object] = []
    for block in message.content:
        event(block.type)
        match block.type:
            case "text" if block.text:
                theirs.append(TextPart(block.text))
            case "thinking":
                theirs.append(ThinkingPart(block.thinking, signature=block.signature, provider="anthropic"))
            case "redacted_thinking":
                theirs.append(ThinkingPart("", signature=block.data, id="redacted_thinking", provider="anthropic"))
            case "tool_use":
                theirs.append((block.id, block.name, block.input))
            case _:
                pass
    assert theirs == [
        (part.wire_id, part.name, json.loads(part.arguments)) if isinstance(part, CallPart) else part
        for part in finished.parts
    ]
    assert finished.finish in FINISH[str(message.stop_reason)]
    usage = message.usage
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    assert (finished.usage.cache_read_tokens, finished.usage.cache_write_tokens) == (read, written)
    assert finished.usage.input_tokens == usage.input_tokens + read + written
    assert finished.usage.output_tokens == usage.output_tokens
    _expect_shown(deltas, finished)


def _expect_shown(deltas: list[Delta], finished: StreamFinished) -> None:
    """Fail unless the deltas show what the parts hold, in order."""
    text = "".join(each.text for each in deltas if isinstance(each, TextDelta))
    thinking = "".join(each.text for each in deltas if isinstance(each, ThinkingDelta))
    written = "".join(each.arguments for each in deltas if isinstance(each, CallDelta))
    assert text == "".join(part.text for part in finished.parts if isinstance(part, TextPart))
    assert thinking == "".join(part.text for part in finished.parts if isinstance(part, ThinkingPart))
    assert written == "".join(part.arguments for part in finished.parts if isinstance(part, CallPart))


@given(chunks=streams())
@law(50)
async def test_a_document_is_read_as_the_stream_of_it(chunks: list[bytes]) -> None:
    body = (await anthropics(chunks)).model_dump_json(by_alias=True)
    reader = WIRE.reader(TARGET)
    deltas = list(reader.document(body.encode()))
    _, streamed = ours(chunks)
    finished = reader.finished()
    assert (finished.finish, finished.usage) == (streamed.finish, streamed.usage)
    assert _compared(finished) == _compared(streamed)
    _expect_shown(deltas, finished)


def _compared(finished: StreamFinished) -> list[object]:
    """Return the parts; arguments by their value, because a document has them as an object."""
    return [
        (part.wire_id, part.name, json.loads(part.arguments)) if isinstance(part, CallPart) else part
        for part in finished.parts
    ]
