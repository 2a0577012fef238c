"""Background tasks whose agent, or agent and supervisor, were killed: nothing is left, and the end is reported once."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from agent_harness import FAST, opened
from holdfast.agent.agent import Agent
from holdfast.providers.model import Model
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.tasks import TaskEnded, TaskStarted
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tools.process.process_table import running_process
from holdfast.tools.toolbox import LocalToolbox
from polling import HANGS, eventually, expect_within
from process_leaks import alive, linux_only

pytestmark = linux_only

PROGRAM = """
import asyncio, sys
from pathlib import Path
from holdfast.agent.agent import Agent
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tools.toolbox import LocalToolbox

async def main(folder):
    command = {"command": sys.argv[2], "background": True}
    model = ScriptedModel([[Call("bash", command)], [Say("it runs")]])

    async def connect(name):
        return model

    store = SqliteStore.open(folder / "s")
    toolbox = LocalToolbox(folder, folder / "s")
    agent = Agent(store=store, toolbox=toolbox, connect=connect, mode="yolo", emit=lambda _: None)
    await agent.run("begin")
    print("begun", flush=True)
    await asyncio.sleep(600)

asyncio.run(main(Path(sys.argv[1])))
"""
SPREADS = "echo ready; sleep 300 & setsid sleep 300 & wait"


async def resumed(store: SqliteStore, folder: Path) -> None:
    """Give the session another prompt, as the next process does."""
    model = ScriptedModel([[Call("task", {"id": "t6"})], [Say("I see")]])

    async def connect(name: str) -> Model:
        del name
        return model

    toolbox = LocalToolbox(folder, folder / "s")
    agent = Agent(store=store, toolbox=toolbox, connect=connect, mode="yolo", emit=lambda _: None, limits=FAST)
    assert (await agent.run("go on")).cause == "finished"
    await toolbox.close()


@pytest.mark.parametrize("killed", ["agent", "agent and supervisor", "agent, after the command ended"])
def test_a_second_later_nothing_is_left_and_the_end_is_reported_once(tmp_path: Path, killed: str) -> None:
    store = SqliteStore.create(tmp_path / "s")
    store.append([opened(f"rig-{uuid.uuid4().hex}")], expected=0)
    store.close()
    command = "until [ -e go ]; do sleep 0.02; done; echo over" if "ended" in killed else SPREADS
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path), command], stdout=subprocess.PIPE, text=True
    ) as agent:
        assert agent.stdout is not None
        assert agent.stdout.readline() == "begun\n"
        (outputs,) = (tmp_path / "s" / "outputs").iterdir()
        call = outputs.stem
        eventually(lambda: alive(call))
        victims = [agent.pid]
        if "supervisor" in killed:
            shell = running_process(alive(call)[0])
            assert shell is not None
            victims.append(shell.parent)
        if "ended" in killed:
            os.kill(agent.pid, signal.SIGSTOP)  # it hears nothing of the end
            (tmp_path / "go").touch()
            eventually(lambda: list((tmp_path / "s" / "spool").glob("*.end")))
        since = time.monotonic()
        for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped, none ends by itself because another was killed
            for pid in victims:
                os.kill(pid, number)
        agent.wait(HANGS)
        eventually(lambda: alive(call) == [])
        expect_within(1.5, since)
    store = SqliteStore.open(tmp_path / "s")
    asyncio.run(resumed(store, tmp_path))
    entries = [record.entry for record in store.read().records]
    (started,) = [entry for entry in entries if isinstance(entry, TaskStarted)]
    (ended,) = [entry for entry in entries if isinstance(entry, TaskEnded)]
    assert started.id == ended.id == "t6"
    assert ended.outcome == ("ok" if "ended" in killed else "interrupted")
    assert ("found afterwards" if "ended" in killed else "ready") in ended.text
    texts = [text for each in fold(entries).messages if isinstance(each, UserMessage) for text in each.texts]
    assert [text for text in texts if "background task t6 has ended" in text] == [ended.note]
    assert list((tmp_path / "s" / "spool").iterdir()) == []
    assert outputs.read_text().startswith("over" if "ended" in killed else "ready"), "what was kept is still there"
    store.close()
