"""Our reader and OpenAI's own SDK read the same bytes alike, in whatever chunks they arrive."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import httpx2
from hypothesis import event, given
from hypothesis import strategies as st
from openai import AsyncOpenAI
from openai.types.responses import Response, ResponseCompletedEvent, ResponseIncompleteEvent

from holdfast.history.formats.format import is_array
from holdfast.providers.event_stream import EventSplitter
from holdfast.providers.model import CallDelta, StreamFinished, TextDelta, ThinkingDelta
from holdfast.providers.protocols.openai_responses import WIRE
from holdfast.providers.protocols.protocol import Delta
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from laws import law

Json = dict[str, Any]
TARGET = resolve_endpoint("openai:gpt-5.5", {"OPENAI_API_KEY": "k"})
ENDS = {
    "max_output_tokens": "max_tokens",
    "content_filter": "refusal",
}

_texts = st.text(st.characters(codec="utf-8"))
_written = st.text(st.characters(codec="utf-8"), min_size=1)
_places = st.lists(st.integers(0, 1000), max_size=3)
_counts = st.integers(0, 10**6)


def _cut(text: str, places: Sequence[int]) -> list[str]:
    """Return the text in pieces, cut at these places."""
    at = sorted({place % (len(text) + 1) for place in places})
    return [text[start:end] for start, end in zip([0, *at], [*at, len(text)], strict=True)]


@st.composite
def _items(draw: st.DrawFn) -> list[Json]:
    """Return the whole items of a response."""
    items: list[Json] = []
    for place in range(draw(st.integers(0, 4))):
        match draw(st.sampled_from(["reasoning", "message", "function_call", "web_search_call"])):
            case "reasoning":
                summary = [{"type": "summary_text", "text": text} for text in draw(st.lists(_written, max_size=3))]
                item: Json = {"type": "reasoning", "id": f"rs_{place}", "summary": summary}
                if draw(st.booleans()):
                    raw = draw(st.lists(_written, min_size=1, max_size=2))
                    item["content"] = [{"type": "reasoning_text", "text": text} for text in raw]
                items.append({**item, "encrypted_content": draw(st.none() | st.text("abc", min_size=1))})
            case "message":
                texts = draw(st.lists(_written, max_size=2))
                content: list[Json] = [
                    {"type": "output_text", "text": text, "annotations": [], "logprobs": []} for text in texts
                ]
                fields = {"role": "assistant", "status": "completed"}
                items.append({"type": "message", "id": f"msg_{place}", **fields, "content": content})
            case "function_call":
                arguments = json.dumps(draw(st.dictionaries(_texts, _texts, max_size=2)))
                fields = {"call_id": f"call_{place}", "name": draw(st.sampled_from(["read", "list"]))}
                call = {"type": "function_call", "id": f"fc_{place}", **fields, "arguments": arguments}
                items.append({**call, "status": "completed"})
            case _:
                action = {"type": "search", "query": "x"}
                fields = {"status": "completed", "action": action}
                items.append({"type": "web_search_call", "id": f"ws_{place}", **fields})
    return items


def _streamed(item: Json, index: int, places: Sequence[int]) -> Iterator[Json]:
    """Yield the events of an item."""
    where: Json = {"item_id": item["id"], "output_index": index}
    empty: Json = {key: "" if key == "arguments" else [] for key in ("arguments", "summary", "content") if key in item}
    yield {"type": "response.output_item.added", "output_index": index, "item": {**item, **empty}}
    for number, part in enumerate(item.get("summary", [])):
        at = {**where, "summary_index": number}
        yield {"type": "response.reasoning_summary_part.added", **at, "part": {**part, "text": ""}}
        for piece in _cut(part["text"], places):
            yield {"type": "response.reasoning_summary_text.delta", **at, "delta": piece}
        yield {"type": "response.reasoning_summary_text.done", **at, "text": part["text"]}
        yield {"type": "response.reasoning_summary_part.done", **at, "part": part}
    for number, part in enumerate(item.get("content", [])):
        at = {**where, "content_index": number}
        yield {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
        kind = "output_text" if item["type"] == "message" else "reasoning_text"
        for piece in _cut(part["text"], places):
            yield {"type": f"response.{kind}.delta", **at, "delta": piece, "logprobs": []}
        yield {"type": f"response.{kind}.done", **at, "text": part["text"], "logprobs": []}
        yield {"type": "response.content_part.done", **at, "part": part}
    if "arguments" in item:
        for piece in _cut(item["arguments"], places):
            yield {"type": "response.function_call_arguments.delta", **where, "delta": piece}
        done = {"arguments": item["arguments"], "name": item["name"]}
        yield {"type": "response.function_call_arguments.done", **where, **done}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """Return a stream in chunks."""
    items = draw(_items())
    events = [event for index, item in enumerate(items) for event in _streamed(item, index, draw(_places))]
    why = draw(st.sampled_from([None, *ENDS]))
    status = "incomplete" if why else "completed"
    details = {"cached_tokens": draw(_counts), "cache_write_tokens": draw(_counts)}
    counted = {"input_tokens": draw(_counts), "output_tokens": draw(_counts), "total_tokens": 1}
    usage = {**counted, "input_tokens_details": details, "output_tokens_details": {"reasoning_tokens": 1}}
    begun: Json = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5.5", "output": []}
    begun |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "in_progress"}
    ended = {**begun, "status": status, "output": items, "usage": usage}
    ended["incomplete_details"] = {"reason": why} if why else None
    every = [{"type": "response.created", "response": begun}, *events]
    every.append({"type": f"response.{status}", "response": ended})
    raw = b""
    for number, each in enumerate(every):
        raw += f"event: {each['type']}\ndata: {json.dumps({**each, 'sequence_number': number})}\n\n".encode()
    places = sorted(draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    return [raw[start:end] for start, end in zip([0, *places], [*places, len(raw)], strict=True)]


class _Body(httpx2.AsyncByteStream):
    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


async def openais(chunks: Sequence[bytes]) -> Response:
    """Return what OpenAI's SDK reads: the whole response, which the last event holds."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        del request
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_Body(chunks))

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        client = AsyncOpenAI(api_key="k", http_client=http, max_retries=0)
        stream = await client.responses.create(model="gpt-5.5", input="go", stream=True)
        last: Response | None = None
        async for each in stream:
            if isinstance(each, ResponseCompletedEvent | ResponseIncompleteEvent):
                last = each.response
        assert last is not None
        return last


