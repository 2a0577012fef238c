"""The conversation and its size, as messages to the screen; measured on the agent's thread, which has folded it."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.agent.events import Event, Fact
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.token_estimate import Tally
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import Reading
from holdfast.ui.tui.agent_thread.messages import AgentMessage, CurrentConversation, SessionOpenedMessage

MESSAGE_ENTRIES = (
    e.Titled | e.PromptAccepted | e.Queued | e.Recalled | e.Steered | e.ResponseEnded | e.CallEnded | e.TurnEnded
)
CONTEXT_ENTRIES = e.Pruned | e.Compacted | e.Uncompacted | e.Rewound | e.ModelChanged
"""Entries that change earlier messages: the tokens are counted again."""


def session_opened(
    session: str, cwd: str, reading: Reading, *, conversation: Conversation, read_only: bool = False
) -> SessionOpenedMessage:
    """Return the message that a session was opened, with its journal and the conversation that it folds to."""
    facts = tuple(Fact(record.seq, record.entry) for record in reading.records)
    return SessionOpenedMessage(
        session=session, cwd=cwd, now=_measured(conversation, Tally()), facts=facts, read_only=read_only
    )


def with_conversation(
    send: Callable[[AgentMessage], None], conversation: Callable[[], Conversation]
) -> Callable[[Event], None]:
    """Return an `emit` that sends each event, and the `conversation` after a fact that changes it."""
    tally = Tally()

    def emit(event: Event) -> None:
        nonlocal tally
        send(event)
        if isinstance(event, Fact) and isinstance(event.entry, MESSAGE_ENTRIES | CONTEXT_ENTRIES):
            if isinstance(event.entry, CONTEXT_ENTRIES):
                tally = Tally()
            send(_measured(conversation(), tally))

    return emit


def _measured(conversation: Conversation, tally: Tally) -> CurrentConversation:
    """Return the conversation with its approximate size; 0 tokens without messages."""
    return CurrentConversation(conversation, tally.tokens(conversation) if conversation.messages else 0)
