"""How a turn of a run ended, from its events: its exit code, the provider's fault, and the calls that were denied."""

from __future__ import annotations

from holdfast.agent.events import Event, Fact, TurnFailed
from holdfast.errors import (
    EXIT_APPROVAL,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_MAX_COST,
    EXIT_OK,
    EXIT_RETRYABLE,
    RETRYABLE,
    ProviderFault,
)
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import TurnEnded
from holdfast.ui.headless.denied_calls import DeniedCalls
from holdfast.ui.headless.output_format import RunEnded


class TurnWatch:
    """Watches the events of a run for what the conversation does not say of a turn's end."""

    def __init__(self) -> None:
        self._denied = DeniedCalls()
        self._fault: ProviderFault | None = None

    def see(self, event: Event) -> None:
        """Note what the event says of the turn."""
        match event:
            case TurnFailed(fault=fault):
                self._fault = fault
            case Fact(entry=entry):
                self._denied.add(entry)
            case _:
                pass

    def ended(self, turn: TurnEnded, conversation: Conversation) -> RunEnded:
        """Return how the turn ended, with the conversation at that time."""
        fault = self._fault if turn.cause == "provider" else None
        return RunEnded(
            turn=turn,
            conversation=conversation,
            exit_code=exit_code(turn, fault),
            fault=fault,
            denied=self._denied.found,
        )


def exit_code(turn: TurnEnded, fault: ProviderFault | None) -> int:
    """Return the exit code for how a turn ended; `fault` is that of the provider, if it ended the turn."""
    match turn.cause:
        case "finished":
            return EXIT_OK
        case "approval":
            return EXIT_APPROVAL
        case "max_cost":
            return EXIT_MAX_COST
        case "user" | "signal" | "output" | "external":
            return EXIT_INTERRUPTED
        case "provider" if fault in RETRYABLE:
            return EXIT_RETRYABLE
        case _:
            return EXIT_FAILED
