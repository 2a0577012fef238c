"""Whatever stands in the events of a stream: the response is taken or fails in words, and the session goes on.

The events are those that each wire really sends, with unknown kinds, fields that are missing or null, and values of
other types put in their places; they come through the real SDKs.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

import httpx2
import msgspec
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from agent_harness import Rig
from holdfast.agent.agent import Agent
from holdfast.agent.events import Event, LiveText
from holdfast.config.settings import Limits
from holdfast.errors import EntryInvalid, ProviderFailed
from holdfast.providers.connect import open_model
from holdfast.providers.error_mapping import invalid_response
from holdfast.providers.model import CallDelta, Model, StreamEvent, StreamFinished, TextDelta, ThinkingDelta
from holdfast.providers.protocols.response_parts import token_count
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.conversation.conversation import AssistantMessage, Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    PromptAccepted,
    RequestFailed,
    ResponseEnded,
    SessionOpened,
    decode,
    encode,
)
from holdfast.session.journal.parts import TextPart, ThinkingPart, Usage
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.http_exchange import response_events, wire_for_path
from holdfast.testing.protocols.protocol import Incoming
from holdfast.testing.script import Call, ReceivedRequest, Reply, Say, Think
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import ToolContext, ToolOutput
from laws import law

PATHS = {
    "openai-chat:m": "/v1/chat/completions",
    "mistral:m": "/mistral/v1/chat/completions",
    "ollama:m": "/ollama/v1/chat/completions",
    "openai:gpt-5.5": "/v1/responses",
    "anthropic:m": "/v1/messages",
    "bedrock:m": "/anthropic/v1/messages",
    "google:gemini-3-m": "/v1beta/models/m:streamGenerateContent",
}
EVERY_WIRE = pytest.mark.parametrize("name", PATHS)
A_LAW = law(shared_by=len(PATHS))
KEY = dict.fromkeys(
    ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"), "key"
) | {"ANTHROPIC_BEDROCK_MANTLE_BASE_URL": "http://provider/anthropic"}
LIMITS = Limits(attempts=1, first_event=20, idle_event=20, drop_wait=1)
SAID: Reply = (Think("I think. "), Say("One word, two words."), Call("touch", {"path": "a"}), Call("touch", {}))
PLAIN: Reply = (Say("Still here."),)

STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 7, 1.5, 10**30, "", "x", "unknown_kind", "stop", "tool_use", "text_delta"),
    *(list[Any](), dict[str, Any](), [None], [1], [list[Any]()]),
    *({"a": 1}, {"type": "text"}, {"type": "unknown_kind"}, [{"type": "unknown_kind"}]),
    *("\ud83d", "a\u0000b", {"text": 1}, {"text": None}, ["a", "b"], "9" * 5_000, {"a": {"a": {"a": [[["x"]]]}}}),
)
UNKNOWN = (
    b'event: surprise\ndata: {"type": "surprise", "index": 0, "delta": {"type": "surprise_delta", "text": "x"}}',
    b'data: {"type": "content_block_delta", "index": 0, "delta": {"type": "surprise_delta", "words": "x"}}',
    b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 0, "delta": {"type": "surprise"}}',
    b'event: content_block_start\ndata: {"type": "content_block_start", "index": 9, "content_block": {"type": "s"}}',
    b'event: response.surprise\ndata: {"type": "response.surprise", "sequence_number": 3}',
    b'data: {"choices": []}',
    b'data: {"choices": null}',
    b'data: {"candidates": [{}]}',
    b"data: {}",
    b"data: null",
    b"data: []",
    b"event: x",
    b": a comment",
    b"data: 3\ndata: 4",
)


@dataclass(frozen=True)
class Sent:
    """An event: the lines before its data, and that."""

    before: bytes
    data: Any

    @property
    def raw(self) -> bytes:
        return self.before + (b"data: " + json.dumps(self.data).encode() if self.data is not Sent else b"")


def body(name: str, reply: Reply, *, stream: bool = True) -> bytes:
    """Return what the scripted provider sends on the wire of the model."""
    wire = wire_for_path(Incoming(method="POST", path=PATHS[name], headers={}, body=b""))
    request = ReceivedRequest(
        wire=wire.name, model="m", system=("S",), messages=(), tools=("touch",), stream=stream, body={"model": "m"}
    )
    events = response_events(wire, request, reply, turn=1, number=1)
    return b"".join(each for each in events if isinstance(each, bytes))


def events(raw: bytes) -> Iterator[Sent]:
    for each in raw.replace(b"\r\n", b"\n").split(b"\n\n"):
        before, data, value = each.partition(b"data: ")
        if data and value != b"[DONE]":
            yield Sent(before, json.loads(value))
        elif each.strip():
            yield Sent(each, Sent)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield where something stands in the value."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        inner = list(enumerate(cast("list[Any]", value)))
    for key, each in inner:
        yield (*path, key)
        yield from places(each, (*path, key))


def changed(data: Any, path: tuple[str | int, ...], value: object) -> Any:
    """Return the data with another value at the path, `Sent` for none."""
    new = deepcopy(data)
    holder = new
    for key in path[:-1]:
        holder = holder[key]
    if value is Sent:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return new


@st.composite
def mutated(draw: st.DrawFn, name: str) -> bytes:
    """Return a stream with up to three unexpected changes."""
    sent = list(events(body(name, SAID)))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(sent) - 1))
        how = draw(st.sampled_from(["set", "set", "set", "delete", "delete", "drop", "twice", "unknown", "kind"]))
        one = sent[at]
        spots = list(places(one.data)) if one.data is not Sent else []
        match how:
            case "set" | "delete" if spots:
                value = draw(st.sampled_from(STRANGE)) if how == "set" else Sent
                sent[at] = Sent(one.before, changed(one.data, draw(st.sampled_from(spots)), value))
            case "drop":
                del sent[at]
            case "twice":
                sent.insert(at, one)
            case "kind" if one.before:
                sent[at] = Sent(b"event: surprise\n", one.data)
            case _:
                sent.insert(at, Sent(draw(st.sampled_from(UNKNOWN)), Sent))
        event(how)
        if not sent:
            break
    end = b"\n\ndata: [DONE]\n\n" if "chat" in PATHS[name] else b"\n\n"
    return b"\n\n".join(one.raw for one in sent) + end


class Wire:
    """A provider that answers with these bodies in turn, on no socket."""

    def __init__(self, name: str, *bodies: tuple[str, bytes]) -> None:
        self._bodies = list(bodies)
        self.name = name

    def open(self) -> Model:
        def answer(request: httpx2.Request) -> httpx2.Response:
            del request
            kind, raw = self._bodies.pop(0)
            return httpx2.Response(200, headers={"content-type": kind}, stream=_Body(raw))

        return open_model(
            resolve_endpoint(self.name, KEY), http=lambda: httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
        )


class _Body(httpx2.AsyncByteStream):
    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._raw


async def _touch(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
    del arguments, context
    return ToolOutput(text="touched")


def opened(name: str, box: FunctionToolbox) -> SessionOpened:
    tools = tuple(tool.schema for tool in box.tool_list)
    return SessionOpened(session="s", cwd="/", model=name, system="S", tools=tools, version="0")


EVENTS = "text/event-stream"


async def visited(name: str, raw: bytes) -> tuple[str, list[object]]:
    """Run a turn that meets the body and one that meets a plain one; return how the first ended, and the entries."""
    box = FunctionToolbox([FunctionTool("touch", "read", _touch)])
    store = MemoryStore()
    store.append([opened(name, box)], expected=0)
    plain = (EVENTS, body(name, PLAIN))
    wire = Wire(name, (EVENTS, raw), plain, plain)
    events: list[Event] = []

    async def connect(model: str) -> Model:
        del model
        return wire.open()

    agent = Agent(store=store, toolbox=box, connect=connect, mode="yolo", emit=events.append, limits=LIMITS)
    ended = await agent.run("do it")
    assert ended.cause in ("finished", "provider"), ended
    assert "bug" not in ended.detail
    entries: list[object] = [record.entry for record in store.read().records]
    shown = "".join(each.text for each in events if isinstance(each, LiveText))
    parts = [
        part.text
        for message in fold(record.entry for record in store.read().records).messages
        if isinstance(message, AssistantMessage)
        for part in message.parts
        if isinstance(part, TextPart)
    ]
    assert ended.cause == "finished" or shown.strip() in "".join(parts)  # what was shown is kept
    again = await agent.run("go on")
    assert again.cause == "finished", again.detail
    assert agent.conversation == fold(record.entry for record in store.read().records)
    await agent.close()
    return ended.cause, entries


@EVERY_WIRE
async def test_what_is_not_changed_is_whole(name: str) -> None:
    raw = b"\n\n".join(one.raw for one in events(body(name, SAID))) + b"\n\n"
    cause, entries = await visited(name, raw + (b"data: [DONE]\n\n" if "chat" in PATHS[name] else b""))
    assert cause == "finished"
    (ended, _) = [entry for entry in entries if isinstance(entry, ResponseEnded)]
    kinds = [type(part).__name__ for part in ended.parts]
    assert kinds == ["ThinkingPart", "TextPart", "CallPart", "CallPart"]


@EVERY_WIRE
@A_LAW
@given(data=st.data())
async def test_a_strange_event_is_taken_or_fails_in_words(name: str, data: st.DataObject) -> None:
    cause, entries = await visited(name, data.draw(mutated(name)))
    event(cause)
    for entry in entries:  # may be empty: on this wire all that was drawn was taken
        if isinstance(entry, RequestFailed):
            assert entry.message.startswith(f"Model {name!r}")


@EVERY_WIRE
@A_LAW
@given(data=st.data())
async def test_so_is_a_strange_answer_in_one_piece(name: str, data: st.DataObject) -> None:
    answer = json.loads(body(name, SAID, stream=False))
    for _ in range(data.draw(st.integers(1, 2))):
        spots = list(places(answer))
        if spots:
            value = data.draw(st.sampled_from((*STRANGE, Sent)))
            answer = changed(answer, data.draw(st.sampled_from(spots)), value)
    model = Wire(name, ("application/json", json.dumps(answer).encode())).open()
    box = FunctionToolbox([FunctionTool("touch", "read", _touch)])
    conversation = fold([opened(name, box), PromptAccepted(turn=1, text="do it")])
    failed = await _heard(model, conversation)
    assert failed is None or str(failed).startswith(f"Model {name!r}")
    await model.aclose()


async def _heard(model: Model, conversation: Conversation) -> ProviderFailed | None:
    """Take the answer in one piece, and return how it failed, if it did: there is no other way."""
    try:
        async with model.stream(conversation, non_streaming=True) as stream:
            sound([each async for each in stream])
    except ProviderFailed as failed:
        return failed
    return None


def sound(found: list[TextDelta | ThinkingDelta | CallDelta | StreamFinished]) -> None:
    """Fail if an event is not what its type says, or what ends it cannot be journalled."""
    for each in found:
        match each:
            case TextDelta(text) | ThinkingDelta(text):
                assert isinstance(text, str)
            case CallDelta(index, called, arguments):
                assert (type(index), type(called), type(arguments)) == (int, str, str)
            case StreamFinished(parts, finish, usage):
                safe = json.dumps("".join(part.text for part in parts if isinstance(part, TextPart)))
                assert isinstance(safe, str)
                ended = ResponseEnded(step=1, model="m", parts=parts, usage=usage, finish=finish)
                try:
                    written = encode(ended)
                except EntryInvalid as invalid:
                    if isinstance(invalid.__cause__, UnicodeEncodeError):  # the stream makes that valid
                        return
                    raise
                assert decode(written) == ended


ANTHROPIC_TEXT: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Half of it. "}},
]


@pytest.mark.parametrize(
    "delta",
    [{"type": "surprise_delta"}, {"type": "surprise_delta", "text": 3}, {"type": "text_delta", "text": None}, {}, None],
)
async def test_a_delta_of_an_unknown_kind_ends_in_words_and_keeps_what_was_said(delta: object) -> None:
    usage = {"input_tokens": 1, "output_tokens": 1}
    sent = deepcopy(ANTHROPIC_TEXT)
    sent[0]["message"] |= {"model": "m", "stop_reason": None, "stop_sequence": None, "usage": usage}
    sent.append({"type": "content_block_delta", "index": 0, "delta": delta})
    sent.append({"type": "content_block_stop", "index": 0})
    sent.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}})
    sent.append({"type": "message_stop"})
    raw = b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in sent)
    _, entries = await visited("anthropic:m", raw)
    assert "Half of it." in str(entries)


@pytest.mark.parametrize("count", [None, True, -1, 1.5, "3", 10**30, [1]])
def test_a_count_that_is_none_is_nothing(count: object) -> None:
    assert (token_count(count), token_count(3)) == (0, 3)


@pytest.mark.parametrize("wrong", ["signature", "id"])
async def test_a_signature_that_is_no_text_goes_with_its_thinking(wrong: str) -> None:
    thought = msgspec.structs.replace(ThinkingPart("hm"), **{wrong: "\ud83d"})

    class Signs(ScriptedModel):
        @asynccontextmanager
        async def _stream(
            self, conversation: Conversation, *, non_streaming: bool
        ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
            del conversation, non_streaming

            async def events() -> AsyncIterator[StreamEvent]:
                yield StreamFinished((thought, TextPart("here")), "stop", Usage())

            yield events()

    rig = Rig(Signs())
    assert (await rig.agent.run("go")).cause == "finished"
    (ended,) = [record.entry for record in rig.store.read().records if isinstance(record.entry, ResponseEnded)]
    assert ended.parts == (TextPart("here"),)


class _Wordless(Exception):
    def __str__(self) -> str:
        return cast("str", None)


def test_an_error_whose_words_are_no_text_is_a_failure_in_words() -> None:
    failed = invalid_response("a:b", _Wordless())
    assert str(failed).startswith("Model 'a:b' sent an invalid response: _Wordless.")
