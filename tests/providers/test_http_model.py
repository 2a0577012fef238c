"""holdfast's own HTTP: what a request carries, and how much is read of a response."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence

import httpx2
import pytest

from holdfast import __version__
from holdfast.config.model_servers import Server
from holdfast.errors import ProviderFailed
from holdfast.providers import event_stream, http_model
from holdfast.providers.connect import open_model
from holdfast.providers.model import StreamEvent, StreamFinished, TextDelta
from holdfast.providers.protocols.answer_bounds import MIB
from holdfast.providers.registry import known_providers, resolve_endpoint
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.session.journal.parts import TextPart

SERVERS = known_providers({"home": Server(kind="openai-chat", base_url="http://server/v1")})
KEYS = {"OPENAI_API_KEY": "a-key", "ANTHROPIC_API_KEY": "a-key", "GEMINI_API_KEY": "a-key"}
WAYS = ["gzip", "GZip", "deflate", "br", "zstd", "gzip, gzip", "identity, gzip", "never-heard-of"]
EVENTS = "text/event-stream"


def chunk(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


class Body(httpx2.AsyncByteStream):
    """Chunks, and then an end, silence for ever, or a broken connection; it counts what was taken."""

    def __init__(self, chunks: Sequence[bytes], after: str = "its end") -> None:
        self.chunks = chunks
        self.after = after
        self.chunks_read = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for each in self.chunks:
            self.chunks_read += 1
            yield each
        if self.after == "reset":
            raise httpx2.ReadError("reset")
        if self.after == "silence":
            await asyncio.Event().wait()

    async def aclose(self) -> None:
        self.closed = True


Responding = Callable[[httpx2.Request], httpx2.Response]


def answer(body: Body, status: int = 200, **headers: str) -> Responding:
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    def respond(request: httpx2.Request) -> httpx2.Response:
        del request
        return httpx2.Response(status, headers=named, stream=body)

    return respond


async def events_of(respond: Responding, *, name: str = "home:m", non_streaming: bool = False) -> list[StreamEvent]:
    """Return the events of one request, whose response is this."""
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(respond), follow_redirects=True)
    model = open_model(resolve_endpoint(name, KEYS, SERVERS), http=lambda: client)
    opened = SessionOpened(session="s", cwd="/", model=name, system="S", tools=(), version="0")
    try:
        async with model.stream(
            fold([opened, PromptAccepted(turn=1, text="go")]), non_streaming=non_streaming
        ) as events:
            return [event async for event in events]
    finally:
        await model.aclose()


async def failure(respond: Responding, *, non_streaming: bool = False) -> ProviderFailed:
    with pytest.raises(ProviderFailed) as caught:
        await events_of(respond, non_streaming=non_streaming)
    return caught.value


def text_of(events: Sequence[StreamEvent]) -> str:
    last = events[-1]
    assert isinstance(last, StreamFinished)
    return "".join(part.text for part in last.parts if isinstance(part, TextPart))


@pytest.mark.parametrize("name", ["openai:m", "openai-chat:m", "anthropic:m", "google:m", "home:m"])
async def test_a_request_carries_the_headers_of_its_protocol_and_no_others(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(variable, "of-the-environment")
    seen: list[httpx2.Headers] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers)
        return httpx2.Response(500)

    with pytest.raises(ProviderFailed):
        await events_of(respond, name=name)
    (headers,) = seen
    usual = {"host", "connection", "content-length", "content-type", "accept", "accept-encoding", "user-agent"}
    of_protocol = {
        "openai:m": {"authorization"},
        "openai-chat:m": {"authorization"},
        "anthropic:m": {"x-api-key", "anthropic-version"},
        "google:m": {"x-goog-api-key"},
        "home:m": set[str](),
    }
    assert {each.lower() for each in headers} == usual | of_protocol[name]
    assert (headers["accept-encoding"], headers["user-agent"]) == ("identity", f"holdfast/{__version__}")
    assert "of-the-environment" not in str(headers)


@pytest.mark.parametrize("kind", [EVENTS, "application/json", ""])
@pytest.mark.parametrize("ways", WAYS)
async def test_a_response_that_is_packed_is_refused_unread(ways: str, kind: str) -> None:
    body = Body([b"x"])
    failed = await failure(answer(body, content_type=kind, content_encoding=ways))
    assert (failed.fault, body.chunks_read, body.closed) == ("malformed", 0, True)
    assert "'home:m' sent a compressed response" in str(failed)


@pytest.mark.parametrize("ways", WAYS)
async def test_an_error_that_is_packed_is_its_status_and_no_more(ways: str) -> None:
    body = Body([b"x"])
    failed = await failure(answer(body, 529, content_encoding=ways))
    assert (failed.status, body.chunks_read, body.closed) == (529, 0, True)
    assert str(failed).endswith("failed with status 529: no reason given.")


async def test_of_an_error_without_an_end_the_beginning_is_read() -> None:
    body = Body([b"x" * 10_000] * 1_000)
    failed = await failure(answer(body, 500))
    assert (failed.fault, body.closed) == ("overloaded", True)
    assert body.chunks_read < 10
    assert len(str(failed)) < 1_000


async def test_a_server_that_points_elsewhere_is_not_followed() -> None:
    requests: list[str] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        requests.append(request.url.host)
        return httpx2.Response(307, headers={"location": "http://elsewhere/v1?key=1"})

    failed = await failure(respond)
    assert (requests, failed.fault) == (["server"], "redirected")


@pytest.mark.parametrize("after", ["its end", "silence", "reset"])
async def test_nothing_is_heard_behind_the_closing_event(after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_model, "LAST_BYTES", 0.05)
    ghosts = [chunk(" and more", "stop"), b"x" * 100]
    body = Body([chunk("done", "stop"), b"data: [DONE]\n\n" + ghosts[0], *ghosts], after)
    events = await events_of(answer(body, content_type=EVENTS))
    assert (text_of(events), body.closed) == ("done", True)


@pytest.mark.parametrize(
    ("chunk_of", "many", "what"),
    [
        (b"data: {}\n\n" * 1_000, 200, "200,000 events in one answer"),
        (b": a comment\n\n" + b":" + b" " * (MIB // 2 - 15) + b"\n", 128, "64 MiB in one response"),
    ],
    ids=["events", "comments"],
)
async def test_events_that_say_nothing_and_bytes_that_are_no_events_have_an_end(
    chunk_of: bytes, many: int, what: str
) -> None:
    done = chunk("done", "stop") + b"data: [DONE]\n\n"
    within = Body([*[chunk_of] * (many - 1), done])
    assert text_of(await events_of(answer(within, content_type=EVENTS))) == "done"
    over = Body([chunk_of] * many * 9)
    failed = await failure(answer(over, content_type=EVENTS))
    assert (failed.fault, over.closed, over.chunks_read) == ("flood", True, many + 1)
    assert f"sent more than {what}. It was cut off there." in str(failed)


@pytest.mark.parametrize(("chunks", "read"), [(3, 4), (100_000, 66)])
async def test_what_follows_the_closing_event_is_read_so_that_the_connection_can_be_used_again(
    chunks: int, read: int
) -> None:
    body = Body([chunk("done", "stop") + b"data: [DONE]\n\n", *[b"x" * 4_096] * chunks])
    events = await events_of(answer(body, content_type=EVENTS))
    assert (text_of(events), body.closed, body.chunks_read) == ("done", True, read)


async def test_a_body_that_breaks_before_its_closing_event_is_broken() -> None:
    failed = await failure(answer(Body([chunk("done", "stop")], "reset"), content_type=EVENTS))
    assert failed.fault == "unreachable"


@pytest.mark.parametrize("after", ["its end", "silence", "reset"])
async def test_behind_the_reason_of_a_protocol_without_a_closing_event_not_much_is_waited_for(
    after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_model, "LAST_EVENT", 0.05)

    def event(text: str, **more: str) -> bytes:
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, **more}
        return f"data: {json.dumps({'candidates': [candidate]})}\n\n".encode()

    body = Body([event("a"), event("b", finishReason="STOP"), event("c"), b": still here\n\n"], after)
    assert text_of(await events_of(answer(body, content_type=EVENTS), name="google:m")) == "abc"


@pytest.mark.parametrize(("kind", "non_streaming"), [(EVENTS, False), ("application/json", False), ("text/html", True)])
async def test_what_has_no_end_is_dropped(kind: str, monkeypatch: pytest.MonkeyPatch, *, non_streaming: bool) -> None:
    monkeypatch.setattr(event_stream, "LONGEST_EVENT", MIB)
    body = Body([b"x" * 300_000] * 1_000)
    failed = await failure(answer(body, content_type=kind), non_streaming=non_streaming)
    assert (failed.fault, body.closed, failed.retryable) == ("flood", True, False)
    assert f"sent more than 1 MiB in one {'event' if kind == EVENTS else 'response'}." in str(failed)
    assert body.chunks_read < 10


async def test_a_document_just_within_the_limit_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = {"index": 0, "message": {"content": "done"}, "finish_reason": "stop"}
    document = json.dumps({"choices": [choice]}).encode()
    monkeypatch.setattr(event_stream, "LONGEST_EVENT", len(document))
    kind = "application/json"
    assert text_of(await events_of(answer(Body([document]), content_type=kind), non_streaming=True)) == "done"
    longer = Body([document, b" "])
    assert (await failure(answer(longer, content_type=kind), non_streaming=True)).fault == "flood"


async def test_a_document_in_answer_to_a_request_for_a_stream_is_read() -> None:
    message = {"role": "assistant", "content": "in one piece"}
    document = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    body = Body([json.dumps(document).encode()])
    assert text_of(await events_of(answer(body, content_type="application/json"))) == "in one piece"


async def test_what_the_caller_raises_is_no_fault_of_the_provider() -> None:
    body = Body([chunk("a"), chunk("b", "stop"), b"data: [DONE]\n\n"])
    transport = httpx2.MockTransport(answer(body, content_type="Text/Event-Stream"))
    model = open_model(resolve_endpoint("home:m", {}, SERVERS), http=lambda: httpx2.AsyncClient(transport=transport))
    opened = SessionOpened(session="s", cwd="/", model="home:m", system="S", tools=(), version="0")

    async def left_with_an_error() -> None:
        async with model.stream(fold([opened, PromptAccepted(turn=1, text="go")])) as events:
            await anext(events)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await left_with_an_error()
    assert body.closed
    await model.aclose()


async def test_a_response_without_a_reason_is_none() -> None:
    events = await events_of(answer(Body([chunk("half")]), content_type=EVENTS))
    assert {type(event) for event in events} == {TextDelta}
