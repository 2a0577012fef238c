"""The end of a turn, from its events: the exit code, the provider's fault, the calls that ran, and the denied ones."""

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
from holdfast.session.journal.causes import OF_THE_PROVIDER
from holdfast.session.journal.entries import CallStarted, Entry, PromptAccepted, RequestStarted, TurnEnded
from holdfast.ui.headless.denied_calls import DeniedCalls
from holdfast.ui.headless.output_format import RunEnded


class TurnWatch:
    """Collects what the conversation does not have of a turn's end: the fault, and calls that ran or were denied."""

    def __init__(self, tests: tuple[str, ...] = ()) -> None:
        """Create it; `tests` are commands that the user calls test runs."""
        self._tests = tests
        self._denied = DeniedCalls()
        self._fault: ProviderFault | None = None
        self._calls = 0
        self._entries: list[Entry] = []

    def see(self, event: Event) -> None:
        """Read an event of the run."""
        match event:
            case TurnFailed(fault=fault):
                self._fault = fault
            case Fact(entry=entry):
                self._denied.add(entry)
                if isinstance(entry, PromptAccepted):  # of earlier turns, only how the last request began is compared
                    self._entries[:] = [each for each in self._entries if isinstance(each, RequestStarted)][-1:]
                self._entries.append(entry)
                self._calls += isinstance(entry, CallStarted)
            case _:
                pass

    def ended(self, turn: TurnEnded, conversation: Conversation) -> RunEnded:
        """Return the end of the run, with the conversation at that time."""
        from holdfast.agent.receipt.folded_receipt import receipt  # it loads what reads commands

        fault = self._fault if turn.cause in OF_THE_PROVIDER else None
        root = conversation.opened.cwd if conversation.opened is not None else ""
        return RunEnded(
            turn=turn,
            conversation=conversation,
            exit_code=exit_code(turn, fault),
            fault=fault,
            denied=self._denied.found,
            calls=self._calls,
            receipt=receipt(self._entries, turn=turn.turn, root=root, tests=self._tests),
        )


def exit_code(turn: TurnEnded, fault: ProviderFault | None) -> int:
    """Return the exit code for a turn's end. `fault` is the provider's failure if that ended the turn."""
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
