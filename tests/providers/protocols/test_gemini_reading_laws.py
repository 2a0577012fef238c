"""Our reader and Google's own SDK read the same bytes alike, in whatever chunks they arrive."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2
from google.genai import Client
from google.genai.types import GenerateContentResponse, HttpOptions
from hypothesis import event, given
from hypothesis import strategies as st

from holdfast.providers.event_stream import EventSplitter
from holdfast.providers.model import CallDelta, TextDelta, ThinkingDelta
from holdfast.providers.protocols.gemini import WIRE
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from laws import law

Json = dict[str, Any]
TARGET = resolve_endpoint("google:gemini-3-m", {"GEMINI_API_KEY": "k"})

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
_signatures = st.binary(min_size=1).flatmap(
    lambda raw: st.sampled_from([base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()])
)
_signed: st.SearchStrategy[Json] = st.fixed_dictionaries({}, optional={"thoughtSignature": _signatures})
_contents: st.SearchStrategy[Json] = st.one_of(
    st.fixed_dictionaries({"text": st.text()}),
    st.fixed_dictionaries({"text": st.text(), "thought": st.just(value=True)}),
    st.fixed_dictionaries(
        {
            "functionCall": st.fixed_dictionaries(
                {"name": st.text(min_size=1)}, optional={"id": st.text(), "args": st.dictionaries(st.text(), _json)}
            )
        }
    ),
    st.just({"executableCode": {"language": "PYTHON", "code": "1"}}),
)


def _part(drawn: tuple[Json, Json]) -> Json:
    return {**drawn[0], **drawn[1]}


def _candidates(parts: list[Json]) -> list[Json]:
    return [{"content": {"role": "model", "parts": parts}}]


_parts = st.tuples(_contents, _signed).map(_part)
_counts = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount"),
        st.integers(0, 10**6),
    ),
)
_events: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {"candidates": st.lists(_parts, max_size=3).map(_candidates)},
    optional={"usageMetadata": _counts, "modelVersion": st.text()},
)


@dataclass
class Heard:
    """What a response says, however it is cut into parts."""

    text: str = ""
    thinking: str = ""
    calls: list[tuple[str | None, str, object, bytes | None]] = field(default_factory=list[Any])
    signatures: list[bytes] = field(default_factory=list[bytes])


class _Body(httpx2.AsyncByteStream):
    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


async def googles(chunks: Sequence[bytes]) -> tuple[Heard, list[GenerateContentResponse]]:
    """Return what Google's SDK reads."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        del request
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_Body(chunks))

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    options = HttpOptions(httpx_async_client=http, client_args={"verify": unused}, async_client_args={"ssl": unused})
    client = Client(vertexai=False, api_key="k", http_options=options)
    stream = await client.aio.models.generate_content_stream(model="gemini-3-m", contents="go")
    responses = [each async for each in stream]
    heard = Heard()
    for response in responses:
        for candidate in response.candidates or ():
            for part in (candidate.content and candidate.content.parts) or ():
                if part.function_call:
                    call = part.function_call
                    heard.calls.append((call.id, str(call.name), call.args, part.thought_signature))
                elif part.text is not None:
                    if part.thought:
                        heard.thinking += part.text
                    else:
                        heard.text += part.text
                    if part.thought_signature:
                        heard.signatures.append(part.thought_signature)
    await http.aclose()
    return heard, responses


def ours(chunks: Sequence[bytes]) -> tuple[Heard, Heard, dict[str, int]]:
    """Return what our reader tells while it reads, what its parts say, and the usage."""
    reader, splitter = WIRE.reader(TARGET), EventSplitter()
    live, stored = Heard(), Heard()
    written: dict[int, str] = {}
    for chunk in chunks:
        for name, data in splitter.feed(chunk):
            for delta in reader.event(name, data):
                match delta:
                    case TextDelta(text):
                        live.text += text
                    case ThinkingDelta(text):
                        live.thinking += text
                    case CallDelta(index, name, arguments):
                        written[index] = written.get(index, "") + name + arguments
    finished = reader.finished()
    for part in finished.parts:
        match part:
            case TextPart():
                stored.text += part.text
            case ThinkingPart():
                stored.thinking += part.text
                stored.signatures.extend(filter(None, [_bytes(part.signature), _bytes(_signature(part))]))
            case CallPart():
                arguments = json.loads(part.arguments) if part.arguments else None
                stored.calls.append((part.wire_id, part.name, arguments, _bytes(_signature(part))))
    assert list(written.values()) == [
        part.name + part.arguments for part in finished.parts if isinstance(part, CallPart)
    ]
    usage = finished.usage
    return live, stored, {"in": usage.input_tokens, "out": usage.output_tokens, "cached": usage.cache_read_tokens}


def _signature(part: ThinkingPart | CallPart) -> str | None:
    found = (part.details or {}).get("thought_signature")
    return found if isinstance(found, str) else None


def _bytes(signature: str | None) -> bytes | None:
    return base64.b64decode(signature.replace("-", "+").replace("_", "/")) if signature else None


@law(60)
@given(sent=st.lists(_events, max_size=5), data=st.data())
async def test_what_googles_sdk_reads_is_read(sent: list[Json], data: st.DataObject) -> None:
    ending = {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 7}}
    blank = data.draw(st.sampled_from([b"\n\n", b"\r\n\r\n"]))
    raw = b"".join(b"data: " + json.dumps(each).encode() + blank for each in [*sent, ending])
    cuts = sorted(data.draw(st.sets(st.integers(0, len(raw)), max_size=5)))
    chunks = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    heard, responses = await googles(chunks)
    live, stored, usage = ours(chunks)
    assert stored == heard
    assert (live.text, live.thinking) == (heard.text, heard.thinking)
    event(f"calls: {min(len(heard.calls), 3)}, signatures: {min(len(heard.signatures), 3)}")
    counted = [each.usage_metadata for each in responses if each.usage_metadata]
    assert usage == {
        "in": 7,
        "out": _last(counted, "candidates_token_count") + _last(counted, "thoughts_token_count"),
        "cached": _last(counted, "cached_content_token_count"),
    }


def _last(counted: Sequence[object], name: str) -> int:
    """Return the last count that is more than nothing."""
    return next((found for each in reversed(counted) if (found := getattr(each, name))), 0)
