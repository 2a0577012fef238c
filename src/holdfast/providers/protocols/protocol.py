"""What a protocol module provides: how a conversation is written as a request, and how a response is read.

How it works. A request body is a head (model, tools, settings) and the messages, which come last in it. A
`MessageWriter` gets the messages of one conversation in order, and its output for one never depends on a later one: so
the bytes of a longer conversation begin with those of a shorter one, and a provider finds its cache. Fields that move
with the end of the conversation (Anthropic's cache mark) are added by `closing`, to the last one only.

A response is read by a `ResponseReader`, one event of the stream at a time, or as one document. It returns what the
event adds and keeps the parts; `finished` is the response, but only once the provider has said why it ended.

Why not one class with a method `request(conversation) -> bytes`: the bytes of 5,000 messages would be written again for
each request.

Example: `ChatProtocol().writer(target).message(UserMessage((), ("go",)))` is `[{"role": "user", "content": "go"}]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from holdfast.providers.model import CallDelta, StreamFinished, TextDelta, ThinkingDelta
from holdfast.providers.protocols.sent_settings import SentSettings
from holdfast.providers.registry import ModelEndpoint
from holdfast.session.conversation.conversation import Conversation, ConversationMessage

JsonObject = dict[str, object]
"""A JSON object to be encoded; a value may be `msgspec.Raw`, whose bytes are sent as they are."""

Delta = TextDelta | ThinkingDelta | CallDelta


class MessageWriter(Protocol):
    """Writes the messages of one conversation, each once and in order. It may keep state from earlier ones."""

    def opening(self, conversation: Conversation) -> list[JsonObject]:
        """Return the messages before the first one, such as the system prompt."""
        ...

    def message(self, message: ConversationMessage) -> list[JsonObject]:
        """Return the message as the protocol writes it."""
        ...


class ResponseReader(Protocol):
    """Reads one response. Methods raise `ProviderFailed` for invalid responses and for reported errors."""

    @property
    def closed(self) -> bool:
        """Return whether the stream's closing event was read: nothing is read after it."""
        ...

    @property
    def complete(self) -> bool:
        """Return whether the provider has said why the response ended."""
        ...

    def event(self, name: str, data: bytes) -> Iterable[Delta]:
        """Read one server-sent event: its name ("" if it has none) and its data."""
        ...

    def document(self, body: bytes) -> Iterable[Delta]:
        """Read the body of a response that was not streamed."""
        ...

    def finished(self) -> StreamFinished:
        """Return the response; call it only if it is complete. Raise `ProviderFailed` if its reason is an error."""
        ...


class ProviderProtocol(Protocol):
    """One protocol. Pure: it makes bytes and reads them, the connection is `providers/http_model.py`."""

    @property
    def messages_field(self) -> str:
        """Return the field of the body that has the messages."""
        ...

    @property
    def open_ended(self) -> bool:
        """Return whether streams have no closing event: others may follow the one with the reason, for a while."""
        ...

    def url(self, target: ModelEndpoint, *, non_streaming: bool) -> str:
        """Return the URL to post to, which may depend on whether the response is streamed."""
        ...

    def headers(self, target: ModelEndpoint, conversation: Conversation | None = None) -> Mapping[str, str]:
        """Return the protocol's own headers, with the key if there is one; None: for a request without a body."""
        ...

    def settings(self, target: ModelEndpoint, conversation: Conversation) -> SentSettings:
        """Return the fields for the conversation's settings, and notes on those that this model does not accept."""
        ...

    def head(self, target: ModelEndpoint, conversation: Conversation, *, non_streaming: bool) -> JsonObject:
        """Return every field of the body except the messages."""
        ...

    def writer(self, target: ModelEndpoint) -> MessageWriter:
        """Return a writer for a conversation."""
        ...

    def closing(self, target: ModelEndpoint, last: JsonObject) -> JsonObject:
        """Return the last message of a request, with the fields that only the last one has."""
        ...

    def reader(self, target: ModelEndpoint) -> ResponseReader:
        """Return a reader for one response."""
        ...


# --- The parameters of a tool as OpenAI's protocols take them ---


def with_properties(parameters: Mapping[str, object]) -> JsonObject:
    """Return the JSON Schema with `properties`: OpenAI refuses an object's schema without them."""
    return {**parameters} if "properties" in parameters else {**parameters, "properties": {}}
