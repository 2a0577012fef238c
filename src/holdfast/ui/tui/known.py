"""What the screen knows of its session besides the blocks: folded from the same events. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from holdfast.agent.events import Event, Fact, LiveCall, LiveText, LiveThinking, Shortening
from holdfast.session.entries import (
    CallEnded,
    CallStarted,
    Compacted,
    ModelChanged,
    PromptAccepted,
    Pruned,
    Queued,
    Recalled,
    RequestFailed,
    RequestStarted,
    ResponseEnded,
    Rewound,
    Steered,
    TurnEnded,
    Uncompacted,
)
from holdfast.session.estimate import Tally
from holdfast.session.fold import Fold
from holdfast.ui.account import retrying
from holdfast.ui.tui.status import Status

STARTING = "starting"
STOPPING = "stopping"
SAID = PromptAccepted | Steered | ResponseEnded | CallEnded | TurnEnded
DECIDED = Pruned | Compacted | Uncompacted | Rewound | ModelChanged
CHANGES = SAID | DECIDED
"""Entries that change how much would be sent."""


class Known:
    """The prompts of the conversation as it is now, what waits to be sent, and what the status line tells."""

    def __init__(self, status: Status) -> None:
        self.status = status
        self.prompts: dict[int, str] = {}
        """The words of each turn that is part of the conversation, by its number."""
        self.queued: dict[str, str] = {}
        """What waits to be sent, by its id."""
        self._fold = Fold()
        self._tally = Tally()

    def load(self, facts: Iterable[Fact]) -> None:
        """Take note of what a journal holds."""
        for fact in facts:
            self._take(fact)
        self._count()

    def take(self, event: Event) -> None:
        """Take note of an event."""
        self._take(event)
        if isinstance(event, Fact) and isinstance(event.entry, CHANGES):
            if isinstance(event.entry, DECIDED):
                self._tally = Tally()
            self._count()

    def _count(self) -> None:
        """Count what would be sent now; before anything is said there is nothing to count."""
        conversation = self._fold.conversation()
        self.status = replace(self.status, context=self._tally.tokens(conversation) if conversation.messages else 0)

    def _take(self, event: Event) -> None:
        if isinstance(event, Fact):
            self._fold.add(event.entry)
        status = self.status
        match event:
            case Fact(entry=PromptAccepted(turn=turn, text=text, queued=queued)):
                self.prompts[turn] = text
                self.queued.pop(queued or "", None)
            case Fact(entry=Rewound(turn=turn)):
                self.prompts = {number: text for number, text in self.prompts.items() if number < turn}
            case Fact(entry=Queued(id=message, text=text)):
                self.queued[message] = text
            case Fact(entry=Recalled(queued=message) | Steered(queued=message)):
                self.queued.pop(message, None)
            case Fact(entry=ResponseEnded(usage=usage) | Compacted(usage=usage)):
                status = replace(status, usage=status.usage + usage)
            case Fact(entry=ModelChanged(model=model)):
                status = replace(status, model=model)
            case _:
                pass
        if status.doing and status.doing != STOPPING:
            status = replace(status, doing=_doing(event) or status.doing)
        self.status = replace(status, queued=len(self.queued)) if len(self.queued) != status.queued else status


def _doing(event: Event) -> str:
    """Return what a turn does now that `event` has come, "" if that is what it did before."""
    match event:
        case Fact(entry=RequestStarted(model=model)):
            return f"waiting for {model.partition(':')[2] or model}"
        case Shortening() | LiveThinking():
            return "summing up" if isinstance(event, Shortening) else "thinking"
        case LiveText() | LiveCall():
            return "writing"
        case Fact(entry=CallStarted()):
            return "running"
        case Fact(entry=RequestFailed() as failed) if failed.retry_in is not None:
            return retrying(failed)
        case _:
            return ""
