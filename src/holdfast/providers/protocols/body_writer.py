"""Writes the body of each request, keeping the encoded messages: a longer conversation costs what was added to it.

How it works. The head of a body (model, tools, settings, the user's `extra_body`) comes first, then the messages.
Encoded messages are kept as long as each conversation begins with the one before; anything else (a rewind, a
compaction) starts again. Fields that only the last message has are written for each request and not kept.

A digest of the kept bytes goes into the journal before a request is sent. After a crash the body is written again from
the journal and must have that digest (`agent/model_request/prefix_history.py` compares them).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from holdfast.providers.protocols.protocol import JsonObject, MessageWriter, ProviderProtocol
from holdfast.providers.protocols.sent_settings import merge_fields
from holdfast.providers.registry import ModelEndpoint
from holdfast.session.conversation.conversation import Conversation, ConversationMessage
from holdfast.session.journal.parts import RequestPrefix

_ENCODER = msgspec.json.Encoder()


class BodyWriter:
    """The encoded messages of one conversation with one model."""

    def __init__(self, target: ModelEndpoint, protocol: ProviderProtocol) -> None:
        self._target = target
        self._protocol = protocol
        self._writer: MessageWriter | None = None
        self._system = ""
        self._messages: tuple[ConversationMessage, ...] = ()
        self._encoded: list[bytes] = []
        self._bytes = 0
        self._digest = blake2b(digest_size=16)
        self._last_message: JsonObject | None = None

    @property
    def encoded(self) -> Sequence[bytes]:
        """Return the encoded messages of the last request."""
        return self._encoded

    def prefix(self, conversation: Conversation) -> RequestPrefix:
        """Return the prefix of the body of a request with this conversation."""
        self._encode_messages(conversation)
        head = self._head(conversation, non_streaming=False)
        return RequestPrefix(
            head=blake2b(head, digest_size=8).hexdigest(),
            messages=len(self._encoded),
            bytes=len(head) + self._bytes,
            digest=self._digest.hexdigest(),
        )

    def body(self, conversation: Conversation, *, non_streaming: bool) -> bytes:
        """Return the body of a request with this conversation."""
        self._encode_messages(conversation)
        head = self._head(conversation, non_streaming=non_streaming)
        messages = self._encoded
        if self._last_message is not None:
            messages = [*messages[:-1], _ENCODER.encode(self._protocol.closing(self._target, self._last_message))]
        start = b"{" if head == b"{}" else head[:-1] + b","
        return b"".join((start, b'"', self._protocol.messages_field.encode(), b'":[', b",".join(messages), b"]}"))

    def _head(self, conversation: Conversation, *, non_streaming: bool) -> bytes:
        head = self._protocol.head(self._target, conversation, non_streaming=non_streaming)
        return _ENCODER.encode(merge_fields(head, self._target.extra_body))

    def _encode_messages(self, conversation: Conversation) -> None:
        """Encode the messages that were added, or all of them if the conversation does not begin as before."""
        known = len(self._messages)
        writer, self._writer = self._writer, None  # if it fails halfway, the next request writes all again
        continues = bool(known) and conversation.messages[:known] == self._messages
        if writer is None or not continues or self._system != conversation.system:
            writer, known = self._protocol.writer(self._target), 0
            self._encoded, self._last_message, self._system = [], None, conversation.system
            self._bytes, self._digest = 0, blake2b(digest_size=16)
            self._add(writer.opening(conversation))
        for message in conversation.messages[known:]:
            self._add(writer.message(message))
        self._messages, self._writer = conversation.messages, writer

    def _add(self, objects: list[JsonObject]) -> None:
        for item in objects:
            encoded = _ENCODER.encode(item)
            self._digest.update(encoded)
            self._bytes += len(encoded) + bool(self._encoded)  # with the comma
            self._encoded.append(encoded)
            self._last_message = item
