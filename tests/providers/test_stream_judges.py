"""The vendors' SDKs and our readers read the same stream alike, however it is cut, spaced and strewn.

A stream is written by the scripted providers and then made hostile in ways that its protocol and the standard of event
streams allow: other line ends, comments, unknown fields, events of types to come, data over several lines,
empty pieces, bytes that arrive in any chunks. It is read from a socket twice: by the SDK of the vendor, used directly,
and by `Model.stream`. Where both say what was said, they must say the same.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import httpx2
import pytest
from anthropic import AsyncAnthropic
from google.genai import Client
from google.genai.types import HttpOptions
from hypothesis import example, given
from hypothesis import strategies as st
from openai import AsyncOpenAI

from holdfast.providers.connect import connect
from holdfast.providers.model import CallDelta, StreamFinished, TextDelta, ThinkingDelta
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.testing.script import Call, Finish, Ping, ResponseAction, Say, Think
from laws import law
from socket_servers import answer, environ, head_bytes, listening, read_request

Json = dict[str, Any]
NAMES = ("openai-chat:m", "openai:gpt-5.5", "anthropic:m", "google:gemini-3-m")
"""One model for each protocol."""


# --- a stream and what is done to it ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Twist:
    """What is done to a stream: each field is a way in which servers and what is between them differ."""

    end: str = "\n"  # of a line
    comment: bool = False
    unknown: bool = False  # fields of events, and whole events, that no reader knows yet
    blank: int = 0  # more empty lines between events
    bare: bool = False  # no space behind the colon
    lines: bool = False  # JSON over several lines of data
    woven: bool = False  # pieces of parallel calls by turns
    chunk: int = 0  # bytes of each chunk; 0: event by event


twists = st.builds(
    Twist,
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    comment=st.booleans(),
    unknown=st.booleans(),
    blank=st.integers(0, 2),
    bare=st.booleans(),
    lines=st.booleans(),
    woven=st.booleans(),
    chunk=st.sampled_from([0, 1, 2, 3, 7, 64]),
)
texts = st.sampled_from(["", "a", "two words", "Grüße 🌊 und mehr", "line\nline\r\nline\u2028", '"\\ data: [DONE]\n\n'])
arguments = st.sampled_from(
    [{}, {"path": "a.txt", "n": 1}, {"text": "Grüße 🌊\n\n", "deep": {"list": [1, 2.5, None, True]}}]
)
pieces = st.integers(1, 9)
spoken = st.builds(Say, texts, chunk=pieces)
calls = st.builds(Call, st.sampled_from(["read", "list"]), arguments, chunk=pieces)
thoughts = st.builds(Think, texts.filter(bool), chunk=pieces)


@st.composite
def replies(draw: st.DrawFn) -> tuple[ResponseAction, ...]:
    """Return what a model may say, in the order in which every protocol can say it."""
    think = draw(st.lists(thoughts, max_size=1))
    answers = draw(st.lists(spoken, min_size=1, max_size=2))
    ping = [Ping()] if draw(st.booleans()) else []
    finish = [Finish("length")] if draw(st.booleans()) else []
    return (*think, *answers, *ping, *draw(st.lists(calls, max_size=3)), *finish)


def twisted(events: Sequence[bytes], twist: Twist, name: str) -> bytes:
    """Return the stream with this done to it."""
    kind = name.partition(":")[0]
    if kind == "google":  # whose SDK reads one line of data, behind a space
        twist = replace(twist, bare=False, lines=False)
    framed = [each for event in events for each in re.split(rb"\r?\n\r?\n", event) if each.strip()]
    blocks = [block.decode().splitlines() if b"\r" not in block else block.decode().split("\r\n") for block in framed]
    if twist.woven and kind == "openai-chat":
        blocks = _woven(blocks)
    return "".join(_block(lines, twist, kind) for lines in blocks).encode()


def _block(lines: Sequence[str], twist: Twist, kind: str) -> str:
    written: list[str] = []
    for line in lines:
        field, _, value = line.partition(": ")
        if not field or line.startswith(":"):
            written.append(line)
            continue
        many = [value]
        if field == "data" and value.startswith("{"):
            body: Json = json.loads(value)
            if twist.unknown:
                body["of_a_later_version"] = {"a": [1, None]}
            many = json.dumps(body, indent=1 if twist.lines else None).split("\n")
        written += [f"{field}:{'' if twist.bare else ' '}{each}" for each in many]
    if twist.unknown and kind != "google" and any(line.startswith("data") for line in lines):
        written.append("retry: 5")  # without data it is no event, though OpenAI's SDK takes it for one
    before = [": a comment", ""] if twist.comment and kind != "google" else []
    return "".join(f"{line}{twist.end}" for line in [*before, *written, *[""] * (1 + twist.blank)])


def _woven(blocks: list[list[str]]) -> list[list[str]]:
    """Return chunks of Chat in which the pieces of parallel calls come by turns, each call's in their order."""
    mine: dict[int, list[list[str]]] = {}
    places: list[int] = []
    for at, lines in enumerate(blocks):
        if found := re.search(r'"tool_calls":\[\{"index":(\d+)', lines[0]):
            mine.setdefault(int(found[1]), []).append(lines)
            places.append(at)
    turns: list[list[str]] = []
    while any(mine.values()):
        turns += [pieces_of_call.pop(0) for pieces_of_call in mine.values() if pieces_of_call]
    woven = [*blocks]
    for at, block in zip(places, turns, strict=True):
        woven[at] = block
    return woven


