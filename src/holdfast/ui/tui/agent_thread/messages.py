"""Messages from the agent's thread to the screen: the agent's events, and messages about the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from holdfast.agent.events import Event, Fact
from holdfast.questions import Question
from holdfast.session.catalog import SessionSummary
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import TurnEnded
from holdfast.tools.tool import Plan

if TYPE_CHECKING:
    from holdfast.tools.mcp.server_state import ServerState


class CurrentConversation(msgspec.Struct, frozen=True):
    """The conversation as of the facts sent so far; `tokens` is its approximate size."""

    conversation: Conversation
    tokens: int


class SessionOpenedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A session was opened; `facts` are its journal, `now` is the conversation folded from them.

    A `read_only` session accepts no prompts.
    """

    session: str
    cwd: str
    now: CurrentConversation
    facts: tuple[Fact, ...]
    read_only: bool = False


class Busy(msgspec.Struct, frozen=True):
    """A turn is running."""


class Idle(msgspec.Struct, frozen=True):
    """No turn is running; `ended` is the end of the last one, None if it could not start."""

    ended: TurnEnded | None


class ApprovalRequested(msgspec.Struct, frozen=True):
    """The agent waits for the user's answer. `plan` is what the question is about, with the old bytes of files."""

    question: Question
    plan: Plan


class ApprovalClosed(msgspec.Struct, frozen=True):
    """The approval prompt was answered, or its turn was stopped."""


class Refused(msgspec.Struct, frozen=True):
    """The prompt `text` was not accepted and returns to the composer."""

    text: str
    message: str


class InputReturned(msgspec.Struct, frozen=True):
    """Queued text that will not be sent as it is; it returns to the composer."""

    text: str


class InputAccepted(msgspec.Struct, frozen=True):
    """One submitted prompt or command has started, was queued, or was refused."""


class Window(msgspec.Struct, frozen=True):
    """The model's context window in `tokens`; 0 if unknown."""

    model: str
    tokens: int


class TaskOutput(msgspec.Struct, frozen=True):
    """The last output of a background task, "" if it is not known here; the answer to a request of the user."""

    task: str
    text: str


class ServersShown(msgspec.Struct, frozen=True):
    """The states of the session's MCP servers, and earlier `failures`; the answer to a request of the user.

    `server` is the one to show alone, "" for all.
    """

    states: tuple[ServerState, ...]
    failures: dict[str, str]
    server: str = ""


class ErrorMessage(msgspec.Struct, frozen=True):
    """Something failed; `message` says what, why, and what to do."""

    message: str


class SessionClosed(msgspec.Struct, frozen=True):
    """The session was closed; no more messages about it follow."""


class InUse(msgspec.Struct, frozen=True):
    """Another process holds the session to open; `holder` describes it, "" if unknown.

    `model` is the one to switch to when it is opened, "" to keep its own.
    """

    session: SessionSummary
    holder: str
    model: str = ""


class Closed(msgspec.Struct, frozen=True):
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
    | TaskOutput
    | ServersShown
    | ErrorMessage
    | InUse
    | SessionClosed
    | Closed
)
"""Every message from the agent's thread to the screen."""
