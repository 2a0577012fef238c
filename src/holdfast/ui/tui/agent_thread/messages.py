"""Messages from the agent's thread to the screen: the agent's events, and messages about the session."""

from __future__ import annotations

import msgspec

from holdfast.agent.events import Event, Fact
from holdfast.host.events import (
    AskClosed,
    Asked,
    Busy,
    Closed,
    Idle,
    InUse,
    Lines,
    Returned,
    ServersShown,
    TaskOutput,
    Window,
)
from holdfast.session.conversation.conversation import Conversation


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


class PromptRefused(msgspec.Struct, frozen=True):
    """The prompt `text` was not accepted and returns to the composer."""

    text: str
    message: str


class InputAccepted(msgspec.Struct, frozen=True):
    """One submitted prompt or command has started, was queued, or was refused."""


class ErrorMessage(msgspec.Struct, frozen=True):
    """Something failed; `message` says what, why, and what to do."""

    message: str


class SessionClosed(msgspec.Struct, frozen=True):
    """The session was closed; no more messages about it follow."""


AgentMessage = (
    Event
    | CurrentConversation
    | SessionOpenedMessage
    | Busy
    | Idle
    | Asked
    | AskClosed
    | PromptRefused
    | Returned
    | Lines
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
