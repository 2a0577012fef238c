"""Whatever bytes a server sends, a protocol's reader ends in a response or in one named fault, in bounded time.

What is sent: streams of the scripted providers, and documents, with values, events and bytes of them replaced; JSON of
the protocol's own field names; and any bytes. It comes over an HTTP client in any chunks.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from functools import cache
from typing import Any, cast, get_args

import httpx2
import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from holdfast.errors import ProviderFailed, ProviderFault
from holdfast.providers.connect import open_model
from holdfast.providers.model import CallDelta, StreamEvent, StreamFinished, TextDelta, ThinkingDelta
from holdfast.providers.protocols import protocol_of
from holdfast.providers.protocols.answer_bounds import MIB
from holdfast.providers.protocols.protocol import ResponseReader
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.testing.script import Call, Finish, Say, Think
from laws import law
from socket_servers import Received, answer, environ

NAMES = ("openai-chat:m", "openai:gpt-5.5", "anthropic:m", "google:gemini-3-m", "openrouter:a/m", "mistral:m")
"""A model for each reader, and for the chat readers that read more than the plain one."""

POSTED = {
    "openai-chat:m": "/v1/chat/completions",
    "openai:gpt-5.5": "/v1/responses",
    "anthropic:m": "/v1/messages",
    "google:gemini-3-m": "/v1beta/models/m:streamGenerateContent",
    "openrouter:a/m": "/v1/chat/completions",
    "mistral:m": "/mistral/v1/chat/completions",
}
REPLY = (Think("hm, so"), Say("one and two", chunk=4), Call("read", {"path": "a"}, chunk=5), Call("list", {}))
AT_MOST = 5.0
"""Seconds of processor time for the largest of these bodies: a hundred times what it takes."""

DEEP = b"[" * 100_000
HOSTILE = (
    *(b"null", b"true", b"0", b"-1", b"3.5", b"1e400", b"NaN", b"18446744073709551616", b"9" * 5_000),
    *(b'""', b'"x"', b'"\\ud83d"', b'"\\u0000"', b'"\xff"', b'"a\nb"', b'"' + b"x" * 70_000 + b'"'),
    *(b"[]", b"{}", b"[null]", b"[[]]", b'[""]', b"[{}]", b'{"type": 1}', b'{"error": "str"}', b'{"message": {}}'),
    *(b"[" * 900 + b"]" * 900, DEEP, b"{" * 3, b"}", b'"open'),
)
"""What stands in the place of a value."""

WORDS = [
    "type",
    "delta",
    "index",
    "content",
    "text",
    "thinking",
    "signature",
    "partial_json",
    "content_block",
    "message",
    "stop_reason",
    "usage",
    "id",
    "name",
    "input",
    "choices",
    "finish_reason",
    "tool_calls",
    "function",
    "arguments",
    "role",
    "reasoning",
    "reasoning_details",
    "extra_content",
    "refusal",
    "item",
    "item_id",
    "output_index",
    "content_index",
    "summary_index",
    "response",
    "status",
    "incomplete_details",
    "reason",
    "output",
    "summary",
    "encrypted_content",
    "call_id",
    "candidates",
    "parts",
    "functionCall",
    "args",
    "thought",
    "thoughtSignature",
    "finishReason",
    "usageMetadata",
    "promptTokenCount",
    "promptFeedback",
    "blockReason",
    "error",
    "code",
    "cost",
    "prompt_tokens",
    "input_tokens",
    "output_tokens",
]
KINDS = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "message_stop",
    "error",
    "text",
    "text_delta",
    "thinking",
    "thinking_delta",
    "signature_delta",
    "input_json_delta",
    "tool_use",
    "redacted_thinking",
    "reasoning.text",
    "reasoning.encrypted",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.output_text.done",
    "response.reasoning_summary_text.delta",
    "response.reasoning_text.delta",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.refusal.delta",
    "response.completed",
    "response.incomplete",
    "response.failed",
    "function_call",
    "reasoning",
    "message",
    "stop",
    "tool_calls",
    "length",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "completed",
    "MALFORMED_FUNCTION_CALL",
]

leaves = st.one_of(
    st.sampled_from([*KINDS, None, True, 0, 1, -1, 2**70, 1.5, "", "x", "\ud83d", "{}", "[DONE]"]),
    st.text(max_size=4),
    st.integers(),
)
documents = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=20,
)


@cache
def stream_of(name: str) -> tuple[bytes, ...]:
    """Return the events with which a provider sends the reply."""
    _, events = answer(Received("POST", POSTED[name], {}, b'{"stream": true}'), REPLY)
    return tuple(block + b"\n\n" for block in b"".join(events).replace(b"\r\n", b"\n").split(b"\n\n") if block.strip())


@cache
def document_of(name: str) -> bytes:
    """Return the body with which a provider sends the reply without streaming."""
    path = POSTED[name].replace("streamGenerateContent", "generateContent")
    _, events = answer(Received("POST", path, {}, b'{"stream": false}'), (*REPLY, Finish("tool_calls")))
    return b"".join(events)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in a document."""
    yield path
    holder = cast("dict[Any, Any] | list[Any]", value if isinstance(value, dict | list) else [])
    inside = holder.items() if isinstance(holder, dict) else enumerate(holder)
    for key, each in inside:
        yield from places(each, (*path, key))


