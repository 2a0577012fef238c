"""SIGKILL at each point around the entry of a failed MCP server: it is in the journal once or not at all.

The process stands still right after an entry is durable, before anything is emitted, or right after it was emitted.
What must hold: whatever was emitted is in the journal, the next process reports the failure exactly once, and its model
reads it.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from report import record

from agent_harness import FAST, opened
from holdfast.agent.agent import Agent
from holdfast.providers.model import Model
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import CallEnded, PromptAccepted, ServerFailed
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.testing.script import Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionToolbox
from polling import HANGS

PROGRAM = """
import asyncio, sys, time
from pathlib import Path
from holdfast.agent.agent import Agent
from holdfast.agent.events import Fact
from holdfast.config.settings import Limits
from holdfast.session.journal.entries import ServerFailed
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import ToolOutput

folder, when, where = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
servers = {"srv": "It exited."} if when == "prompt" else {}

def stand_still():
    print("standing", flush=True)
    time.sleep(600)

def has_failure(entries):
    return any(isinstance(each, ServerFailed) for each in entries)

class Still(SqliteStore):
    def append(self, entries, *, expected):
        entries = tuple(entries)
        if where == "before" and has_failure(entries):
            stand_still()
        length = super().append(entries, expected=expected)
        if where == "durable" and has_failure(entries):
            stand_still()
        return length

def emit(event):
    if where == "emitted" and isinstance(event, Fact) and isinstance(event.entry, ServerFailed):
        stand_still()

async def look(arguments, context):
    servers["srv"] = "It exited."
    return ToolOutput(text="cannot be reached", ok=False)

async def main():
    model = ScriptedModel([[Call("look", {})], [Say("ok")]])
    async def connect(name):
        return model
    store = Still.open(folder)
    toolbox = FunctionToolbox((FunctionTool("look", "read", look),), servers=servers)
    agent = Agent(
        store=store,
        toolbox=toolbox,
        connect=connect,
        mode="yolo",
        emit=emit,
        ends_with_listener=True,
        limits=Limits(),
    )
    await agent.run("go")

asyncio.run(main())
"""


def killed(folder: Path, when: str, where: str) -> None:
    """Run the program until it stands still, and kill it."""
    words = [sys.executable, "-c", PROGRAM, str(folder), when, where]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        assert line == b"standing\n", process.stderr.read().decode()


WHERE = {"before": "before its entry", "durable": "after its entry", "emitted": "after it was shown"}


@pytest.mark.parametrize("when", ["prompt", "call"])
@pytest.mark.parametrize("where", WHERE)
def test_a_kill_loses_and_repeats_no_failure(tmp_path: Path, when: str, where: str) -> None:
    folder = tmp_path / "session"
    first = SqliteStore.create(folder)
    first.append([opened()], expected=0)
    first.close()
    killed(folder, when, where)
    model = ScriptedModel([[Say("on")]])

    async def connect(name: str) -> Model:
        del name
        return model

    async def next_prompt(store: SqliteStore) -> None:
        toolbox = FunctionToolbox((), servers={"srv": "It exited."})
        agent = Agent(store=store, toolbox=toolbox, connect=connect, mode="yolo", emit=lambda _: None, limits=FAST)
        async with asyncio.timeout(HANGS):
            await agent.run("again")
        await agent.close()

    store = SqliteStore.open(folder)
    before = [stored.entry for stored in store.read().records]
    failures = [each for each in before if isinstance(each, ServerFailed)]
    wrong: list[str] = []
    if len(failures) != (0 if where == "before" else 1):
        wrong.append(f"{len(failures)} failures were in the journal after the kill")
    if when == "prompt" and any(isinstance(each, PromptAccepted) for each in before) is not bool(failures):
        wrong.append("the failure and the prompt were not in one append")
    if when == "call" and not any(isinstance(each, CallEnded) for each in before):
        wrong.append("the outcome of the call was not durable before the failure")
    asyncio.run(next_prompt(store))
    entries = [stored.entry for stored in read_copy(folder).records]
    if (count := len([each for each in entries if isinstance(each, ServerFailed)])) != 1:
        wrong.append(f"{count} failures are in the journal")
    sent = "MCP server 'srv' failed: It exited." if when == "prompt" or where == "before" else "cannot be reached"
    if sent not in str(fold(entries).messages):
        wrong.append("the model does not read of it")
    record(f"a failed MCP server, found at a {when}", f"killed {WHERE[where]}", points=1, violations=wrong)
    assert wrong == []
