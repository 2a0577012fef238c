"""The interface between the agent and a model: a conversation goes in, stream events come out.

The agent never sees a provider; `holdfast.providers.http_model` implements this interface.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, runtime_checkable

import msgspec

from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import AnswerRefusal, RequestPrefix, Usage

ModelFinish = Literal["stop", "calls", "max_tokens", "refusal"]


class TextDelta(msgspec.Struct, frozen=True):
    """More text of the answer."""

    text: str


class ThinkingDelta(msgspec.Struct, frozen=True):
    """More of the model's thinking."""

    text: str


class CallDelta(msgspec.Struct, frozen=True):
    """More of a call: `index` is its part number in the response; `name` comes once, `arguments` in pieces."""

    index: int
    name: str
    arguments: str


class StreamFinished(msgspec.Struct, frozen=True):
    """The provider's terminal event: the complete response. Call IDs are the provider's (`CallPart.wire_id`).

    `refusal` is why, if it ends with "refusal" and the provider says so.
    """

    parts: tuple[Part, ...]
    finish: ModelFinish
    usage: Usage
    refusal: AnswerRefusal | None = None


StreamEvent = TextDelta | ThinkingDelta | CallDelta | StreamFinished


class Model(Protocol):
    """A connection to one model.

    Laws (`tests/providers/test_model_laws.py`): events arrive in the order of the wire; `StreamFinished` comes at most
    once, last, and only if the provider's own terminal event was seen; every other ending raises `ProviderFailed`;
    cancelling the consumer closes that request's connection; the model itself never retries. With `non_streaming`, the
    request differs only in its streaming fields, and the same events come, all at the end.
    """

    @property
    def name(self) -> str:
        """Return PROVIDER:MODEL, as the session names it."""
        ...

    def stream(
        self, conversation: Conversation, *, non_streaming: bool = False
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Send the conversation from `session.request.normalize` and yield its events. Raise `ProviderFailed`.

        `non_streaming` asks for the response as one document.
        """
        ...

    async def aclose(self) -> None:
        """Close every connection. The model cannot be used afterwards."""
        ...


@runtime_checkable
class PrefixModel(Protocol):
    """A model that knows the prefix of a request's body before it sends the request. The agent journals it."""

    def prefix(self, conversation: Conversation) -> RequestPrefix:
        """Return the prefix of a request with this conversation. The same conversation always has the same."""
        ...


@runtime_checkable
class OwnServerModel(Protocol):
    """A model that may be on a server of the user's own, which can read a long prompt for minutes before it answers."""

    @property
    def on_own_server(self) -> bool:
        """Return whether its server is on this computer or wants no key: waiting for it costs no money."""
        ...

    def watch(self, alive: Callable[[float | None], None]) -> None:
        """Call `alive` from now on whenever the server shows, before its answer begins, that it lives.

        It gets the share of the prompt that was read, from 0 to 1, None if the server does not say.
        """
        ...


class HttpObserver(Protocol):
    """Receives the HTTP events of one connection; must not block or raise."""

    def hide(self, secrets: tuple[str, ...]) -> None:
        """Redact these texts from now on."""
        ...

    def request_sent(self, method: str, address: str, size: int) -> None:
        """Receive the start of a request; `size` is the size of its body in bytes."""
        ...

    def response_started(self, status: int, request_id: str) -> None:
        """Receive the head of a response."""
        ...

    def data_received(self, chunk: bytes) -> None:
        """Receive bytes of the response's body."""
        ...

    def response_closed(self) -> None:
        """Receive the end of the response's body."""
        ...