def replaced(data: bytes, place: int, new: bytes) -> bytes:
    """Return the JSON with one of its values replaced by these bytes."""
    document = json.loads(data)
    every = list(places(document))
    mark = "-- here --"
    path = every[place % len(every)]
    if not path:
        return new
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = mark
    return json.dumps(document).encode().replace(json.dumps(mark).encode(), new)


def twisted_event(block: bytes, place: int, new: bytes) -> bytes:
    """Return the event with one value of its data replaced."""
    lines = block.split(b"\n")
    for at, line in enumerate(lines):
        if line.startswith(b"data: {"):
            lines[at] = b"data: " + replaced(line[6:], place, new).replace(b"\n", b" ")
    return b"\n".join(lines)


@st.composite
def bodies(draw: st.DrawFn, name: str, *, streamed: bool) -> bytes:
    """Return a body that is nearly one of the protocol, or JSON with its words, or anything."""
    kind = draw(st.sampled_from(["values", "values", "events", "bytes", "words", "anything"]))
    event(kind)
    blocks = [*stream_of(name)] if streamed else [document_of(name)]
    match kind:
        case "values":
            for _ in range(draw(st.integers(1, 3))):
                at, place, new = draw(
                    st.tuples(st.integers(0, len(blocks) - 1), st.integers(0, 60), st.sampled_from(HOSTILE))
                )
                try:
                    blocks[at] = twisted_event(blocks[at], place, new) if streamed else replaced(blocks[at], place, new)
                except (ValueError, RecursionError):  # what stands there already is no JSON
                    continue
        case "events":
            blocks = draw(st.lists(st.sampled_from(blocks), max_size=12))
        case "bytes":
            body = bytearray(b"".join(blocks))
            for at, new in draw(st.lists(st.tuples(st.integers(0, len(body)), st.binary(max_size=6)), max_size=4)):
                body[at : at + draw(st.integers(0, 9))] = new
            blocks = [bytes(body)]
        case "words":
            many = draw(st.lists(documents, min_size=1, max_size=4))
            texts = [json.dumps(each).encode() for each in many]
            names = [draw(st.sampled_from(["", *KINDS])).encode() for _ in texts]
            pairs = zip(names, texts, strict=True)
            blocks = [b"event: %s\ndata: %s\n\n" % pair for pair in pairs] if streamed else texts[:1]
        case _:
            blocks = [draw(st.binary(max_size=200))]
    return b"".join(blocks)


class Chunks(httpx2.AsyncByteStream):
    """A body in chunks of so many bytes."""

    def __init__(self, body: bytes, size: int) -> None:
        self._body = body
        self._size = size

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self._body), self._size):
            yield self._body[at : at + self._size]


async def read(name: str, body: bytes, *, chunk: int, streamed: bool, status: int = 200) -> list[StreamEvent]:
    """Return the events that the model reads from a response with this body."""
    kind = "text/event-stream" if streamed else "application/json"

    def respond(request: httpx2.Request) -> httpx2.Response:
        del request
        return httpx2.Response(status, headers={"content-type": kind}, stream=Chunks(body, chunk))

    client = httpx2.AsyncClient(transport=httpx2.MockTransport(respond))
    model = open_model(resolve_endpoint(name, environ("http://127.0.0.1:9")), http=lambda: client)
    opened = SessionOpened(session="s", cwd="/", model=name, system="S", tools=(), version="0")
    try:
        async with model.stream(
            fold([opened, PromptAccepted(turn=1, text="go")]), non_streaming=not streamed
        ) as events:
            return [each async for each in events]
    finally:
        await model.aclose()


def outcome(name: str, body: bytes, *, chunk: int, streamed: bool, status: int = 200) -> str:
    """Return "finished", or the fault. Fail for any other exception, and for a value of a wrong type."""
    began = time.process_time()
    failures: list[ProviderFailed] = []
    events: list[StreamEvent] = []
    try:
        events = asyncio.run(read(name, body, chunk=chunk, streamed=streamed, status=status))
    except ProviderFailed as failed:
        failures.append(failed)
    assert time.process_time() - began < AT_MOST
    for failed in failures:  # may be empty: what was not changed is read
        assert failed.fault in get_args(ProviderFault)
        assert name in str(failed)
        return str(failed.fault)
    for each in events:
        match each:
            case TextDelta(text=text) | ThinkingDelta(text=text):
                assert type(text) is str
            case CallDelta(index=index, name=written, arguments=arguments):
                assert (type(index), type(written), type(arguments)) == (int, str, str)
            case StreamFinished():
                assert each is events[-1]
    return "finished" if events and isinstance(events[-1], StreamFinished) else "not finished"


