"""A session with the real tools on a machine that may lack walls: what each command's fate was, as JSON on stdout."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec

from agent_harness import opened
from holdfast.agent.agent import Agent
from holdfast.config.project_decisions import Project
from holdfast.questions import ApprovalAnswer
from holdfast.session.journal.entries import ApprovalAsked, CallEnded, CallStarted
from holdfast.session.journal.parts import CallPart
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tool_calls import Mode, SandboxMode
from holdfast.tools.permission_rules.permission_rule import permission_rule
from holdfast.tools.permission_rules.rule_set import RuleSet
from holdfast.tools.tool import Plan
from holdfast.tools.toolbox import LocalToolbox


class Request(msgspec.Struct, kw_only=True):
    """The session to run. `answer` is what the user says to every question."""

    folder: str
    mode: Mode
    commands: list[str]
    sandbox: SandboxMode = "auto"
    allow: list[str] = []
    answer: bool = False
    contained: bool = False


class Fate(msgspec.Struct, kw_only=True):
    """What became of one command: `confined` is None if it did not start, `asked` is "" if the user was not asked."""

    outcome: str
    text: str
    confined: str | None = None
    asked: str = ""
    notice: str = ""


async def run(request: Request) -> list[Fate]:
    folder = Path(request.folder)
    toolbox = LocalToolbox(folder / "ws", folder / "own")
    toolbox.confine(request.sandbox)
    if request.contained:
        toolbox.contain()
    notices: dict[str, str] = {}

    async def ask(call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del why
        notices[call.id] = plan.sandbox_notice
        return ApprovalAnswer(allowed=request.answer)

    calls: list[Any] = [[Call("bash", {"command": each})] for each in request.commands]
    model = ScriptedModel([*calls, [Say("done")]])
    store = MemoryStore()
    store.append([opened()], expected=0)

    async def connect(name: str) -> ScriptedModel:
        del name
        return model

    agent = Agent(
        store=store,
        toolbox=toolbox,
        connect=connect,
        mode=request.mode,
        emit=lambda _: None,
        ask=ask,
        on_approval="stop",
    )
    rules = tuple(permission_rule(each, "allow", source="test", base=str(folder / "ws")) for each in request.allow)
    agent.permissions.project = Project(
        folder / "projects", folder / "ws", rules=RuleSet(rules=rules, root=str(folder / "ws"), home="/nowhere")
    )
    await agent.run("go")
    await toolbox.close()
    entries = [record.entry for record in store.read().records]
    started = {each.call: each.confined for each in entries if isinstance(each, CallStarted)}
    asked = {each.call: each.why for each in entries if isinstance(each, ApprovalAsked)}
    return [
        Fate(
            outcome=each.outcome,
            text=each.text,
            confined=started.get(each.call),
            asked=asked.get(each.call, ""),
            notice=notices.get(each.call, ""),
        )
        for each in entries
        if isinstance(each, CallEnded)
    ]


if __name__ == "__main__":
    fates = asyncio.run(run(msgspec.json.decode(sys.stdin.buffer.read(), type=Request)))
    sys.stdout.buffer.write(msgspec.json.encode(fates))
