"""What is read of a response: all of it up to its terminal event, however it is cut into chunks, and nothing after."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator, Sequence

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed
from holdfast.providers import http_client
from holdfast.providers.connect import open_model
from holdfast.providers.http_client import new_client, with_limits
from holdfast.providers.pydantic_ai.sdk_protocols import anthropic_messages, openai_chat, openai_responses
from holdfast.providers.registry import PROVIDERS, resolve_endpoint
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from model_failures import failure_of

STREAMS = [
    b'event: ping\ndata: {}\n\nevent: message_stop\ndata: {"type": "message_stop"}\n\n',
    b'event: ping\r\ndata: {}\r\n\r\nevent: message_stop\r\ndata: {"type": "message_stop"}\r\n\r\n',
    b"data: {}\n\n: keep-alive\n\ndata: [DONE]\n\n",
    b"event: message_stop\ndata: {}\n\n",
    b'event: response.created\ndata: {}\n\nevent: response.completed\ndata: {"type": "response.completed"}\n\n',
    b"event: response.incomplete\r\ndata: {}\r\n\r\n",
    b"event:response.failed\ndata: {}\n\n",
]
TERMINAL = b"|".join(each.WIRE.terminal or b"" for each in (openai_chat, anthropic_messages, openai_responses))
GHOSTS = [b"", b"event: ping\ndata: {}\n\n", b"\n\n\n", b"data: [DONE]\n\n", b"x" * 50]


class _Chunks(httpx2.AsyncByteStream):
    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


KINDS = ("openai", "openai-chat", "anthropic", "google")


async def read(*chunks: bytes, content_type: str = "text/event-stream") -> bytes:
    """Return what a guarded client gives of a body that comes in these chunks."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        del request
        return httpx2.Response(200, headers={"content-type": content_type}, stream=_Chunks(chunks))

    client = with_limits(httpx2.AsyncClient(transport=httpx2.MockTransport(answer)), "openai-chat:m", TERMINAL)
    async with client, client.stream("GET", "http://provider/") as response:
        return b"".join([chunk async for chunk in response.aiter_raw()])


class _Unread(httpx2.AsyncByteStream):
    """A body that nobody may read."""

    closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        raise AssertionError
        yield b""

    async def aclose(self) -> None:
        self.closed = True


WAYS = ["gzip", "GZip", "deflate", "br", "zstd", "gzip, gzip", "identity, gzip", "never-heard-of"]


def _packed(body: _Unread, status: int, ways: str, *, kind: str) -> httpx2.AsyncClient:
    def answer(request: httpx2.Request) -> httpx2.Response:
        del request
        return httpx2.Response(status, headers={"content-type": kind, "content-encoding": ways}, stream=body)

    return with_limits(httpx2.AsyncClient(transport=httpx2.MockTransport(answer)), "openai-chat:m", TERMINAL)


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json", ""])
@pytest.mark.parametrize("ways", WAYS)
async def test_a_response_that_is_packed_is_refused_unread(ways: str, kind: str) -> None:
    body = _Unread()
    async with _packed(body, 200, ways, kind=kind) as client:
        with pytest.raises(ProviderFailed, match="'openai-chat:m' sent a compressed response") as caught:
            await client.get("http://provider/")
    assert (caught.value.fault, body.closed) == ("malformed", True)


@pytest.mark.parametrize("ways", WAYS)
async def test_an_error_that_is_packed_is_its_status_and_no_more(ways: str) -> None:
    body = _Unread()
    async with _packed(body, 529, ways, kind="application/json") as client:
        answer = await client.get("http://provider/")
    assert (answer.status_code, answer.content, body.closed) == (529, b"", True)


@given(stream=st.sampled_from(STREAMS), ghost=st.sampled_from(GHOSTS), cuts=st.sets(st.integers(0, 90)))
async def test_a_stream_is_read_to_its_terminal_event_and_no_further(
    stream: bytes, ghost: bytes, cuts: set[int]
) -> None:
    body = stream + ghost
    places = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    chunks = [body[start:end] for start, end in itertools.pairwise(places)]
    assert await read(*chunks) == stream


@given(words=st.binary(max_size=40))
async def test_words_that_look_like_the_end_are_none(words: bytes) -> None:
    quoted = b'data: {"text": "event: message_stop data: [DONE]"}\n\n'
    assert await read(quoted, b"data: " + words.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n\n", quoted[:20]) == (
        quoted + b"data: " + words.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n\n" + quoted[:20]
    )


# --- where nothing marks the end -------------------------------------------------------------------------------------


