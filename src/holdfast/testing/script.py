"""The script of a scripted model: frozen actions, replies made of actions, a script made of replies.

A reply means the same in every protocol; each protocol writes its own bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from holdfast.errors import UsageError

WireName = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]
"""The protocols a scripted provider speaks."""

FinishReason = Literal["stop", "tool_calls", "length", "refusal"]
"""Why a reply ended, with the same names for all protocols."""


@dataclass(frozen=True, slots=True)
class Say:
    """Stream text, `chunk` characters at a time with `delay` seconds between. Consecutive `Say`s form one text."""

    text: str
    _: KW_ONLY
    chunk: int = 16
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Think:
    """Stream reasoning, signed so that this provider accepts it when it is sent back.

    An explicit `signature` is sent as written. It counts as foreign and is refused when it is sent back.
    """

    text: str
    _: KW_ONLY
    signature: str | None = None
    chunk: int = 16
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Call:
    """Stream a tool call; a string as `arguments` is sent unchanged, valid JSON or not. `id` None creates a new ID."""

    name: str
    arguments: dict[str, object] | str
    _: KW_ONLY
    id: str | None = None
    chunk: int = 16
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Wait:
    """Send nothing for this many seconds. First in a reply, it delays the status line too."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Send nothing until the test calls `release(name)`. First in a reply, it delays the status line too."""

    name: str


@dataclass(frozen=True, slots=True)
class Ping:
    """Send `count` keep-alives, each followed by `every` seconds of silence: bytes without progress."""

    count: int = 1
    every: float = 0.0


@dataclass(frozen=True, slots=True)
class Finish:
    """The finish reason; without it, "tool_calls" if there were calls, else "stop"."""

    reason: FinishReason


@dataclass(frozen=True, slots=True)
class Cut:
    """End the HTTP body regularly, but without the protocol's terminal event. The open block stays open."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Abort the TCP connection."""


@dataclass(frozen=True, slots=True)
class Headers:
    """Send this status line and these headers, which may be wrong. Only pauses may come before it.

    `encoding` is a content encoding that is claimed but not applied: the body is sent as it is.
    """

    status: int = 200
    content_type: str = "text/event-stream; charset=utf-8"
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class Raw:
    """Send bytes that the protocol does not provide for, `times` over, each followed by `every` seconds of silence."""

    data: bytes
    _: KW_ONLY
    times: int = 1
    every: float = 0.0


@dataclass(frozen=True, slots=True)
class End:
    """Send the terminal event now, so that the following actions come after the end, where nothing is allowed."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Answer with an HTTP error in the provider's JSON shape and, without `message`, in its words."""

    status: int
    message: str | None = None
    retry_after: float | None = None


ResponseAction = Say | Think | Call | Wait | Hold | Ping | Finish | Cut | Reset | Headers | Raw | End
Action = ResponseAction | Fail
Reply = Sequence[Action]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """An accepted request, for a reply function; `messages` and `body` are the protocol's own JSON.

    `system` are the system prompts (normally one), `tools` the declared names.
    """

    wire: WireName
    model: str
    system: tuple[str, ...]
    messages: tuple[dict[str, object], ...]
    tools: tuple[str, ...]
    stream: bool
    body: dict[str, object]


ScriptStep = Reply | Callable[[ReceivedRequest], Reply]
"""One reply of a script, or a function that returns it for a request."""

Script = Sequence[ScriptStep]

SCRIPT_OVER: Reply = (Fail(500, "The script is over: a request came after its last reply. Add more replies."),)
"""What is played after the last reply by default."""

_PAUSES = Wait | Hold
_LAST = Cut | Reset | Fail


def check_reply(reply: Reply) -> tuple[Action, ...]:
    """Return the reply. Raise `UsageError` if it cannot be played.

    Nothing may follow a Cut, Reset or Fail. Only pauses may come before a Fail or Headers. At most one Finish, after
    the content. At most one End, after which anything may come. A chunk has at least one character.
    """
    actions = tuple(reply)
    finished = ended = False
    for place, action in enumerate(actions):
        if isinstance(action, _LAST) and place != len(actions) - 1:
            raise _unplayable(action, place, "must be the last action")
        if isinstance(action, Fail) and not all(isinstance(before, _PAUSES) for before in actions[:place]):
            raise _unplayable(action, place, "follows content, but an HTTP error must be the whole reply")
        if isinstance(action, Headers) and not all(isinstance(before, _PAUSES) for before in actions[:place]):
            raise _unplayable(action, place, "follows content, but headers must come first")
        if isinstance(action, Say | Think | Call):
            if finished and not ended:
                raise _unplayable(action, place, "follows a Finish, but content must come before it")
            if action.chunk < 1:
                raise _unplayable(action, place, "has a chunk size below 1")
        if isinstance(action, Finish):
            if finished:
                raise _unplayable(action, place, "is the second Finish (expected at most one)")
            finished = True
        if isinstance(action, End):
            if ended:
                raise _unplayable(action, place, "is the second End (expected at most one)")
            finished = ended = True
    return actions


def _unplayable(action: Action, place: int, why: str) -> UsageError:
    return UsageError(f"Action {type(action).__name__!r} at {place} of the reply {why}. Change the script.")
