"""Agent, supervisor or both killed right after each entry of a session with a background task: nothing lives on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import IO

import pytest

from agent_harness import FAST, opened
from holdfast.agent.agent import Agent
from holdfast.providers.model import Model
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import CallEnded, CallStarted, Entry, PromptAccepted, Rewound
from holdfast.session.journal.tasks import TaskEnded, TaskStarted
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.testing.script import Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tools.process.process_table import running_process
from holdfast.tools.toolbox import LocalToolbox
from polling import HANGS, eventually, expect_within
from process_leaks import alive, linux_only
from tiers import sampled

pytestmark = linux_only

# It stands still right after an entry is durable, before anything is done because of it.
PROGRAM = """
import asyncio, sys, time
from pathlib import Path
from holdfast.agent.agent import Agent
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tools.toolbox import LocalToolbox

folder, last = Path(sys.argv[1]), int(sys.argv[2])
SPREADS = "echo ready; sleep 300 & setsid sleep 300 & wait"

async def main():
    steps = [
        [Call("bash", {"command": SPREADS, "background": True})],
        [Call("bash", {"command": "sleep 0.1; echo seen"})],
        [Call("task", {"id": "t6", "wait_seconds": 0.1})],
        [Call("stop_task", {"id": "t6"})],
        [Say("done")],
    ]

    async def connect(name):
        return model

    model = ScriptedModel(steps)
    store = SqliteStore.open(folder / "s")
    append = store.append

    def paused(entries, *, expected):
        length = append(entries, expected=expected)
        if expected < last <= length:
            print("at", length, flush=True)
            while not (folder / "go").exists():
                time.sleep(0.01)
        return length

    store.append = paused
    toolbox = LocalToolbox(folder, folder / "s")
    agent = Agent(store=store, toolbox=toolbox, connect=connect, mode="yolo", emit=lambda _: None)
    ended = await agent.run("begin")
    print("over", store.length, ended.cause, flush=True)
    if last:
        await asyncio.sleep(600)

asyncio.run(main())
"""
BEFORE = 1
LENGTH = 26
"""Entries of the whole session: `test_the_session_has_so_many_entries` says so when that changes."""


@contextmanager
def session(folder: Path, last: int) -> Generator[tuple[subprocess.Popen[str], IO[str]]]:
    """Give the program that runs the session in `folder` and stands still at an entry, and what it prints."""
    store = SqliteStore.create(folder / "s")
    store.append([opened(f"rig-{uuid.uuid4().hex}")], expected=0)
    store.close()
    command = [sys.executable, "-c", PROGRAM, str(folder), str(last)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as agent:
        try:
            assert agent.stdout is not None
            yield agent, agent.stdout
        finally:
            agent.kill()


def entries_of(folder: Path) -> list[Entry]:
    return [record.entry for record in read_copy(folder / "s").records]


def left(folder: Path, entries: Sequence[Entry], *, but: int = 0) -> list[int]:
    """Return the processes of the session: those in its folder, and all that its calls started."""
    marks = [str(folder), *(entry.call for entry in entries if isinstance(entry, CallStarted))]
    return sorted({pid for mark in marks for pid in alive(mark)} - {but})


def supervisors(folder: Path, agent: int) -> list[int]:
    """Return the processes that run commands; their parents, the watchdogs, are the agent's own children."""
    found = [process for pid in alive(str(folder)) if pid != agent and (process := running_process(pid)) is not None]
    watchdogs = {process.pid for process in found if process.parent == agent}
    return [process.pid for process in found if process.parent in watchdogs]


def test_the_session_has_so_many_entries(tmp_path: Path) -> None:
    with session(tmp_path, 0) as (agent, output):
        assert output.readline().split() == ["over", str(LENGTH), "finished"]
        assert agent.wait(HANGS) == 0
    entries = entries_of(tmp_path)
    eventually(lambda: left(tmp_path, entries) == [])
    reported(entries)


KILLED = ("agent", "supervisor", "agent and supervisor")


@pytest.mark.parametrize(("last", "killed"), sampled(product(range(BEFORE + 1, LENGTH + 1), KILLED), 9))
def test_nothing_is_left_a_second_after_a_kill_and_the_end_is_reported_once(
    tmp_path: Path, last: int, killed: str
) -> None:
    with session(tmp_path, last) as (agent, output):
        assert output.readline().split()[0] == "at"
        victims = [
            *([agent.pid] if "agent" in killed else []),
            *(supervisors(tmp_path, agent.pid) if "supervisor" in killed else []),
        ]
        since = time.monotonic()
        for pid in victims:
            with suppress(ProcessLookupError):  # a supervisor ends by itself once its agent has
                os.kill(pid, signal.SIGKILL)
        if "agent" in killed:
            agent.wait(HANGS)
            entries = entries_of(tmp_path)
            eventually(lambda: left(tmp_path, entries) == [])
            expect_within(1.5, since)
        else:
            (tmp_path / "go").touch()
            assert output.readline().split()[0] == "over", "the agent goes on without the supervisor"
            agent.kill()
            agent.wait(HANGS)
            eventually(lambda: left(tmp_path, entries_of(tmp_path)) == [])
    asyncio.run(resumed(tmp_path))
    reported(entries_of(tmp_path))


async def resumed(folder: Path) -> None:
    """Give the session another prompt, as the next process does."""

    async def connect(name: str) -> Model:
        return ScriptedModel([[Say("I see")]], name=name)

    store, toolbox = SqliteStore.open(folder / "s"), LocalToolbox(folder, folder / "s")
    agent = Agent(store=store, toolbox=toolbox, connect=connect, mode="yolo", emit=lambda _: None, limits=FAST)
    assert (await agent.run("go on")).cause == "finished"
    await agent.close()
    await toolbox.close()
    store.close()


def reported(entries: Sequence[Entry]) -> None:
    """Check that each call has one end, each task too, and that its note is sent once, on any branch."""
    began = [entry.id for entry in entries if isinstance(entry, TaskStarted)]
    ends = [entry for entry in entries if isinstance(entry, TaskEnded)]
    assert [entry.id for entry in ends] == began
    calls = Counter(entry.call for entry in entries if isinstance(entry, CallEnded))
    assert set(calls.values()) <= {1}
    assert {entry.call for entry in entries if isinstance(entry, CallStarted)} <= set(calls)
    again = PromptAccepted(turn=10_000, text="again")
    branches = [[*entries, Rewound(turn=prompt.turn), again] for prompt in fold(entries).prompts]
    for branch in ([*entries, again], *branches):
        texts = [text for each in fold(branch).messages if isinstance(each, UserMessage) for text in each.texts]
        assert [text for text in texts if "background task t6 has ended" in text] == [entry.note for entry in ends]
