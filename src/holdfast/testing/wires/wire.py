"""What a wire protocol is to the scripted provider, and the words its two halves share."""

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
    Request,
    Reset,
    Say,
    Spoken,
    Think,
    Wait,
    WireName,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """An HTTP request as it came; header names are lower case, `path` is without the query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """The status line and headers of a response."""

    status: int
    headers: tuple[tuple[str, str], ...]


Event = Head | bytes | Wait | Hold | Reset
"""One step of a response: first a Head, then body bytes; pauses anywhere; a Reset ends it."""


class Refusal(Exception):
    """A provider's error response: its status, its words and its classification, as its JSON carries them.

    `retry_after` is told by those that tell it in their JSON.
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
class Answer:
    """A reply to a request; from its `number` ids are made, so that the same script gives the same bytes."""

    request: Request
    reply: tuple[Spoken, ...]
    number: int

    @property
    def sent(self) -> int:
        """Return the tokens of the request, at four characters a token: plausible, and the same every time."""
        return len(json.dumps(self.request.body)) // 4 + 1

    @property
    def received(self) -> int:
        """Return the tokens of the reply."""
        said = [action.text for action in self.reply if isinstance(action, Say | Think)]
        said += [action.name + written(action) for action in self.reply if isinstance(action, Call)]
        return sum(len(text) for text in said) // 4 + 1

    @property
    def finish(self) -> FinishReason | None:
        """Return why it ends, None if it is cut."""
        return next((action.reason for action in self.reply if isinstance(action, Finish)), None)


class Voice(Protocol):
    """A streamed response in the making; each method yields the bytes that say what it is told."""

    def say(self, action: Say | Think | Call) -> Iterator[bytes | Wait]:
        """Yield text, reasoning or a call, in its chunks and at its pace."""
        ...

    def ping(self) -> Iterator[bytes]:
        """Yield a keep-alive."""
        ...

    def finish(self, reason: FinishReason) -> Iterator[bytes]:
        """Yield why the response ends, and its usage."""
        ...

    def end(self) -> bytes:
        """Return the terminal event."""
        ...


class Wire(Protocol):
    """One provider's protocol."""

    @property
    def name(self) -> WireName:
        """Return the wire's name."""
        ...

    @property
    def wants_key(self) -> bool:
        """Return whether it takes none but requests with a key."""
        ...

    def serves(self, path: str) -> bool:
        """Return whether it answers a POST there."""
        ...

    def lost(self, incoming: Incoming) -> Refusal:
        """Return the provider's error for a path or a method it does not have."""
        ...

    def admit(self, incoming: Incoming, *, key: str | None) -> Request:
        """Return the request; raises `Refusal` in the provider's words if it breaks a rule of this provider."""
        ...

    def failure(self, fail: Fail) -> Refusal:
        """Return the provider's own error for that status."""
        ...

    def refused(self, refusal: Refusal, *, number: int) -> tuple[Head, bytes]:
        """Return the error response; `number` counts the requests, for the provider's request id."""
        ...

    def voice(self, answer: Answer) -> Voice:
        """Return what streams the answer."""
        ...

    def whole(self, answer: Answer) -> bytes:
        """Return the answer as one document, for a client that did not ask for a stream."""
        ...


def written(call: Call) -> str:
    """Return the arguments as the model writes them."""
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


def pieces(action: Say | Think | Call) -> Iterator[str | Wait]:
    """Yield the action's text in chunks, with its delay between them; an empty text is one empty chunk."""
    text = written(action) if isinstance(action, Call) else action.text
    for start in range(0, len(text) or 1, action.chunk):
        if start and action.delay:
            yield Wait(action.delay)
        yield text[start : start + action.chunk]


def document(value: dict[str, object]) -> bytes:
    """Return the value as compact JSON, in ASCII: a script may hold text that is not valid Unicode."""
    return json.dumps(value, separators=(",", ":")).encode()
