"""Servers that speak Chat Completions nearly as OpenAI does: what each of their habits comes to."""

from __future__ import annotations

import json

import httpx2
import pytest

from holdfast.config.model_servers import Server
from holdfast.providers.connect import open_model
from holdfast.providers.model import StreamFinished
from holdfast.providers.registry import known_providers, resolve_endpoint
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Part, PromptAccepted, SessionOpened
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.testing.http_transport import ScriptedTransport
from holdfast.testing.script import Cut, Raw
from holdfast.testing.scripted_provider import ScriptedProvider

Json = dict[str, object]
SERVERS = known_providers({"home": Server(kind="openai-chat", base_url="http://server/v1")})
OPENED = SessionOpened(session="s", cwd="/", model="home:m", system="S" * 400, tools=(), version="0")
PROMPT = PromptAccepted(turn=1, text="go")


def chunk(delta: Json, finish: str | None = None, **more: object) -> Json:
    choice: Json = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}


def usage(sent: int, received: int) -> Json:
    return {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}


def call(**more: object) -> Json:
    return {"tool_calls": [{"type": "function", "function": {"name": "read", "arguments": "{}"}, **more}]}


async def answered(*chunks: Json, done: bool = True) -> StreamFinished:
    """Return how the answer ends that a server gives in these chunks."""
    lines = [f"data: {json.dumps(each)}\n\n".encode() for each in chunks]
    script = [[Raw(b"".join([*lines, b"data: [DONE]\n\n"] if done else lines)), Cut()]]
    provider = ScriptedProvider(script, key=None)
    model = open_model(
        resolve_endpoint("home:m", {}, SERVERS),
        http=lambda: httpx2.AsyncClient(transport=ScriptedTransport(provider)),
    )
    async with model.stream(fold([OPENED, PROMPT])) as events:
        *_, last = [event async for event in events]
    await model.aclose()
    assert provider.refusals == ()
    assert isinstance(last, StreamFinished)
    return last


USAGES: dict[str, tuple[Json, ...]] = {
    "in a chunk of its own": (
        chunk({"content": "a"}),
        chunk({}, "stop"),
        {**chunk({}), "choices": [], "usage": usage(100, 3)},
    ),
    "with the last": (chunk({"content": "a"}), chunk({}, "stop", usage=usage(100, 3))),
    "with the last, and again": (
        chunk({"content": "a"}),
        chunk({}, "stop", usage=usage(100, 3)),
        {**chunk({}), "choices": [], "usage": usage(100, 3)},
    ),
    "with each, of all so far": (
        chunk({"content": "a"}, usage=usage(100, 1)),
        chunk({"content": "b"}, usage=usage(100, 2)),
        chunk({}, "stop", usage=usage(100, 3)),
    ),
    "with no choices at all": (
        chunk({"content": "a"}),
        chunk({}, "stop"),
        {**chunk({}), "choices": None, "usage": usage(100, 3)},
    ),
}


@pytest.mark.parametrize("chunks", USAGES.values(), ids=USAGES)
async def test_what_was_sent_is_counted_once_wherever_the_server_reports_it(chunks: tuple[Json, ...]) -> None:
    finished = await answered(*chunks)
    assert (finished.usage.input_tokens, finished.usage.output_tokens) == (100, 3)


UNCOUNTED: dict[str, tuple[Json, ...]] = {
    "never": (chunk({"content": "a"}), chunk({}, "stop")),
    "beside the usage, by llama.cpp": (chunk({"content": "a"}), chunk({}, "stop", timings={"prompt_n": 9})),
    "in a place of Groq's": (chunk({"content": "a"}), chunk({}, "stop", x_groq={"usage": usage(100, 3)})),
}


@pytest.mark.parametrize("chunks", UNCOUNTED.values(), ids=UNCOUNTED)
async def test_what_is_not_counted_where_we_look_is_estimated(chunks: tuple[Json, ...]) -> None:
    finished = await answered(*chunks)
    assert (finished.finish, finished.usage.input_tokens) == ("stop", 0)


HABITS: dict[str, tuple[tuple[Json, ...], tuple[Part, ...]]] = {
    "reasoning_content": (
        (chunk({"reasoning_content": "hm"}), chunk({"content": "a"}), chunk({}, "stop")),
        (ThinkingPart("hm", id="reasoning_content", provider="home"), TextPart("a")),
    ),
    "reasoning, with its details": (
        (
            chunk({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}], "content": ""}),
            chunk({"content": "a"}),
            chunk({}, "stop"),
        ),
        (ThinkingPart("hm", id="reasoning", provider="home"), TextPart("a")),
    ),
    "reasoning told in both fields": (
        (chunk({"reasoning": "hm", "reasoning_content": "hm"}), chunk({"content": "a"}), chunk({}, "stop")),
        (ThinkingPart("hm", id="reasoning", provider="home"), TextPart("a")),
    ),
    "an empty reason before the end": (
        (chunk({"content": "a"}, ""), chunk({"content": "b"}, "stop")),
        (TextPart("ab"),),
    ),
    "neither id nor time": (
        (
            {
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}],
            },
        ),
        (TextPart("a"),),
    ),
    "a call without its place, and an end that does not name it": (
        (chunk(call(id="a")), chunk({}, "stop")),
        (CallPart(id="", name="read", arguments="{}", wire_id="a"),),
    ),
    "arguments as an object": (
        (chunk(call(index=0, id="a", function={"name": "read", "arguments": {"path": "b"}})), chunk({}, "tool_calls")),
        (CallPart(id="", name="read", arguments='{"path": "b"}', wire_id="a"),),
    ),
}


@pytest.mark.parametrize(("chunks", "parts"), HABITS.values(), ids=HABITS)
@pytest.mark.parametrize("done", [True, False])
async def test_what_was_said_is_understood(chunks: tuple[Json, ...], parts: tuple[Part, ...], *, done: bool) -> None:
    finished = await answered(*chunks, done=done)
    assert finished.parts == parts
    assert finished.finish == ("calls" if isinstance(parts[-1], CallPart) else "stop")


async def test_a_call_without_an_id_is_one() -> None:
    finished = await answered(chunk(call(index=0)), chunk({}, "tool_calls"))
    (part,) = finished.parts
    assert isinstance(part, CallPart)
    assert (part.name, finished.finish) == ("read", "calls")
