"""A host over an agent with a scripted model and function tools, with everything that its clients heard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_harness import Rig, opened
from holdfast.agent.agent import Agent
from holdfast.agent.events import Event, Fact
from holdfast.agent.seam import AfterTurn, ExpandPrompt
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.errors import ToolFailed
from holdfast.host.events import HostEvent, Opened
from holdfast.host.hosted_session import RULES_OF, HostedSession, HostRules
from holdfast.host.session_host import SessionHost
from holdfast.host.wake import Wake
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Entry
from holdfast.session.journal.store import MemoryStore, Store
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool
from holdfast.tool_calls import Mode
from holdfast.tools.mcp.server_state import ServerState


@dataclass
class FakeServers:
    """The servers of a session: one prompt, `/mcp__fake__TEXT`, that is TEXT once `answer` is set."""

    answer: asyncio.Event = field(default_factory=asyncio.Event)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0
    fault: Exception | None = None

    async def expand_prompt(self, typed: str) -> str:
        """Return the text of the prompt, or what was typed."""
        if self.fault is not None:
            raise self.fault
        if not typed.startswith("/mcp__fake__"):
            return typed
        stop = asyncio.ensure_future(self.stop.wait())
        answer = asyncio.ensure_future(self.answer.wait())
        self.waiting += 1
        await asyncio.wait({stop, answer}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        answer.cancel()
        if not self.answer.is_set():
            raise ToolFailed("The server was not waited for.")
        return typed.removeprefix("/mcp__fake__")

    def stop_waiting(self) -> None:
        """End every wait that has begun."""
        self.stop.set()
        self.stop = asyncio.Event()

    async def restart_server(self, server: str) -> None:
        """Raise: there is none."""
        raise ToolFailed(f"Server {server!r} does not exist.")

    async def server_states(self) -> tuple[ServerState, ...]:
        """Return that there is none."""
        return ()


class Client:
    """A client of a host: what it heard."""

    def __init__(self) -> None:
        self.events: list[HostEvent] = []

    def of(self, *kinds: type) -> list[HostEvent]:
        """Return the events of these kinds."""
        return [each for each in self.events if isinstance(each, kinds)]

    @property
    def journal(self) -> list[tuple[int, Entry]]:
        """Return the facts it knows: those of the first event, and those that followed."""
        opened = self.events[0]
        assert isinstance(opened, Opened)
        facts = (*opened.facts, *(each for each in self.events if isinstance(each, Fact)))
        return [(each.seq, each.entry) for each in facts]


@dataclass
class HostRig:
    """A host with one client that listens from the start."""

    model: ScriptedModel
    tools: Sequence[FunctionTool] = ()
    mode: Mode = "yolo"
    rules: HostRules = RULES_OF["screen"]
    store: Store = field(default_factory=MemoryStore)
    wake: bool = False
    after_turn: tuple[AfterTurn, ...] = ()
    expand_prompt: tuple[ExpandPrompt, ...] = ()
    servers: FakeServers = field(default_factory=FakeServers)
    client: Client = field(default_factory=Client)

    def __post_init__(self) -> None:
        def new_agent(emit: Callable[[Event], None], ask: ApprovalPrompt | None) -> Agent:
            return Rig(self.model, self.tools, self.mode, ask, store=self.store, emit=emit).agent

        if self.store.length == 0:
            self.store.append([opened()], expected=0)
        hosted = HostedSession(id="rig", cwd=Path("/"), toolbox=self.servers, reading=self.store.read())
        after_turn = (*self.after_turn, *((Wake(),) if self.wake and self.rules.wake else ()))
        self.host = SessionHost(
            hosted, self.rules, new_agent=new_agent, after_turn=after_turn, expand_prompt=self.expand_prompt
        )
        self.host.listen(self.client.events.append)

    @property
    def entries(self) -> list[Entry]:
        """Return the journal."""
        return [record.entry for record in self.store.read().records]

    def expect_settled(self) -> None:
        """Assert that nothing is open in the journal."""
        conversation = fold(self.entries)
        assert conversation.open_turn is None
        assert conversation.open_calls == ()
        assert conversation.open_shells == ()
