"""A driver of a fleet's session over a record, a place and a model in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from memory_record import MemoryRecord

from holdfast.agent.agent import Agent
from holdfast.agent.events import Event
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.errors import StateError
from holdfast.fleet.held_session import HeldSession
from holdfast.fleet.places.place import SessionPlace
from holdfast.fleet.worker.session_driver import DriveEnd, DriveRules, SessionDriver
from holdfast.host.hosted_session import RULES_OF, HostedSession
from holdfast.host.session_host import SessionHost
from holdfast.providers.model import Model
from holdfast.session.journal import entries as e
from holdfast.testing.scripted_model import ScriptedModel, Step
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tool_calls import Mode
from holdfast.tools.tool import ToolContext, ToolOutput
from host_harness import FakeServers


class Place:
    """A place in memory, whose files have an `identity` and can be saved, or not."""

    wrap: tuple[str, ...] = ()

    def __init__(self, fault: str = "", identity: str = "i-1") -> None:
        self.cwd = Path("/")
        self.identity = identity
        self.fault = fault
        self.saved: list[int] = []

    def values(self) -> dict[str, object]:
        return {"kind": "folder", "cwd": "/", "identity": self.identity}

    def save(self, turn: int) -> dict[str, object]:
        if self.fault:
            raise StateError(self.fault)
        self.saved.append(turn)
        return {**self.values(), "turn": turn}

    def close(self, *, remove: bool) -> None:
        del remove


class Driving:
    """One session of a record, driven once or again by `run`."""

    def __init__(self, *script: Step, place: Place | None = None, record: MemoryRecord | None = None) -> None:
        self.record = record or MemoryRecord()
        self.place = place or Place()
        self.model = ScriptedModel(script)
        self.effects: list[str] = []
        self.rules = DriveRules(park_after=0.0)
        self.driver: SessionDriver | None = None
        self.notes: list[str] = []
        self.mode: Mode = "ask"

    def open(self, session: str, values: Mapping[str, object]) -> SessionPlace:
        assert (session, dict(values)) == (self.record.session, self.record.place)
        return self.place

    def make(self, held_session: HeldSession, place: SessionPlace) -> SessionHost:
        del place

        async def act(values: dict[str, object], context: ToolContext) -> ToolOutput:
            del context
            self.effects.append(str(values.get("name")))
            return ToolOutput(text="done")

        async def connect(name: str) -> Model:
            del name
            return self.model

        toolbox = FunctionToolbox([FunctionTool("work", "write", act)])
        if not held_session.store.length:
            opened = e.SessionOpened(
                session=held_session.id,
                cwd="/",
                model=self.model.name,
                system="SYSTEM",
                tools=tuple(tool.schema for tool in toolbox.tool_list),
                version="0",
            )
            held_session.store.append([opened], expected=0)

        def new_agent(emit: Callable[[Event], None], ask: ApprovalPrompt | None) -> Agent:
            return Agent(
                store=held_session.store,
                toolbox=toolbox,
                connect=connect,
                mode=self.mode,
                emit=emit,
                ends_with_listener=True,
                ask=ask,
            )

        hosted = HostedSession(
            id=held_session.id, cwd=Path("/"), toolbox=FakeServers(), reading=held_session.store.read()
        )
        return SessionHost(hosted, RULES_OF["fleet"], new_agent=new_agent)

    async def run(self, while_it_answers: Callable[[], None] | None = None, *, drained: bool = False) -> DriveEnd:
        """Drive it, and call `while_it_answers` once the model answers. If `drained`, the worker ends already."""
        self.driver = SessionDriver(
            self.record.take(), make=self.make, open_place=self.open, rules=self.rules, notify=self.notes.append
        )
        if drained:
            self.driver.drain()
        running = asyncio.ensure_future(self.driver.run())
        while while_it_answers is not None and not running.done():
            await asyncio.sleep(0.01)
            if self.model.open_streams:
                while_it_answers()
                break
        return await running

    @property
    def prompts(self) -> list[str]:
        return [entry.text for entry in self.record.journal if isinstance(entry, e.PromptAccepted)]

    @property
    def ends(self) -> list[str]:
        return [entry.cause for entry in self.record.journal if isinstance(entry, e.TurnEnded)]
