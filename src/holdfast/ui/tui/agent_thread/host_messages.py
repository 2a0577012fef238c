"""The events of a host as messages to the screen, with the size of the conversation. On the agent's thread."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.agent.events import Fact
from holdfast.errors import HoldfastError
from holdfast.host import events as h
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.token_estimate import Tally
from holdfast.session.journal import entries as e
from holdfast.ui.advice import SCREEN, with_advice
from holdfast.ui.tui.agent_thread.messages import (
    AgentMessage,
    CurrentConversation,
    ErrorMessage,
    PromptRefused,
    SessionOpenedMessage,
)

MESSAGE_ENTRIES = (
    e.Titled | e.PromptAccepted | e.Queued | e.Recalled | e.Steered | e.ResponseEnded | e.CallEnded | e.TurnEnded
)
CONTEXT_ENTRIES = e.Pruned | e.Compacted | e.Uncompacted | e.Rewound | e.ModelChanged
"""Entries that change earlier messages: the tokens are counted again."""


class HostMessages:
    """Sends a message for each event of a host that the screen shows, and the conversation after what changes it."""

    def __init__(
        self,
        send: Callable[[AgentMessage], None],
        conversation: Callable[[], Conversation],
        *,
        failed_servers: Callable[[], dict[str, str]],
    ) -> None:
        """Create it for one host, whose `conversation` is measured.

        `failed_servers` returns why MCP servers could not be asked.
        """
        self._send = send
        self._conversation = conversation
        self._failed_servers = failed_servers
        self._tally = Tally()

    def take(self, event: h.HostEvent) -> None:
        """Send what the screen shows of an event."""
        match event:
            case Fact(entry=entry):
                self._send(event)
                if isinstance(entry, MESSAGE_ENTRIES | CONTEXT_ENTRIES):
                    if isinstance(entry, CONTEXT_ENTRIES):
                        self._tally = Tally()
                    now = self._conversation()
                    self._send(CurrentConversation(now, self._tally.tokens(now) if now.messages else 0))
            case h.Opened(conversation=conversation):
                self._send(opened_message(event.session, str(event.cwd), event.facts, conversation))
            case h.Refused(text=text) if text:
                self._send(PromptRefused(text, _reason(event)))
            case h.Refused() | h.Warned():
                self._send(ErrorMessage(_reason(event)))
            case h.ServersShown(states=states, server=server):
                self._send(h.ServersShown(states, self._failed_servers(), server))
            case h.Accepted() | h.LeaveRequested() | h.Closed():
                pass  # the screen reads its own slash commands itself, and hears that the thread has ended
            case _:
                self._send(event)


def _reason(event: h.Refused | h.Warned) -> str:
    """Return what went wrong, and what to do here."""
    fault = None if event.fault == "bug" else event.fault
    return with_advice(HoldfastError(event.message, fault=fault), SCREEN)


def opened_message(
    session: str, cwd: str, facts: tuple[Fact, ...], conversation: Conversation, *, read_only: bool = False
) -> SessionOpenedMessage:
    """Return the message that a session was opened, with its journal and the conversation that it folds to."""
    now = CurrentConversation(conversation, Tally().tokens(conversation) if conversation.messages else 0)
    return SessionOpenedMessage(session=session, cwd=cwd, now=now, facts=facts, read_only=read_only)
