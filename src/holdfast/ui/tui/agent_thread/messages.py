"""Messages from the agent's thread to the screen: the agent's events, and messages about the session."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.agent.events import Event, Fact
from holdfast.session.catalog import SessionSummary
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import TurnEnded
from holdfast.session.journal.parts import CallPart
from holdfast.tools.tool import Plan


@dataclass(frozen=True, slots=True)
class CurrentConversation:
    """The conversation as of the facts sent so far; `tokens` is about how much would be sent now."""

    conversation: Conversation
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOpenedMessage:
    """A session was opened; `facts` are its journal, `now` is what they fold to.

    A `read` one is read-only and accepts no prompts.
    """

    session: str
    cwd: str
    now: CurrentConversation
    facts: tuple[Fact, ...]
    read: bool = False


@dataclass(frozen=True, slots=True)
class Busy:
    """A turn is running."""


@dataclass(frozen=True, slots=True)
class Idle:
    """No turn is running; `ended` is the end of the last one, None if it could not start."""

    ended: TurnEnded | None


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """The agent waits for the user's approval of a call."""

    call: CallPart
    plan: Plan
    why: str


@dataclass(frozen=True, slots=True)
class ApprovalClosed:
    """The approval prompt was answered, or its turn was stopped."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The prompt `text` was not accepted and returns to the composer."""

    text: str
    message: str


@dataclass(frozen=True, slots=True)
class InputReturned:
    """Queued text that will not be sent, or not unchanged: it returns to the composer."""

    text: str


@dataclass(frozen=True, slots=True)
class InputAccepted:
    """One submitted prompt or command has started, was queued, or was refused."""


@dataclass(frozen=True, slots=True)
class Window:
    """The model's context window in `tokens`; 0 if unknown."""

    model: str
    tokens: int


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """Something failed; `message` says what, why, and what to do."""

    message: str


@dataclass(frozen=True, slots=True)
class SessionClosed:
    """The session was closed; no more messages about it follow."""


@dataclass(frozen=True, slots=True)
class InUse:
    """Another process holds the session to open; `holder` describes it, "" if unknown."""

    session: SessionSummary
    holder: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The session is closed and every tool process has ended: the last message."""


AgentMessage = (
    Event
    | CurrentConversation
    | SessionOpenedMessage
    | Busy
    | Idle
    | ApprovalRequested
    | ApprovalClosed
    | Refused
    | InputReturned
    | InputAccepted
    | Window
    | ErrorMessage
    | InUse
    | SessionClosed
    | Closed
)
"""Every message from the agent's thread to the screen."""
