"""What a scripted model does: frozen actions, a reply made of them, a script made of replies.

A reply means the same on every wire; how it looks in bytes is the wire's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from holdfast.errors import UsageError

WireName = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]
"""The protocols a scripted provider speaks."""

FinishReason = Literal["stop", "tool_calls", "length", "refusal"]
"""Why a reply ended, in one spelling for all wires."""


@dataclass(frozen=True, slots=True)
class Say:
    """Stream text, `chunk` characters at a time with `delay` seconds between; a `Say` after a `Say` goes on with it."""

    text: str
    _: KW_ONLY
    chunk: int = 16
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Think:
    """Stream reasoning, signed so that this provider accepts it again.

    A `signature` given here is sent as written: it is a foreign one, which is refused when it comes back.
    """

    text: str
    _: KW_ONLY
    signature: str | None = None
    chunk: int = 16
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Call:
    """Stream a tool call; `arguments` as a string is sent as it is, JSON or not. `id` None gives a new one."""

    name: str
    arguments: dict[str, object] | str
    _: KW_ONLY
    id: str | None = None
    chunk: int = 16
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Wait:
    """Send nothing for so many seconds. Before anything else in a reply, not even the status line is sent."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Send nothing until the test calls `release(name)`. First in a reply, it holds the status line back too."""

    name: str


@dataclass(frozen=True, slots=True)
class Ping:
    """Send `count` keep-alives, each followed by `every` seconds of silence: bytes that are no progress."""

    count: int = 1
    every: float = 0.0


@dataclass(frozen=True, slots=True)
class Finish:
    """Say why the reply ends; without it that is "tool_calls" if there were calls, else "stop"."""

    reason: FinishReason


@dataclass(frozen=True, slots=True)
class Cut:
    """End the body politely, as HTTP goes, without the wire's terminal event. The open block stays open."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Abort the TCP connection."""


@dataclass(frozen=True, slots=True)
class Headers:
    """Send the status line and headers, before anything is said and after nothing but pauses; they may be wrong.

    `encoding` is what the body is said to be packed as: whatever is said to follow is sent as it is.
    """

    status: int = 200
    content_type: str = "text/event-stream; charset=utf-8"
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class Raw:
    """Send bytes that the protocol does not ask for, `times` over and with `every` seconds of silence after each."""

    data: bytes
    _: KW_ONLY
    times: int = 1
    every: float = 0.0


@dataclass(frozen=True, slots=True)
class End:
    """Send the terminal event now: what follows comes after the end, where nothing may."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Answer with an HTTP error instead, in the provider's JSON shape and, without `message`, its words."""

    status: int
    message: str | None = None
    retry_after: float | None = None


Spoken = Say | Think | Call | Wait | Hold | Ping | Finish | Cut | Reset | Headers | Raw | End
Action = Spoken | Fail
Reply = Sequence[Action]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An accepted request as a reply function sees it; `messages` and `body` are the wire's own JSON.

    `system` are the system prompts, one expected; `tools` the declared names.
    """

    wire: WireName
    model: str
    system: tuple[str, ...]
    messages: tuple[dict[str, object], ...]
    tools: tuple[str, ...]
    stream: bool
    body: dict[str, object]


Step = Reply | Callable[[Request], Reply]
"""One reply of a script, or a function that makes it from the request."""

Script = Sequence[Step]

SCRIPT_OVER: Reply = (Fail(500, "The script is over: a reply was asked for after its last. Give the script more."),)
"""What is played after the last reply, unless the test says otherwise."""

_PAUSES = Wait | Hold
_LAST = Cut | Reset | Fail


def checked(reply: Reply) -> tuple[Action, ...]:
    """Return the reply; raises `UsageError` if it cannot be played.

    Nothing may follow a Cut, Reset or Fail; only pauses may come before a Fail or Headers; a Finish comes once, after
    what is said; an End comes once, and anything may be said after it; a chunk has at least one character.
    """
    actions = tuple(reply)
    finished = ended = False
    for place, action in enumerate(actions):
        if isinstance(action, _LAST) and place != len(actions) - 1:
            raise _unplayable(action, place, "is not the last action, but nothing can follow it")
        if isinstance(action, Fail) and not all(isinstance(before, _PAUSES) for before in actions[:place]):
            raise _unplayable(action, place, "follows something said, but a whole reply is an error or none of it is")
        if isinstance(action, Headers) and not all(isinstance(before, _PAUSES) for before in actions[:place]):
            raise _unplayable(action, place, "follows something said, but headers come first")
        if isinstance(action, Say | Think | Call):
            if finished and not ended:
                raise _unplayable(action, place, "follows a Finish, but nothing can be said then")
            if action.chunk < 1:
                raise _unplayable(action, place, "has a chunk below 1, one character or more was expected")
        if isinstance(action, Finish):
            if finished:
                raise _unplayable(action, place, "is the second Finish, one was expected")
            finished = True
        if isinstance(action, End):
            if ended:
                raise _unplayable(action, place, "is the second End, one was expected")
            finished = ended = True
    return actions


def _unplayable(action: Action, place: int, why: str) -> UsageError:
    return UsageError(f"Action {type(action).__name__!r} at {place} of the reply {why}. Change the script.")
