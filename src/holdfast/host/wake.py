"""Begins a turn for a background task that has ended by itself, if nothing runs (`wake` in the config)."""

from __future__ import annotations

from holdfast.agent.seam import NextPrompt
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import Entry
from holdfast.session.journal.tasks import TaskEnded

WAKE_PROMPT = "[holdfast: a background task has ended. The user has not typed anything.]"
"""The prompt of a turn that an ended task began; the note about the task precedes it."""


class Wake:
    """An `after_turn` step. A turn that runs reads of the end with its next request: then there is nothing to begin."""

    def __init__(self) -> None:
        self.due = False

    def hear(self, entry: Entry) -> bool:
        """Note a task that has ended by itself."""
        has_ended = isinstance(entry, TaskEnded) and entry.outcome != "interrupted"
        self.due = self.due or has_ended
        return has_ended

    def next_prompt(self, conversation: Conversation) -> NextPrompt | None:
        """Return the prompt if the model has not read of an end yet."""
        self.due = False
        return NextPrompt(WAKE_PROMPT, "wake") if conversation.unreported_tasks else None