class _Then(httpx2.AsyncByteStream):
    """Chunks, and then what never ends or breaks."""

    def __init__(self, chunks: Sequence[bytes], after: str) -> None:
        self._chunks = chunks
        self._after = after

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk
        if self._after == "reset":
            raise httpx2.ReadError("reset")
        while self._after == "blank lines":
            yield b"\r\n"
            await asyncio.sleep(0.01)
        if self._after == "silence":
            await asyncio.Event().wait()


async def heard(*chunks: bytes, after: str = "its end") -> tuple[bytes, list[bytes]]:
    """Return what a guarded client gives of such a body, and the events that it was asked about."""
    asked: list[bytes] = []

    def has_finish_reason(event: bytes) -> bool:
        asked.append(event)
        return b"why" in event

    def answer(request: httpx2.Request) -> httpx2.Response:
        del request
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=_Then(chunks, after))

    client = with_limits(
        httpx2.AsyncClient(transport=httpx2.MockTransport(answer)),
        "google:m",
        None,
        has_finish_reason=has_finish_reason,
    )
    async with client, client.stream("GET", "http://provider/") as response:
        return b"".join([chunk async for chunk in response.aiter_raw()]), asked


@given(
    blank=st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r"]), cuts=st.sets(st.integers(0, 60)), spaces=st.integers(0, 3)
)
async def test_every_event_is_asked_about_however_it_is_cut(blank: bytes, cuts: set[int], spaces: int) -> None:
    events = [b"data: one", b"data: two\ndata: three", b"data: four"]
    body = (blank * spaces).join(each + blank for each in events)
    places = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    chunks = [body[start:end] for start, end in itertools.pairwise(places)]
    assert await heard(*chunks) == (body, events)


@pytest.mark.parametrize("after", ["its end", "silence", "blank lines", "reset"])
async def test_nothing_is_waited_for_behind_what_tells_why(after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "LAST_EVENT", 0.1)
    body, _ = await heard(b"data: one\n\n", b"data: why\n\ndata: and more\n\n", after=after)
    assert body.strip() == b"data: one\n\ndata: why\n\ndata: and more"


async def test_before_it_a_broken_connection_is_one() -> None:
    with pytest.raises(httpx2.ReadError):
        await heard(b"data: one\n\n", after="reset")


async def test_an_event_that_nobody_ends_is_dropped_there_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "LONGEST_EVENT", 1000)
    assert len((await heard(*[b"x" * 400 + b"\n\n"] * 10))[0]) == 4020
    with pytest.raises(ProviderFailed, match="sent an event longer than"):
        await heard(*[b"x" * 400] * 3)


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json", "text/html"])
async def test_what_has_no_end_is_dropped(content_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "LONGEST_EVENT", 1000)
    assert len(await read(b"x" * 500, b"x" * 500, content_type=content_type)) == 1000
    with pytest.raises(ProviderFailed, match="'openai-chat:m' sent an event longer than") as caught:
        await read(b"x" * 500, b"x" * 501, content_type=content_type)
    assert caught.value.fault == "malformed"


async def test_only_one_event_is_measured_not_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "LONGEST_EVENT", 1000)
    events = [b"data: " + b"x" * 500 + b"\n\n"] * 10
    assert await read(*events) == b"".join(events)
    with pytest.raises(ProviderFailed):
        await read(*events, *([b"data: xx\n"] * 200))


def test_the_limits_are_those_of_the_client() -> None:
    assert new_client(Limits()).timeout == httpx2.Timeout(None, connect=10, write=30, pool=5)
    assert new_client(Limits(connect=1, write=2, pool=3)).timeout == httpx2.Timeout(None, connect=1, write=2, pool=3)


def _prompt(text: str) -> Conversation:
    opened = SessionOpened(session="s", cwd="/", model="openai-chat:m", system="SYSTEM", tools=(), version="0")
    return fold([opened, PromptAccepted(turn=1, text=text)])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_provider_that_does_not_read_is_given_up(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        failed = await _failure(kind, server, _prompt("word " * 4_000_000))
    assert failed.fault == "unreachable", str(failed)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_provider_that_does_not_accept_is_given_up(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:  # until the queue is full, and nobody more is let in
            each.settimeout(0)
            each.connect_ex(server.getsockname())
        try:
            failed = await _failure(kind, server, _prompt("hello"))
        finally:
            for each in waiting:
                each.close()
    assert failed.fault == "unreachable", str(failed)


async def _failure(kind: str, server: socket.socket, conversation: Conversation) -> ProviderFailed:
    host, port = server.getsockname()
    known, at = PROVIDERS[kind], f"http://{host}:{port}"
    environ = {str(known.key_variable): "key", str(known.address_variable): at}
    model = open_model(resolve_endpoint(f"{kind}:m", environ), limits=Limits(connect=0.2, write=0.2))
    return await failure_of(model, conversation)
