"""Writes the body of each request, keeping the encoded messages: a longer conversation costs what was added to it.

How it works. The head of a body (model, tools, settings, the user's `extra_body`) comes first, then the messages.
Encoded messages are kept as long as each conversation begins with the one before; anything else (a rewind, a
compaction) starts again. What only the last message has is written for the request and not kept.

The digest of what is kept goes into the journal before a request is sent. After a crash the body is written again from
the journal and must have that digest (`agent/model_request/prefix_history.py` compares them).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from holdfast.providers.protocols.protocol import JsonObject, MessageWriter, ProviderProtocol
from holdfast.providers.protocols.settings.sent_settings import merged
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
        self._taken: tuple[ConversationMessage, ...] = ()
        self._encoded: list[bytes] = []
        self._bytes = 0
        self._digest = blake2b(digest_size=16)
        self._last: JsonObject | None = None

    @property
    def encoded(self) -> Sequence[bytes]:
        """Return the messages of the last request, as encoded."""
        return self._encoded

    def prefix(self, conversation: Conversation) -> RequestPrefix:
        """Return what the body of a request with this conversation begins with."""
        self._take(conversation)
        head = self._head(conversation, whole=False)
        return RequestPrefix(
            head=blake2b(head, digest_size=8).hexdigest(),
            messages=len(self._encoded),
            bytes=len(head) + self._bytes,
            digest=self._digest.hexdigest(),
        )

    def body(self, conversation: Conversation, *, whole: bool) -> bytes:
        """Return the body of a request with this conversation."""
        self._take(conversation)
        head = self._head(conversation, whole=whole)
        messages = self._encoded
        if self._last is not None:
            messages = [*messages[:-1], _ENCODER.encode(self._protocol.closing(self._target, self._last))]
        begun = b"{" if head == b"{}" else head[:-1] + b","
        return b"".join((begun, b'"', self._protocol.messages_field.encode(), b'":[', b",".join(messages), b"]}"))

    def _head(self, conversation: Conversation, *, whole: bool) -> bytes:
        head = self._protocol.head(self._target, conversation, whole=whole)
        return _ENCODER.encode(merged(head, self._target.extra_body))

    def _take(self, conversation: Conversation) -> None:
        """Encode the messages that were added, or all of them if the conversation does not begin as before."""
        known = len(self._taken)
        writer, self._writer = self._writer, None  # if it fails halfway, the next request writes all again
        begins_so = bool(known) and conversation.messages[:known] == self._taken
        if writer is None or not begins_so or self._system != conversation.system:
            writer, known = self._protocol.writer(self._target), 0
            self._encoded, self._last, self._system = [], None, conversation.system
            self._bytes, self._digest = 0, blake2b(digest_size=16)
            self._add(writer.opening(conversation))
        for message in conversation.messages[known:]:
            self._add(writer.message(message))
        self._taken, self._writer = conversation.messages, writer

    def _add(self, objects: list[JsonObject]) -> None:
        for each in objects:
            written = _ENCODER.encode(each)
            self._digest.update(written)
            self._bytes += len(written) + bool(self._encoded)  # with the comma
            self._encoded.append(written)
            self._last = each
