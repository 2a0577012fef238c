"""The bodies of one session's requests: the bytes written from the beginning, whatever was sent before."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.providers.protocols import protocol_of
from holdfast.providers.protocols.body_writer import BodyWriter
from holdfast.providers.protocols.protocol import JsonObject, MessageWriter, ProviderProtocol
from holdfast.providers.registry import PROVIDERS, ModelEndpoint, profile_of, resolve_endpoint
from holdfast.session.conversation.conversation import (
    AssistantMessage,
    Conversation,
    ConversationMessage,
    Result,
    UserMessage,
)
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    CallEnded,
    Entry,
    PromptAccepted,
    Pruned,
    ResponseEnded,
    SessionOpened,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.request.normalize import normalize
from laws import law
from sendable_conversations import TOOLS, conversation, sendable, spoken_conversation
from shown_images import picture

ENVIRON = {each.key_variable: "k" for each in PROVIDERS.values() if each.key_variable} | {
    "AWS_REGION": "r",
    "AZURE_OPENAI_ENDPOINT": "https://mine.test",
}
MODELS = ("anthropic:m", "bedrock:anthropic.m", "openai:gpt-5.5", "openai-chat:m", "mistral:m", "ollama:m", "google:m")


def spoken(name: str) -> tuple[ModelEndpoint, ProviderProtocol]:
    endpoint = resolve_endpoint(name, ENVIRON)
    protocol = protocol_of(endpoint.provider.kind)
    assert protocol is not None
    return endpoint, protocol


@pytest.mark.parametrize("name", MODELS)
@law(shared_by=len(MODELS))
@given(data=st.data())
def test_a_body_is_the_one_written_from_the_beginning_whatever_was_sent_before(name: str, data: st.DataObject) -> None:
    endpoint, protocol = spoken(name)
    body_writer = BodyWriter(endpoint, protocol)
    long = data.draw(sendable(name))
    for _ in range(data.draw(st.integers(1, 4))):
        length = data.draw(st.integers(0, len(long.messages)))
        system = data.draw(st.sampled_from([long.system, "ANOTHER"]))
        non_streaming = data.draw(st.booleans())
        assert long.opened is not None
        opened = msgspec.structs.replace(long.opened, system=system)
        messages = long.messages[:length]
        if messages and data.draw(st.booleans()):  # as after a compaction
            messages = (UserMessage((), ("another",)), *messages[1:])
        sent = replace(long, messages=messages, opened=opened)
        assert body_writer.body(sent, non_streaming=non_streaming) == BodyWriter(endpoint, protocol).body(
            sent, non_streaming=non_streaming
        )


EVERY = tuple(f"{name}:{provider.model or 'm'}" for name, provider in PROVIDERS.items())
"""A model of every built-in provider."""
MARK = b',"cache_control"'


def settled(body: bytes, name: str) -> bytes:
    """Return the body up to its moving end: the closing brackets, and in front of them Anthropic's mark."""
    return body[: body.rindex(MARK)] if name.startswith(("anthropic:", "bedrock:")) else body.removesuffix(b"]}")


def begun(long: Conversation, length: int, *, system: str | None = None) -> Conversation:
    """Return the beginning of a conversation as it is sent; `length` is that of the conversation as it is kept."""
    assert long.opened is not None
    opened = long.opened if system is None else msgspec.structs.replace(long.opened, system=system)
    return normalize(replace(long, messages=long.messages[:length], opened=opened), profile_of(long.model))


@pytest.mark.parametrize("name", EVERY)
@law(shared_by=len(EVERY))
@given(data=st.data())
def test_the_bytes_of_a_longer_conversation_begin_with_those_of_the_shorter_one(name: str, data: st.DataObject) -> None:
    """Also after a rewind, a compaction and another system prompt, each of which starts a new sequence."""
    endpoint, protocol = spoken(name)
    body_writer = BodyWriter(endpoint, protocol)
    for _ in range(data.draw(st.integers(1, 3))):
        long = data.draw(spoken_conversation(name))
        system = data.draw(st.sampled_from([None, "ANOTHER"]))
        beginning = b""
        for length in range(data.draw(st.sampled_from(range(1, len(long.messages) + 1, 2))), len(long.messages) + 1, 2):
            sent = begun(long, length, system=system)
            body = body_writer.body(sent, non_streaming=False)
            assert body == BodyWriter(endpoint, protocol).body(sent, non_streaming=False)
            assert body.startswith(beginning)
            beginning = settled(body, name)


