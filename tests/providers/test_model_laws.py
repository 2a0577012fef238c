"""The laws of `Model`, held by the scripted one and by the real clients on both wires."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import httpx2
import pytest

from holdfast.errors import ProviderFailed
from holdfast.providers.connect import open_model
from holdfast.providers.model import CallDelta, Model, StreamEvent, StreamFinished, TextDelta, ThinkingDelta
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.testing.http_transport import ScriptedTransport
from holdfast.testing.script import (
    Action,
    Call,
    Cut,
    Fail,
    Finish,
    Headers,
    Hold,
    Ping,
    Raw,
    Reply,
    Reset,
    Say,
    Think,
    Wait,
)
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.tool_calls import ToolSchema

NAMES = ["scripted", "openai", "openai-chat", "anthropic", "google"]
KEYS = {"OPENAI_API_KEY": "test-key", "ANTHROPIC_API_KEY": "test-key", "GEMINI_API_KEY": "test-key"}


def model(kind: str, script: Sequence[Reply]) -> tuple[Model, ScriptedProvider | None]:
    if kind == "scripted":
        return ScriptedModel(script), None
    provider = ScriptedProvider(script)
    client = open_model(
        resolve_endpoint(f"{kind}:m", KEYS),
        http=lambda: httpx2.AsyncClient(transport=ScriptedTransport(provider), timeout=5),
    )
    return client, provider


def conversation(kind: str) -> Conversation:
    name = "openai-chat:m" if kind == "scripted" else f"{kind}:m"
    opened = SessionOpened(session="s", cwd="/", model=name, system="SYSTEM", tools=(), version="0")
    return fold([opened, PromptAccepted(turn=1, text="go")])


async def played(kind: str, *actions: Action) -> list[StreamEvent]:
    connected, _ = model(kind, [actions])
    try:
        return await drained(connected, kind)
    finally:
        await connected.aclose()


async def drained(connected: Model, kind: str) -> list[StreamEvent]:
    async with connected.stream(conversation(kind)) as events:
        return [event async for event in events]


@pytest.mark.parametrize("kind", NAMES)
async def test_text_thinking_and_calls_stream_and_the_whole_comes_last(kind: str) -> None:
    calls = [Call("read", {"path": "a"}, chunk=3), Call("bash", {"command": "ls"}, chunk=3)]
    events = await played(kind, Think("let me see", chunk=4), Say("I will look.", chunk=4), *calls)
    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == "let me see"
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "I will look."
    written: dict[int, tuple[str, str]] = {}
    for event in events:
        if isinstance(event, CallDelta):
            name, arguments = written.get(event.index, ("", ""))
            written[event.index] = (name + event.name, arguments + event.arguments)
    assert list(written.values()) == [("read", '{"path": "a"}'), ("bash", '{"command": "ls"}')]
    finished = events[-1]
    assert isinstance(finished, StreamFinished)
    assert sum(isinstance(event, StreamFinished) for event in events) == 1
    assert finished.finish == "calls"
    assert finished.usage.input_tokens > 0
    assert finished.usage.output_tokens > 0
    assert [type(part) for part in finished.parts] == [ThinkingPart, TextPart, CallPart, CallPart]
    assert [part.arguments for part in finished.parts if isinstance(part, CallPart)] == [
        '{"path": "a"}',
        '{"command": "ls"}',
    ]


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(("reason", "finish"), [("stop", "stop"), ("length", "max_tokens"), ("refusal", "refusal")])
async def test_the_last_event_says_how_it_finished(kind: str, reason: str, finish: str) -> None:
    events = await played(kind, Say("text"), Finish(reason))  # pyright: ignore[reportArgumentType] - one of the reasons
    assert isinstance(events[-1], StreamFinished)
    assert events[-1].finish == finish


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("before", [(), (Say("half"),), (Say("half"), Call("bash", {"command": "ls"}))])
async def test_a_polite_end_without_the_terminal_event_is_never_called_finished(
    kind: str, before: tuple[Action, ...]
) -> None:
    events = await played(kind, *before, Cut())
    assert "half" * (before != ()) == "".join(event.text for event in events if isinstance(event, TextDelta))
    assert StreamFinished not in map(type, events)


@pytest.mark.parametrize("kind", NAMES)
async def test_a_broken_connection_is_the_providers_fault_and_may_be_tried_again(kind: str) -> None:
    with pytest.raises(ProviderFailed) as caught:
        await played(kind, Say("half"), Reset())
    assert caught.value.retryable


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(
    ("status", "fault"),
    [(400, "rejected"), (401, "credentials"), (404, "rejected"), (429, "rate_limited"), (500, "overloaded")],
)
async def test_an_error_is_raised_once_in_the_providers_words(kind: str, status: int, fault: str) -> None:
    connected, provider = model(kind, [[Fail(status, "because of the moon", retry_after=7)]])
    with pytest.raises(ProviderFailed) as caught:
        await drained(connected, kind)
    await connected.aclose()
    assert (caught.value.fault, caught.value.status) == (fault, status)
    assert "because of the moon" in str(caught.value)
    if status == 429:
        assert caught.value.retry_after == 7
    if provider is not None:
        assert len(provider.requests) == 1  # the SDKs' own retries are off


@pytest.mark.parametrize("kind", [name for name in NAMES if name != "scripted"])
async def test_an_error_without_a_word_says_that_no_reason_was_given(kind: str) -> None:
    connected, _ = model(kind, [[Headers(404, "text/plain"), Cut()]])
    with pytest.raises(ProviderFailed) as caught:
        await drained(connected, kind)
    await connected.aclose()
    assert str(caught.value).endswith("failed with status 404: no reason given.")


@pytest.mark.parametrize("kind", NAMES)
async def test_an_answer_in_one_piece_gives_the_same_events(kind: str) -> None:
    calls = [Call("read", {"path": "a"}, id="one"), Call("bash", {"command": "ls"}, id="two")]
    for reply in ([Think("let me see"), Say("I will look."), *calls], [Say("text"), Finish("length")]):
        connected, _ = model(kind, [reply, reply])
        async with connected.stream(conversation(kind)) as events:
            streamed = [event async for event in events]
        async with connected.stream(conversation(kind), non_streaming=True) as events:
            complete = [event async for event in events]
        await connected.aclose()
        assert contents(complete) == contents(streamed)
        finished, in_pieces = complete[-1], streamed[-1]
        assert isinstance(finished, StreamFinished)
        assert isinstance(in_pieces, StreamFinished)
        assert finished.finish == in_pieces.finish
        assert finished.usage.output_tokens == in_pieces.usage.output_tokens
        assert [type(part) for part in finished.parts] == [type(part) for part in in_pieces.parts]


def contents(events: list[StreamEvent]) -> tuple[str, str, dict[int, str]]:
    """Return what the events say before their end."""
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    thinking = "".join(event.text for event in events if isinstance(event, ThinkingDelta))
    written: dict[int, str] = {}
    for event in events:
        if isinstance(event, CallDelta):
            written[event.index] = written.get(event.index, "") + event.name + event.arguments
    return text, thinking, written


ON_THE_WIRE = (
    "openai:m",
    "openai:gpt-5.5",
    "openai-chat:m",
    "anthropic:m",
    "anthropic:claude-sonnet-5-5",
    "google:gemini-3-m",
)


@pytest.mark.parametrize("name", ON_THE_WIRE)
async def test_a_request_for_one_piece_is_the_same_but_for_streaming(name: str) -> None:
    provider = ScriptedProvider([[Say("one")], [Say("two")]])
    transport = ScriptedTransport(provider)
    client = open_model(resolve_endpoint(name, KEYS), http=lambda: httpx2.AsyncClient(transport=transport, timeout=60))
    tool = ToolSchema(name="read", description="Read.", parameters={"type": "object", "properties": {}})
    opened = SessionOpened(session="s", cwd="/", model=name, system="SYSTEM", tools=(tool,), version="0")
    sent = fold([opened, PromptAccepted(turn=1, text="Grüße")])
    for non_streaming in (False, True):
        async with client.stream(sent, non_streaming=non_streaming) as events:
            assert isinstance([event async for event in events][-1], StreamFinished)
    await client.aclose()
    streamed, plain = (json.loads(request.raw) for request in provider.requests)
    if not name.startswith("google"):  # it asks in the path
        assert (streamed.pop("stream"), plain.pop("stream", False)) == (True, False)
    streamed.pop("stream_options", None)
    assert json.dumps(streamed) == json.dumps(plain)  # in the same order too


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("non_streaming", [False, True])
async def test_cancelling_the_consumer_closes_the_request(kind: str, *, non_streaming: bool) -> None:
    connected, provider = model(kind, [[Wait(0.01), *([] if non_streaming else [Say("half")]), Ping(), Hold("never")]])
    arrived = asyncio.Event()
    if non_streaming:
        asyncio.get_running_loop().call_later(0.1, arrived.set)

    async def consume() -> None:
        async with connected.stream(conversation(kind), non_streaming=non_streaming) as events:
            async for _ in events:
                arrived.set()

    task = asyncio.create_task(consume())
    await arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    if provider is not None:
        assert provider.requests[0].ended == "client_gone"
    if isinstance(connected, ScriptedModel):
        assert connected.open_streams == 0
    await connected.aclose()


@pytest.mark.parametrize("event", ["error", "response.failed"])
@pytest.mark.parametrize(
    ("code", "fault", "message"),
    [
        ("server_error", "overloaded", "status 500: It fell over."),
        ("rate_limit_exceeded", "rate_limited", "status 429: It fell over."),
        ("context_length_exceeded", "too_long", "It fell over."),
        ("invalid_prompt", "rejected", "reported an error in its response: invalid_prompt: It fell over."),
    ],
)
async def test_an_error_in_the_stream_of_responses_is_what_it_says(
    event: str, code: str, fault: str, message: str
) -> None:
    error = {"code": code, "message": "It fell over."}
    failed: dict[str, object] = {"id": "resp_1", "object": "response", "status": "failed", "output": [], "error": error}
    fields: dict[str, object] = {"response": failed} if event == "response.failed" else {**error, "param": None}
    data = json.dumps({"type": event, "sequence_number": 9, **fields})
    with pytest.raises(ProviderFailed) as caught:
        await played("openai", Say("half"), Raw(f"event: {event}\ndata: {data}\n\n".encode()), Cut())
    assert caught.value.fault == fault
    assert message in str(caught.value)