def ours(chunks: Sequence[bytes]) -> tuple[list[Delta], StreamFinished]:
    """Return what holdfast reads."""
    reader, splitter = WIRE.reader(TARGET), EventSplitter()
    deltas = [delta for chunk in chunks for name, data in splitter.feed(chunk) for delta in reader.event(name, data)]
    assert reader.closed
    return deltas, reader.finished()


def _parts(response: Response) -> Iterator[Part]:
    """Yield what a journal holds of a response of the SDK's."""
    for item in response.output:
        event(item.type)
        match item.type:
            case "message":
                yield from (TextPart(part.text) for part in item.content if part.type == "output_text")
            case "function_call":
                yield CallPart("", item.name, item.arguments, wire_id=item.call_id, item_id=item.id, provider="openai")
            case "reasoning":
                raw = [content.text for content in item.content or ()]
                details: dict[str, object] | None = {"raw_content": raw} if raw else None
                texts = [summary.text for summary in item.summary]
                sealed = item.encrypted_content
                if not texts and (raw or sealed):
                    texts = [""]
                for number, text in enumerate(texts):
                    first = number == 0
                    yield ThinkingPart(
                        text,
                        signature=sealed if first else None,
                        id=item.id,
                        provider="openai",
                        details=details if first else None,
                    )
            case _:
                pass


def _expect_read(response: Response, deltas: list[Delta], finished: StreamFinished) -> None:
    parts = tuple(_parts(response))
    assert finished.parts == parts
    calls = any(isinstance(part, CallPart) for part in parts)
    why = response.incomplete_details and response.incomplete_details.reason
    assert finished.finish == (ENDS[why] if why else "calls" if calls else "stop")
    counted = response.usage
    assert counted is not None
    assert finished.usage.input_tokens == counted.input_tokens
    assert finished.usage.output_tokens == counted.output_tokens
    assert finished.usage.cache_read_tokens == counted.input_tokens_details.cached_tokens
    assert finished.usage.cache_write_tokens == counted.input_tokens_details.cache_write_tokens
    text = "".join(each.text for each in deltas if isinstance(each, TextDelta))
    thinking = "".join(each.text for each in deltas if isinstance(each, ThinkingDelta))
    written = "".join(each.arguments for each in deltas if isinstance(each, CallDelta))
    assert text == "".join(part.text for part in parts if isinstance(part, TextPart))
    assert sorted(thinking) == sorted("".join(_thought(part) for part in parts if isinstance(part, ThinkingPart)))
    assert written == "".join(part.arguments for part in parts if isinstance(part, CallPart))


def _thought(part: ThinkingPart) -> str:
    raw = (part.details or {}).get("raw_content", [])
    return "".join([part.text, *map(str, raw if is_array(raw) else [])])


@given(chunks=streams())
@law()
async def test_a_stream_is_read_as_openais_sdk_reads_it(chunks: list[bytes]) -> None:
    _expect_read(await openais(chunks), *ours(chunks))


@given(chunks=streams())
@law(50)
async def test_so_is_a_document(chunks: list[bytes]) -> None:
    response = await openais(chunks)
    reader = WIRE.reader(TARGET)
    deltas = list(reader.document(response.model_dump_json(by_alias=True).encode()))
    _expect_read(response, deltas, reader.finished())
