"""The interface of an output format: it writes a run's start, events and end. Text, JSON and JSON lines implement it.

The output cannot control a terminal, not even through a pipe. A line about a call shows the command that really runs,
and hides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from holdfast.agent.events import Event
from holdfast.errors import ProviderFault
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import Entry, TurnEnded
from holdfast.session.journal.model_settings import NO_SETTINGS, ModelSettings
from holdfast.ui.headless.denied_calls import DeniedCall

if TYPE_CHECKING:
    from holdfast.agent.receipt.receipt import Receipt


class RunOpened(msgspec.Struct, frozen=True, kw_only=True):
    """The start of a run, deleted at its end unless `saved`. `last_turn` has the entries of the previous turn.

    `servers` are the MCP servers that were needed until then, each with why it failed, "" for one that works.
    """

    session: str
    model: str
    mode: str
    cwd: str
    tools: tuple[str, ...]
    resumed: bool
    saved: bool = True
    last_turn: tuple[Entry, ...] = ()
    settings: ModelSettings = NO_SETTINGS
    servers: tuple[tuple[str, str], ...] = ()


def _no_receipt() -> Receipt:
    """Return the receipt of a turn in which nothing happened; its values are loaded where one is made."""
    from holdfast.agent.receipt.receipt import Receipt

    return Receipt()


class RunEnded(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a run: its turn, with the conversation and the exit code at that time.

    `fault` is the provider's failure if that ended the turn. `denied` are the calls of the turn that were not allowed
    to run, `tasks` the background tasks that ended with the run, `calls` how many calls ran. `receipt` is what
    happened, `unmet` the conditions of the caller that are not met, each with its reason.
    """

    turn: TurnEnded
    conversation: Conversation
    exit_code: int
    fault: ProviderFault | None = None
    denied: tuple[DeniedCall, ...] = ()
    tasks: tuple[str, ...] = ()
    calls: int = 0
    receipt: Receipt = msgspec.field(default_factory=_no_receipt)
    unmet: tuple[str, ...] = ()


class OutputFormat(Protocol):
    """A format for the output of a run; only `close` may wait for a reader."""

    def begin(self, opened: RunOpened) -> None:
        """Write the start of the run."""
        ...

    def event(self, event: Event) -> None:
        """Write an event."""
        ...

    def end(self, ended: RunEnded) -> None:
        """Write the end of the run."""
        ...

    def fail(self, ended: RunEnded, message: str) -> None:
        """Write the end of a run that failed; the caller prints the message on standard error."""
        ...

    def close(self, within: float | None) -> str:
        """Wait up to `within` seconds for readers. Return why output could not be written, or ""."""
        ...
