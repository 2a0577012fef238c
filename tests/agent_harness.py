"""An agent over a memory store, a scripted model and function tools, with everything it told kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from holdfast.agent.agent import Agent
from holdfast.agent.events import Event, Fact
from holdfast.agent.seam import NO_SEAM, Seam
from holdfast.agent.stop_cause import StopCause
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.config.settings import Limits
from holdfast.errors import ModelUnusable
from holdfast.providers.model import Model
from holdfast.session.conversation.context_settings import ContextSettings as Sending
from holdfast.session.conversation.conversation import Result, UserMessage
from holdfast.session.journal.entries import CallEnded, Entry, SessionOpened, TurnEnded
from holdfast.session.journal.model_settings import NO_SETTINGS, ModelSettings
from holdfast.session.journal.store import MemoryStore, Store
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tool_calls import Mode, OnApproval
from holdfast.tools.tool import ToolContext, ToolOutput
from witness import Outside, Witness

FAST = Limits(backoff=0.001, stop_grace=0.1, drop_wait=0.05)

SENDING = Sending()

WITNESSES: list[Witness] = []
"""Who watches the agents of the test that runs (`conftest.py` asks them)."""


def opened(session: str = "rig") -> SessionOpened:
    return SessionOpened(session=session, cwd="/", model="openai-chat:scripted", system="SYSTEM", tools=(), version="0")


@dataclass
class Rig:
    model: ScriptedModel
    tools: Sequence[FunctionTool] = ()
    mode: Mode = "yolo"
    ask: ApprovalPrompt | None = None
    on_approval: OnApproval = "stop"
    limits: Limits = FAST
    context: Sending = SENDING
    window: Callable[[str], int] | None = None
    defaults: Callable[[str], ModelSettings] = lambda _: NO_SETTINGS
    store: Store = field(default_factory=MemoryStore)
    toolbox: FunctionToolbox | None = None
    events: list[Event] = field(default_factory=list[Event])
    outside: Outside | None = None
    emit: Callable[[Event], None] | None = None
    """Gets each event in place of `events`."""
    fallback: ScriptedModel | None = None
    seam: Seam = NO_SEAM
    ends_with_listener: bool = True
    """So that an assertion of the witness fails the test."""
    unusable: ModelUnusable | None = None
    """What connecting to the fallback raises."""

    def __post_init__(self) -> None:
        if self.store.length == 0:
            self.store.append([opened()], expected=0)
        self.agent = self.new_agent()

    def new_agent(self) -> Agent:
        """Return an agent as another process would make it from the same journal."""

        async def connect(name: str) -> Model:
            if self.fallback is None or name != self.fallback.name:
                return self.model
            if self.unusable is not None:
                raise self.unusable
            return self.fallback

        witness = Witness(self.store, self._receive, outside=self.outside)
        WITNESSES.append(witness)
        return Agent(
            store=witness,
            toolbox=self.toolbox or FunctionToolbox(self.tools),
            connect=connect,
            mode=self.mode,
            emit=witness.told,
            ends_with_listener=self.ends_with_listener,
            ask=self.ask,
            on_approval=self.on_approval,
            limits=self.limits,
            context=self.context,
            window=self.window,
            defaults=self.defaults,
            fallback=self.fallback.name if self.fallback is not None else "",
            seam=self.seam,
        )

    def _receive(self, event: Event) -> None:
        (self.emit or self.events.append)(event)

    @property
    def entries(self) -> list[Entry]:
        return [record.entry for record in self.store.read().records]

    @property
    def facts(self) -> list[Entry]:
        return [event.entry for event in self.events if isinstance(event, Fact)]

    @property
    def outcomes(self) -> dict[str, str]:
        """Return each call's outcome by the name of its tool, in the order they ended."""
        names = {
            part.id: part.name
            for message in self.agent.conversation.messages
            for part in getattr(message, "parts", ())
            if hasattr(part, "name")
        }
        return {names[entry.call]: entry.outcome for entry in self.entries if isinstance(entry, CallEnded)}

    def results(self) -> dict[str, Result]:
        """Return every result of the conversation by the name of its tool."""
        return {
            result.name: result
            for message in self.agent.conversation.messages
            if isinstance(message, UserMessage)
            for result in message.results
        }


def says(name: str, text: str = "done", *, effect: str = "read", ok: bool = True) -> FunctionTool:
    """Return a tool that answers at once."""

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        return ToolOutput(text=text, ok=ok)

    return FunctionTool(name, effect, run)  # pyright: ignore[reportArgumentType] - one of the three effects


def waits(name: str, *, effect: str = "execute", started: asyncio.Event | None = None) -> FunctionTool:
    """Return a tool that runs until it is asked to stop, and then says what it had."""

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments
        if started is not None:
            started.set()
        await context.stop.wait()
        return ToolOutput(text="half of it", interrupted=True)

    return FunctionTool(name, effect, run)  # pyright: ignore[reportArgumentType] - one of the three effects


def stubborn(name: str, text: str, *, started: asyncio.Event, release: asyncio.Event) -> FunctionTool:
    """Return a tool that swallows its cancellation, and says `text` once it is released."""

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        started.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return ToolOutput(text=text)

    return FunctionTool(name, "execute", run)


async def stopped(rig: Rig, turn: asyncio.Task[TurnEnded], cause: str) -> None:
    """Stop the turn for this cause (`external`: cancel its task), and wait for its end."""
    if cause == "external":
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
    else:
        rig.agent.stop(StopCause(cause))  # pyright: ignore[reportArgumentType] - one of the causes
        await turn
