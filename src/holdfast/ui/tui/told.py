"""What the agent's thread tells the screen: the driver's events, and what is of the session rather than of a turn."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.agent.events import Event, Fact
from holdfast.session.catalog import Summary
from holdfast.session.entries import CallPart, TurnEnded
from holdfast.tools.tool import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A session is open; `facts` are its journal so far. One that may only be `read` takes no prompts."""

    session: str
    cwd: str
    model: str
    facts: tuple[Fact, ...]
    read: bool = False


@dataclass(frozen=True, slots=True)
class Busy:
    """A turn runs."""


@dataclass(frozen=True, slots=True)
class Idle:
    """No turn runs; `ended` is how the last one ended, None if it could not be begun."""

    ended: TurnEnded | None


@dataclass(frozen=True, slots=True)
class Asked:
    """The agent waits for a person's word about a call."""

    call: CallPart
    plan: Plan
    why: str


@dataclass(frozen=True, slots=True)
class AskedNoMore:
    """The question was answered, or the turn that asked it was stopped."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Prompt `text` was not accepted: it goes back to whoever wrote it."""

    text: str
    message: str


@dataclass(frozen=True, slots=True)
class GivenBack:
    """Words that were to be sent and will not be, or not as they are: for the person to go on with."""

    text: str


@dataclass(frozen=True, slots=True)
class Taken:
    """What a person gave, a prompt or a command, has begun, waits or was refused; one for each."""


@dataclass(frozen=True, slots=True)
class Window:
    """The model reads `tokens` at most; 0 is not known."""

    model: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something did not work; `message` says what, and what to do."""

    message: str


@dataclass(frozen=True, slots=True)
class GaveUp:
    """No session is open any more; nothing more will be told of the one that was."""


@dataclass(frozen=True, slots=True)
class InUse:
    """Another process holds the session that was to be opened: the `holder`, "" if that is not known."""

    session: Summary
    holder: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The session was given up and every process of its tools has ended: the last message."""


Told = (
    Event
    | Opened
    | Busy
    | Idle
    | Asked
    | AskedNoMore
    | Refused
    | GivenBack
    | Taken
    | Window
    | Trouble
    | InUse
    | GaveUp
    | Closed
)
"""What the agent's side tells the screen."""