# --- what is read ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Read:
    """What a reader says was said."""

    text: str
    thinking: str
    calls: tuple[tuple[str, object], ...]
    finish: str
    tokens: tuple[int, int]


def _whole_calls(found: Mapping[int, tuple[str, str]]) -> tuple[tuple[str, object], ...]:
    return tuple((name, json.loads(written or "{}")) for _, (name, written) in sorted(found.items()))


async def by_us(name: str, url: str) -> Read:
    """Return what `Model.stream` says; the pieces must come to the same as the end."""
    opened = SessionOpened(session="s", cwd="/", model=name, system="SYSTEM", tools=(), version="0")
    model = await connect(resolve_endpoint(name, environ(url)))
    async with model.stream(fold([opened, PromptAccepted(turn=1, text="go")])) as streamed:
        *events, last = [event async for event in streamed]
    await model.aclose()
    assert isinstance(last, StreamFinished)
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    thinking = "".join(event.text for event in events if isinstance(event, ThinkingDelta))
    found: dict[int, tuple[str, str]] = {}
    for event in events:
        if isinstance(event, CallDelta):
            had = found.get(event.index, ("", ""))
            found[event.index] = had[0] + event.name, had[1] + event.arguments
    assert text == "".join(part.text for part in last.parts if isinstance(part, TextPart))
    assert thinking == "".join(part.text for part in last.parts if isinstance(part, ThinkingPart))
    ended = [(part.name, json.loads(part.arguments or "{}")) for part in last.parts if isinstance(part, CallPart)]
    assert sorted(map(str, ended)) == sorted(map(str, _whole_calls(found)))
    return Read(text, thinking, tuple(ended), last.finish, (last.usage.input_tokens, last.usage.output_tokens))


async def by_openai_chat(url: str) -> Read:
    """Return what OpenAI's SDK says of a stream of Chat Completions."""
    text = thinking = finish = ""
    found: dict[int, tuple[str, str]] = {}
    tokens = (0, 0)
    async with AsyncOpenAI(api_key="test-key", base_url=f"{url}/v1", max_retries=0) as client:
        stream = await client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "go"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        async for chunk in stream:
            if chunk.usage:
                tokens = chunk.usage.prompt_tokens, chunk.usage.completion_tokens
            for choice in chunk.choices:
                finish = choice.finish_reason or finish
                text += choice.delta.content or ""
                thinking += getattr(choice.delta, "reasoning_content", None) or ""
                for call in choice.delta.tool_calls or ():
                    had, function = found.get(call.index, ("", "")), call.function
                    assert function is not None
                    found[call.index] = had[0] + (function.name or ""), had[1] + (function.arguments or "")
    ends = {"stop": "stop", "tool_calls": "calls", "length": "max_tokens"}
    return Read(text, thinking, _whole_calls(found), ends[finish], tokens)


async def by_openai(url: str) -> Read:
    """Return what OpenAI's SDK says of a stream of Responses."""
    async with AsyncOpenAI(api_key="test-key", base_url=f"{url}/v1", max_retries=0) as client:
        stream = await client.responses.create(
            model="gpt-5.5", input="go", stream=True, include=["reasoning.encrypted_content"], store=False
        )
        events = [event async for event in stream]
    deltas = [cast("Any", event) for event in events if event.type.endswith(".delta")]
    text = "".join(each.delta for each in deltas if each.type == "response.output_text.delta")
    thinking = "".join(each.delta for each in deltas if each.type == "response.reasoning_summary_text.delta")
    (done,) = (cast("Any", e) for e in events if e.type in ("response.completed", "response.incomplete"))
    items = done.response.output
    found = tuple((each.name, json.loads(each.arguments or "{}")) for each in items if each.type == "function_call")
    finish = "max_tokens" if done.type == "response.incomplete" else "calls" if found else "stop"
    return Read(text, thinking, found, finish, (done.response.usage.input_tokens, done.response.usage.output_tokens))


