"""A session with real tools in a real folder, a scripted model, and hooks that really run."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from agent_harness import opened
from holdfast.agent.agent import Agent
from holdfast.agent.events import Event
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.hooks.configured_hooks import ConfiguredHooks
from holdfast.hooks.definition import Hook, new_hook
from holdfast.providers.model import Model
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import MemoryStore, Store
from holdfast.testing.script import Call, Reply, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tool_calls import Mode
from holdfast.tools.toolbox import LocalToolbox

PYTHON = sys.executable


def hook(
    event: str, command: str, matcher: str = "", *, timeout: float | None = None, background: bool = False
) -> Hook:
    """Return a hook of the user."""
    return new_hook(event, command, source="config.toml", matcher=matcher, timeout=timeout, is_async=background)


def python(code: str) -> str:
    """Return a command that runs this code, in which `told` is what the hook reads."""
    quoted = f"import json, os, sys\ntold = json.load(sys.stdin)\n{code}".replace("'", "'\\''")
    return f"{PYTHON} -c '{quoted}'"


class HookRig:
    """A session in `home/w` with these hooks, whose files are kept in `home/home/s`."""

    def __init__(
        self,
        home: Path,
        *hooks: Hook,
        store: Store | None = None,
        mode: Mode = "yolo",
        ask: ApprovalPrompt | None = None,
    ) -> None:
        self.folder = home / "w"
        self.session = home / "home" / "s"
        self.folder.mkdir(exist_ok=True)
        self.session.mkdir(exist_ok=True, parents=True)
        self.store = store or MemoryStore()
        if self.store.length == 0:
            # A supervisor ends what carries the name of its session: no test may have the name of the one before.
            name = f"hooked-{uuid4().hex[:8]}" if store is None else "hooked"
            self.store.append([opened(name)], expected=0)
        self.model = ScriptedModel()
        self.events: list[Event] = []
        toolbox = LocalToolbox(self.folder, self.session)
        reading = self.store.read()
        self.hooks = ConfiguredHooks(
            hooks, toolbox, session="hooked", agent=lambda: self.agent, asks_user=ask is not None
        )

        async def connect(name: str) -> Model:
            del name
            return self.model

        self.agent = Agent(
            store=self.store,
            toolbox=toolbox,
            connect=connect,
            mode=mode,
            emit=self.hooks.bound(self.events.append),
            ask=ask,
            on_approval="deny",
            seam=self.hooks.seam(),
            reading=reading,
        )

    async def turn(self, *replies: Reply, prompt: str = "go on") -> e.TurnEnded:
        """Run a turn in which the model gives these replies, then says that it is done."""
        self.model.extend(*replies, (Say("Done."),))
        return await self.agent.run(prompt)

    async def bash(self, *lines: str) -> e.TurnEnded:
        """Run a turn with these commands in one reply."""
        return await self.turn(tuple(Call("bash", {"command": line}) for line in lines))

    @property
    def entries(self) -> list[e.Entry]:
        """Return the journal."""
        return [record.entry for record in self.store.read().records]

    @property
    def kinds(self) -> list[str]:
        """Return the kinds of the entries, without those about processes, requests and the session."""
        uninteresting = ("process-started", "session-opened", "request-started", "response-ended")
        return [kind for kind in map(e.kind, self.entries) if kind not in uninteresting]

    @property
    def ended(self) -> Sequence[e.HookEnded]:
        """Return how hooks ended."""
        return [each for each in self.entries if isinstance(each, e.HookEnded)]

    @property
    def outcomes(self) -> list[str]:
        """Return the outcomes of the calls."""
        return [each.outcome for each in self.entries if isinstance(each, e.CallEnded)]


@asynccontextmanager
async def hook_rig(
    home: Path, *hooks: Hook, store: Store | None = None, mode: Mode = "yolo", ask: ApprovalPrompt | None = None
) -> AsyncGenerator[HookRig]:
    """Give a session, and close it."""
    rig = HookRig(home, *hooks, store=store, mode=mode, ask=ask)
    try:
        yield rig
    finally:
        await rig.agent.close()
