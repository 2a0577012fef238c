"""Taking up a turn that a crash interrupted while a person was asked about a call. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.session.conversation import Conversation
from holdfast.session.entries import CallEnded, Entry


def can_be_taken_up(conversation: Conversation) -> bool:
    """Return whether nothing but a person was waited for: a call was asked about, and nobody has answered."""
    waits = any(call.asked and not call.answered and not call.started for call in conversation.open_calls)
    return conversation.open_turn is not None and waits


def started_only(settled: Iterable[Entry], conversation: Conversation) -> tuple[Entry, ...]:
    """Return of what settles the whole turn only the outcomes of calls that had started: the others go on."""
    started = {call.part.id for call in conversation.open_calls if call.started is not None}
    return tuple(entry for entry in settled if isinstance(entry, CallEnded) and entry.call in started)