def test_at_amazon_thinking_that_was_signed_behind_a_pruned_result_is_not_sent() -> None:
    """Models that bind thinking would refuse it; only Anthropic can be told to drop it by itself."""
    name = "bedrock:anthropic.claude-sonnet-5-5"
    endpoint, protocol = spoken(name)
    journal: list[Entry] = [SessionOpened(session="s", cwd="/", model=name, system="S", tools=TOOLS, version="0")]
    for turn in (1, 2):
        thought = ThinkingPart("hm", signature=f"signed-{turn}", provider="bedrock")
        call = CallPart(f"c{turn}", "read", '{"path": "a"}')
        after = ThinkingPart("so", signature=f"then-{turn}", provider="bedrock")
        journal += [
            PromptAccepted(turn=turn, text="go"),
            ResponseEnded(step=2 * turn, model=name, parts=(thought, call), usage=Usage()),
            CallEnded(call=call.id, outcome="ok", text="much of it"),
            ResponseEnded(step=2 * turn + 1, model=name, parts=(after, TextPart("ok")), usage=Usage()),
            TurnEnded(turn=turn, reason="end_turn", cause="finished"),
        ]
    journal.append(PromptAccepted(turn=3, text="on"))
    every = {b"signed-1", b"then-1", b"signed-2", b"then-2"}

    def signed(entries: list[Entry]) -> set[bytes]:
        body = BodyWriter(endpoint, protocol).body(
            normalize(fold(entries), endpoint.provider.profile), non_streaming=False
        )
        return {each for each in every if each in body}

    assert signed(journal) == every
    assert signed([*journal, Pruned(outputs={"c2": "[left out]"})]) == every - {b"then-2"}
    assert signed([*journal, Pruned(outputs={"c1": "[left out]"})]) == {b"signed-1"}


TURNS = 60
READ = 20_000  # characters of each result


def long_session(model: str) -> Conversation:
    """Return a session that thinks, reads two files a turn, and sees an image now and then."""
    provider = model.partition(":")[0]
    messages: list[ConversationMessage] = [UserMessage((), ("go",))]
    for turn in range(TURNS):
        calls = [CallPart(f"c{turn}_{each}", "read", '{"path": "a.txt"}', provider=provider) for each in range(2)]
        thought = ThinkingPart("hm", signature=f"s{turn}", id=f"rs_{turn}", provider=provider)
        messages.append(AssistantMessage(model, (thought, TextPart("I look."), *calls)))
        results = tuple(Result(call.id, call.name, "ok", f"{turn} of it " * (READ // 10)) for call in calls)
        messages.append(UserMessage(results, ("on", picture("a.png")) if turn % 10 == 9 else ()))
    return conversation(model, *messages)


PROFILES = {provider.profile.name: name for name, provider in zip(EVERY, PROVIDERS.values(), strict=True)}
"""A model of every profile."""


@pytest.mark.parametrize("name", [*PROFILES.values(), "anthropic:claude-3-7-sonnet-latest"])
def test_over_a_long_session_nearly_every_byte_is_sent_again_as_it_was(name: str) -> None:
    """Measured: 99.9998 %, and 99.9949 % where the mark moves."""
    endpoint, protocol = spoken(name)
    body_writer, long = BodyWriter(endpoint, protocol), long_session(name)
    bodies = [
        body_writer.body(begun(long, length), non_streaming=False) for length in range(1, len(long.messages) + 1, 2)
    ]
    again = sum(same(before, after) for before, after in pairwise(bodies))
    ratio = again / sum(map(len, bodies[:-1]))
    assert ratio >= 0.9999, f"{name}: {ratio:.6%} of {sum(map(len, bodies[:-1])):,} bytes"


def same(before: bytes, after: bytes) -> int:
    """Return how many bytes are the same from the beginning."""
    return bisect_left(range(len(before)), 1, key=lambda length: not after.startswith(before[: length + 1]))


class Halfway:
    """A protocol whose writer fails once at its third message."""

    def __init__(self, protocol: ProviderProtocol) -> None:
        self._protocol = protocol
        self.fails = True

    def __getattr__(self, name: str) -> object:
        return getattr(self._protocol, name)

    def writer(self, target: ModelEndpoint) -> MessageWriter:
        return Failing(self._protocol.writer(target), self)


class Failing:
    def __init__(self, writer: MessageWriter, protocol: Halfway) -> None:
        self._writer = writer
        self._protocol = protocol
        self._written = 0

    def opening(self, conversation: Conversation) -> list[JsonObject]:
        return self._writer.opening(conversation)

    def message(self, message: ConversationMessage) -> list[JsonObject]:
        self._written += 1
        if self._written == 3 and self._protocol.fails:
            self._protocol.fails = False
            raise MemoryError
        return self._writer.message(message)


@given(data=st.data())
def test_a_writer_that_fails_halfway_leaves_the_next_request_whole(data: st.DataObject) -> None:
    endpoint, protocol = spoken("openai-chat:m")
    sent = data.draw(sendable("openai-chat:m").filter(lambda each: len(each.messages) > 2))
    halfway = Halfway(protocol)
    body_writer = BodyWriter(endpoint, halfway)  # pyright: ignore[reportArgumentType] - the rest is the protocol's
    body_writer.body(replace(sent, messages=sent.messages[:1]), non_streaming=False)
    with pytest.raises(MemoryError):
        body_writer.body(sent, non_streaming=False)
    assert body_writer.body(sent, non_streaming=False) == BodyWriter(endpoint, protocol).body(sent, non_streaming=False)
