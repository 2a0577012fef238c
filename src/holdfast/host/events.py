"""What a session's host tells its clients: the agent's events, and those about the session and its commands.

A client first gets `Opened`; after `Closed` comes nothing. Fields marked local are for clients in this process: a codec
leaves them out, and a client must work without them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from holdfast.agent.events import Event, Fact
from holdfast.errors import Fault
from holdfast.questions import Question
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import TurnEnded
from holdfast.session.journal.model_settings import ModelSettings
from holdfast.tool_calls import Mode
from holdfast.tools.tool import Plan

if TYPE_CHECKING:
    from holdfast.session.catalog import SessionSummary
    from holdfast.tools.mcp.server_state import ServerState


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """The session as it is when the client begins to listen; `facts` is its journal until then.

    `resumed` is whether it had turns before this process opened it. `conversation` is local.
    """

    session: str
    cwd: Path
    model: str
    mode: Mode
    settings: ModelSettings
    tools: tuple[str, ...]
    resumed: bool
    facts: tuple[Fact, ...]
    conversation: Conversation


class Busy(msgspec.Struct, frozen=True):
    """Something runs that `Stop` ends: a turn, a compaction, a command of the user. It precedes its first event."""


class Idle(msgspec.Struct, frozen=True):
    """Nothing runs any more. `ended` is how the last turn ended, None if none did."""

    ended: TurnEnded | None = None


class Asked(msgspec.Struct, frozen=True):
    """The user is asked; `plan` is local."""

    question: Question
    plan: Plan


class AskClosed(msgspec.Struct, frozen=True):
    """The question of this id is not open any more, answered or not."""

    question: str


class Accepted(msgspec.Struct, frozen=True):
    """A submitted command has its effect. `message` is the id of the queued message, "" if there is none."""

    submission: int
    message: str = ""


class Refused(msgspec.Struct, frozen=True):
    """A submitted command had no effect. `text` is what was typed for it, which returns to the user."""

    submission: int
    message: str
    fault: Fault | Literal["bug"] | None = None
    text: str = ""


class Returned(msgspec.Struct, frozen=True):
    """Text that was queued or sent, and now returns to the user."""

    text: str


class Lines(msgspec.Struct, frozen=True):
    """The answer to a slash command."""

    submission: int
    lines: tuple[str, ...]


class LeaveRequested(msgspec.Struct, frozen=True):
    """The user wants to leave this session; with `renew`, for a new one."""

    renew: bool = False


class Warned(msgspec.Struct, frozen=True):
    """A command failed after its effect, or something failed for which no command waits."""

    message: str
    fault: Fault | Literal["bug"] | None = None


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


class InUse(msgspec.Struct, frozen=True):
    """Another process holds the session to open; `holder` describes it, "" if unknown.

    `model` is the one to switch to when it is opened, "" to keep its own.
    """

    session: SessionSummary
    holder: str
    model: str = ""


class Closed(msgspec.Struct, frozen=True):
    """The session is closed and every tool process has ended: the last event."""


HostEvent = (
    Event
    | Opened
    | Busy
    | Idle
    | Asked
    | AskClosed
    | Accepted
    | Refused
    | Returned
    | Lines
    | LeaveRequested
    | Warned
    | TaskOutput
    | ServersShown
    | Closed
)
"""Every event of a host."""