async def by_anthropic(url: str) -> Read:
    """Return what Anthropic's SDK says."""
    async with (
        AsyncAnthropic(api_key="test-key", base_url=url, max_retries=0) as client,
        client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "go"}]) as stream,
    ):
        message = await stream.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    thinking = "".join(block.thinking for block in message.content if block.type == "thinking")
    found = tuple((block.name, cast("object", block.input)) for block in message.content if block.type == "tool_use")
    ends = {"end_turn": "stop", "tool_use": "calls", "max_tokens": "max_tokens"}
    tokens = message.usage.input_tokens, message.usage.output_tokens
    return Read(text, thinking, found, ends[str(message.stop_reason)], tokens)


async def by_google(url: str) -> Read:
    """Return what Google's SDK says."""
    text = thinking = finish = ""
    found: list[tuple[str, object]] = []
    tokens = (0, 0)
    async with httpx2.AsyncClient() as http:
        client = Client(
            vertexai=False, api_key="test-key", http_options=HttpOptions(base_url=url, httpx_async_client=http)
        )
        stream = await client.aio.models.generate_content_stream(model="gemini-3-m", contents="go")
        async for chunk in cast("AsyncIterator[Any]", stream):
            if (usage := chunk.usage_metadata) is not None:
                tokens = usage.prompt_token_count, usage.candidates_token_count + (usage.thoughts_token_count or 0)
            for candidate in chunk.candidates or ():
                finish = candidate.finish_reason.name if candidate.finish_reason else finish
                for part in candidate.content.parts or ():
                    if part.function_call:
                        found.append((part.function_call.name, part.function_call.args or {}))
                    elif part.thought:
                        thinking += part.text or ""
                    else:
                        text += part.text or ""
    ends = {"STOP": "calls" if found else "stop", "MAX_TOKENS": "max_tokens"}
    return Read(text, thinking, tuple(found), ends[finish], tokens)


JUDGES: Mapping[str, Callable[[str], Any]] = {
    "openai-chat:m": by_openai_chat,
    "openai:gpt-5.5": by_openai,
    "anthropic:m": by_anthropic,
    "google:gemini-3-m": by_google,
}


async def read_twice(name: str, reply: Sequence[ResponseAction], twist: Twist) -> tuple[Read, Read]:
    """Return what the SDK and what holdfast says of the reply, with this done to it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received = await read_request(reader)
        assert received is not None
        # The two requests differ, and so would what they cost: the answer is to the same.
        head, written = answer(
            replace(
                received,
                body=b'{"stream": true, "stream_options": {"include_usage": true}, '
                b'"include": ["reasoning.encrypted_content"]}',
            ),
            reply,
        )
        stream = twisted(written, twist, name)
        writer.write(head_bytes(head, "connection: close"))
        with suppress(ConnectionError):
            size = twist.chunk or len(stream) or 1
            for start in range(0, len(stream), size):
                writer.write(stream[start : start + size])
                if start < 64 * size:  # the rest at once: these have every case
                    await writer.drain()
                    await asyncio.sleep(0)
            await writer.drain()

    async with listening(serve) as port:
        url = f"http://127.0.0.1:{port}"
        judged = await JUDGES[name](url)
        return judged, await by_us(name, url)


@pytest.mark.parametrize("name", NAMES)
@law(40, shared_by=4)
@example(reply=(Say("a"), Call("read", {"n": 1}, chunk=1), Call("list", {"n": 2}, chunk=1)), twist=Twist(woven=True))
@example(reply=(Think("hm"), Say("Grüße 🌊", chunk=1), Ping()), twist=Twist(end="\r\n", comment=True, chunk=1))
@example(reply=(Say("a"), Finish("length")), twist=Twist(unknown=True, lines=True, bare=True, blank=2))
@given(reply=replies(), twist=twists)
async def test_they_read_alike(name: str, reply: tuple[ResponseAction, ...], twist: Twist) -> None:
    judged, ours = await read_twice(name, reply, twist)
    assert ours == judged