@pytest.mark.parametrize("name", NAMES)
def test_what_was_not_changed_is_read(name: str) -> None:
    assert outcome(name, b"".join(stream_of(name)), chunk=7, streamed=True) == "finished"
    assert outcome(name, document_of(name), chunk=1_000, streamed=False) == "finished"


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "document"])
@pytest.mark.parametrize("name", NAMES)
@law(600, shared_by=4)
@given(data=st.data(), chunk=st.sampled_from([1, 7, 64, 100_000]))
def test_any_body_ends_in_a_response_or_in_a_named_fault(
    name: str, data: st.DataObject, chunk: int, *, streamed: bool
) -> None:
    event(outcome(name, data.draw(bodies(name, streamed=streamed)), chunk=chunk, streamed=streamed))


@pytest.mark.parametrize("name", NAMES)
@law(100, shared_by=6)
@given(
    body=st.binary(max_size=300) | documents.map(lambda each: json.dumps(each).encode()), status=st.integers(300, 599)
)
@example(body=DEEP, status=400)
@example(body=b'{"error": {"message": "\\ud83d", "code": 1e400}}', status=500)
@example(body=b"x" * MIB, status=429)
def test_so_does_any_body_of_an_error(name: str, body: bytes, status: int) -> None:
    assert outcome(name, body, chunk=65_536, streamed=True, status=status) in get_args(ProviderFault)


# --- the time that many small pieces take ---------------------------------------------------------------------------


def _chat(delta: object) -> bytes:
    return json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode()


def _call(**function: str) -> bytes:
    return _chat({"tool_calls": [{"index": 0, "function": function}]})


PIECE = '{"a": "' + "x" * 90 + '"}, '
MANY = 30_000
"""Pieces: joined again for each, they are 45 GB."""

ENDLESS: dict[str, tuple[str, bytes, bytes]] = {
    "a name with each piece": ("openai-chat:m", _call(name="f", arguments='{"b": ['), _call(name="f", arguments=PIECE)),
    "an empty piece": ("openai-chat:m", _call(name="f"), _call(arguments="")),
    "pieces of a name": ("openai-chat:m", _call(name="f"), _call(name="")),
    "details": (
        "openrouter:a/m",
        _chat({"content": "x"}),
        _chat({"reasoning_details": [{"type": "reasoning.text", "text": PIECE}]}),
    ),
    "text and thinking": ("openai-chat:m", _chat({"content": "x"}), _chat({"content": PIECE})),
    "the end of arguments again and again": (
        "openai:gpt-5.5",
        json.dumps(
            {
                "type": "response.output_item.added",
                "item": {"type": "function_call", "id": "f", "name": "f", "arguments": ""},
            }
        ).encode(),
        json.dumps({"type": "response.function_call_arguments.delta", "item_id": "f", "delta": PIECE * 4}).encode()
        + b"\n"
        + b'{"type": "response.function_call_arguments.done", "item_id": "f", "arguments": "x"}',
    ),
    "pieces of arguments": (
        "anthropic:m",
        b'{"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "f"}}',
        json.dumps(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": PIECE},
            }
        ).encode(),
    ),
    "parts of a text": (
        "google:gemini-3-m",
        b"{}",
        json.dumps({"candidates": [{"content": {"parts": [{"text": PIECE}]}}]}).encode(),
    ),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_the_time_grows_with_what_was_sent_and_not_with_its_square(kind: str) -> None:
    name, first, piece = ENDLESS[kind]
    target = resolve_endpoint(name, environ("http://127.0.0.1:9"))
    reader: ResponseReader = protocol_of(target.provider.kind).reader(target)
    began = time.process_time()
    list(reader.event("", first))
    for _ in range(MANY):
        for data in piece.split(b"\n"):
            list(reader.event("", data))
        assert time.process_time() - began < AT_MOST  # each time: what is quadratic would never come to its end


def test_counts_that_no_usage_has_are_not_kept() -> None:
    target = resolve_endpoint("google:gemini-3-m", environ("http://127.0.0.1:9"))
    reader = protocol_of(target.provider.kind).reader(target)
    list(
        reader.event(
            "", json.dumps({"usageMetadata": {"promptTokenCount": 3, **{f"n{at}": 1 for at in range(99)}}}).encode()
        )
    )
    assert vars(reader)["_counts"] == {"promptTokenCount": 3}
