"""The bodies of one session's requests: the bytes written from the beginning, whatever was sent before."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.providers.outbox import Outbox
from holdfast.providers.protocols import protocol_of
from holdfast.providers.protocols.protocol import JsonObject, MessageWriter, ProviderProtocol
from holdfast.providers.registry import ModelEndpoint, resolve_endpoint
from holdfast.session.conversation.conversation import Conversation, ConversationMessage, UserMessage
from laws import law
from sendable_conversations import sendable

ENVIRON = dict.fromkeys(
    ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "GEMINI_API_KEY", "MISTRAL_API_KEY"), "k"
) | {"AWS_REGION": "r"}
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
    outbox = Outbox(endpoint, protocol)
    long = data.draw(sendable(name))
    for _ in range(data.draw(st.integers(1, 4))):
        length = data.draw(st.integers(0, len(long.messages)))
        system = data.draw(st.sampled_from([long.system, "ANOTHER"]))
        whole = data.draw(st.booleans())
        assert long.opened is not None
        opened = msgspec.structs.replace(long.opened, system=system)
        messages = long.messages[:length]
        if messages and data.draw(st.booleans()):  # as after a compaction
            messages = (UserMessage((), ("another",)), *messages[1:])
        asked = replace(long, messages=messages, opened=opened)
        assert outbox.body(asked, whole=whole) == Outbox(endpoint, protocol).body(asked, whole=whole)


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
    asked = data.draw(sendable("openai-chat:m").filter(lambda each: len(each.messages) > 2))
    halfway = Halfway(protocol)
    outbox = Outbox(endpoint, halfway)  # pyright: ignore[reportArgumentType] - the rest is the protocol's
    outbox.body(replace(asked, messages=asked.messages[:1]), whole=False)
    with pytest.raises(MemoryError):
        outbox.body(asked, whole=False)
    assert outbox.body(asked, whole=False) == Outbox(endpoint, protocol).body(asked, whole=False)
