"""The interface of a protocol for the scripted provider, and what its two halves share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from holdfast.testing.script import (
    Call,
    Fail,
    Finish,
    FinishReason,
    Hold,
    ReceivedRequest,
    Reset,
    ResponseAction,
    Say,
    Think,
    Wait,
    WireName,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """An HTTP request as received; header names are lower case, `path` is without the query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The status line and headers of a response."""

    status: int
    headers: tuple[tuple[str, str], ...]


WireEvent = ResponseHead | bytes | Wait | Hold | Reset
"""One event of a response: first a Head, then body bytes; pauses anywhere; a Reset ends it."""


class Refusal(Exception):
    """A provider's error response: its status, message and classification, as in its JSON.

    `retry_after` is sent by providers that have it in their JSON.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
        self.param = param
        self.code = code
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class WireReply:
    """A reply to a request; IDs are made from its `number`, so that the same script gives the same bytes."""

    request: ReceivedRequest
    reply: tuple[ResponseAction, ...]
    number: int

    @property
    def input_tokens(self) -> int:
        """Return the tokens of the request, at four characters each: plausible, and always the same."""
        return len(json.dumps(self.request.body)) // 4 + 1

    @property
    def output_tokens(self) -> int:
        texts = [action.text for action in self.reply if isinstance(action, Say | Think)]
        texts += [action.name + scripted_arguments(action) for action in self.reply if isinstance(action, Call)]
        return sum(len(text) for text in texts) // 4 + 1

    @property
    def finish(self) -> FinishReason | None:
        """Return the finish reason, None if the reply is cut."""
        return next((action.reason for action in self.reply if isinstance(action, Finish)), None)


class StreamWriter(Protocol):
    """Writes a streamed response; each method yields the bytes for one action."""

    def write(self, action: Say | Think | Call) -> Iterator[bytes | Wait]:
        """Yield text, reasoning or a call, in chunks and at its pace."""
        ...

    def ping(self) -> Iterator[bytes]:
        """Yield a keep-alive."""
        ...

    def finish(self, reason: FinishReason) -> Iterator[bytes]:
        """Yield the finish reason and the usage."""
        ...

    def end(self) -> bytes:
        """Return the terminal event."""
        ...


class WireProtocol(Protocol):
    """One provider's protocol."""

    @property
    def name(self) -> WireName: ...

    @property
    def requires_key(self) -> bool:
        """Return whether it refuses requests without a key."""
        ...

    def serves(self, path: str) -> bool:
        """Return whether it answers a POST on the path."""
        ...

    def not_found(self, incoming: Incoming) -> Refusal:
        """Return the provider's error for an unknown path or method."""
        ...

    def admit(self, incoming: Incoming, *, key: str | None) -> ReceivedRequest:
        """Return the request. Raise `Refusal`, in the provider's words, if it breaks one of the provider's rules."""
        ...

    def failure(self, fail: Fail) -> Refusal:
        """Return the provider's own error for that status."""
        ...

    def error_response(self, refusal: Refusal, *, number: int) -> tuple[ResponseHead, bytes]:
        """Return the error response; `number` counts the requests, for the provider's request ID."""
        ...

    def stream_writer(self, answer: WireReply) -> StreamWriter:
        """Return a writer for the streamed answer."""
        ...

    def non_streaming_body(self, answer: WireReply) -> bytes:
        """Return the answer as one document, for a client that did not ask for streaming."""
        ...


def scripted_arguments(call: Call) -> str:
    """Return the arguments as the model writes them."""
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


def text_chunks(action: Say | Think | Call) -> Iterator[str | Wait]:
    """Yield the action's text in chunks, with its delay between them; an empty text is one empty chunk."""
    text = scripted_arguments(action) if isinstance(action, Call) else action.text
    for start in range(0, len(text) or 1, action.chunk):
        if start and action.delay:
            yield Wait(action.delay)
        yield text[start : start + action.chunk]


def document(value: dict[str, object]) -> bytes:
    """Return the value as compact ASCII JSON: a script may hold text that is not valid Unicode."""
    return json.dumps(value, separators=(",", ":")).encode()
