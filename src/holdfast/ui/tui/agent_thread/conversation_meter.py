"""What the screen needs of the conversation, taken and measured on the agent's thread, which has folded it anyway."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.agent.events import Event, Fact
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.token_estimate import Tally
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import Reading
from holdfast.ui.tui.agent_thread.messages import AgentMessage, CurrentConversation, SessionOpenedMessage

SAID = e.Titled | e.PromptAccepted | e.Queued | e.Recalled | e.Steered | e.ResponseEnded | e.CallEnded | e.TurnEnded
DECIDED = e.Pruned | e.Compacted | e.Uncompacted | e.Rewound | e.ModelChanged
"""Entries that change what was said before: the tokens are counted again."""


def session_opened(
    session: str, cwd: str, reading: Reading, *, conversation: Conversation, read: bool = False
) -> SessionOpenedMessage:
    """Return the message that a session was opened, with its journal and the conversation that it folds to."""
    facts = tuple(Fact(record.seq, record.entry) for record in reading.records)
    return SessionOpenedMessage(session=session, cwd=cwd, now=_measured(conversation, Tally()), facts=facts, read=read)


def metered(send: Callable[[AgentMessage], None], conversation: Callable[[], Conversation]) -> Callable[[Event], None]:
    """Return an `emit` that sends each event, and the `conversation` after a fact that changes it."""
    tally = Tally()

    def emit(event: Event) -> None:
        nonlocal tally
        send(event)
        if isinstance(event, Fact) and isinstance(event.entry, SAID | DECIDED):
            if isinstance(event.entry, DECIDED):
                tally = Tally()
            send(_measured(conversation(), tally))

    return emit


def _measured(conversation: Conversation, tally: Tally) -> CurrentConversation:
    """Return the conversation with its approximate size; one without messages has none."""
    return CurrentConversation(conversation, tally.tokens(conversation) if conversation.messages else 0)
