"""The user's own commands: journalled, stoppable, sent to the model only if they are shared."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import ends
from agent_harness import Rig, opened, says, waits
from holdfast.agent.agent import Agent
from holdfast.agent.events import LiveOutput
from holdfast.errors import StorageFailed, UsageError
from holdfast.providers.model import Model
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.journal.entries import Entry, ProcessStarted, ShellEnded, ShellStarted
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tool_calls import ProcessId
from holdfast.tools.process.end_record import end_of
from holdfast.tools.process.process_table import LINUX, boot, running_process
from holdfast.tools.toolbox import LocalToolbox
from polling import HANGS
from process_leaks import linux_only


def last_texts(rig: Rig) -> tuple[str, ...]:
    last = rig.model.requests[-1].messages[-1]
    assert isinstance(last, UserMessage)
    return last.texts


async def test_the_model_learns_of_it_only_if_it_is_shared() -> None:
    rig = Rig(ScriptedModel([[Say("hello")], [Say("I see")]]), [says("bash", "all clean", effect="execute")])
    alone = await rig.agent.shell("git status", share=False)
    assert (alone.outcome, alone.text, alone.note) == ("ok", "all clean", "")
    await rig.agent.run("hi")
    assert last_texts(rig) == ("hi",)
    shared = await rig.agent.shell("git status", share=True)
    assert rig.entries[-2:] == [
        ShellStarted(id=shared.id, command="git status", shared=True),
        shared,
    ]
    await rig.agent.run("what do you see?")
    note, prompt = last_texts(rig)
    assert prompt == "what do you see?"
    assert "$ git status\nall clean" in note


async def test_it_runs_beside_a_turn_and_a_stop_ends_both() -> None:
    started = asyncio.Event()
    rig = Rig(ScriptedModel([[Call("slow", {})]]), [waits("slow", started=started), waits("bash")])
    turn = asyncio.create_task(rig.agent.run("go"))
    await started.wait()
    command = asyncio.create_task(rig.agent.shell("sleep 60", share=True))
    await asyncio.sleep(0)
    assert [each.started.command for each in rig.agent.conversation.open_shells] == ["sleep 60"]
    rig.agent.stop()
    assert (await command).outcome == "interrupted"
    assert (await turn).cause == "user"
    assert rig.agent.conversation.open_shells == ()


async def test_a_cancellation_and_the_end_of_the_session_stop_it() -> None:
    rig = Rig(ScriptedModel(), [waits("bash")])
    command = asyncio.create_task(rig.agent.shell("sleep 60", share=False))
    await asyncio.sleep(0)
    command.cancel()
    with pytest.raises(asyncio.CancelledError):
        await command
    other = asyncio.create_task(rig.agent.shell("sleep 60", share=False))
    await asyncio.sleep(0)
    await rig.agent.close()
    assert (await other).outcome == "interrupted"
    ends = [entry.outcome for entry in rig.entries if isinstance(entry, ShellEnded)]
    assert ends == ["interrupted", "interrupted"]


async def test_one_that_a_crash_left_open_is_said_to_be_of_unknown_effect() -> None:
    store = MemoryStore()
    store.append([opened(), ShellStarted(id="s2", command="make deploy", shared=True)], expected=0)
    rig = Rig(ScriptedModel([[Say("hello")]]), [waits("bash")], store=store)
    command = asyncio.create_task(rig.agent.shell("sleep 60", share=False))
    await asyncio.sleep(0)
    await rig.agent.run("hi")
    note, _ = last_texts(rig)
    assert "make deploy" in note
    assert "Effect unknown" in note
    assert [each.started.command for each in rig.agent.conversation.open_shells] == ["sleep 60"], "that one still runs"
    rig.agent.stop()
    await command


def left_open(tmp_path: Path, *, process: ProcessId | None = None, spool: str = "2.out") -> tuple[Agent, MemoryStore]:
    """Return a session in which an earlier process had begun `make deploy`, and the journal of it."""
    (tmp_path / "home" / "s").mkdir(parents=True)
    store = MemoryStore()
    store.append([opened(), ShellStarted(id="rig-s2", command="make deploy", shared=True, spool=spool)], expected=0)
    if process is not None:
        store.append([ProcessStarted(call="rig-s2", process=process)], expected=2)

    async def connect(name: str) -> Model:
        raise AssertionError(name)

    toolbox = LocalToolbox(tmp_path, tmp_path / "home" / "s")
    return Agent(store=store, toolbox=toolbox, connect=connect, mode="ask", emit=lambda _: None), store


def last_end(store: MemoryStore) -> ShellEnded:
    entry = store.read().records[-1].entry
    assert isinstance(entry, ShellEnded)
    return entry


@contextmanager
def running(*argv: str, env: dict[str, str]) -> Generator[subprocess.Popen[bytes]]:
    with subprocess.Popen(argv, env=env, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


@linux_only
@pytest.mark.parametrize("known_by", ["its environment", "the journal"])
async def test_a_process_that_outlived_holdfast_is_ended_at_the_next_opening_and_reported(
    tmp_path: Path, known_by: str
) -> None:
    env = {"HOLDFAST_CALL": "rig-s2"} if known_by == "its environment" else {}
    with running("sleep", "300", env=env) as survivor:
        found = running_process(survivor.pid)
        assert found is not None
        process = ProcessId(pid=found.pid, start=found.start, boot=boot())
        agent, store = left_open(tmp_path, process=process if known_by == "the journal" else None)
        (tmp_path / "home" / "s" / "spool" / "2.out").write_text("half of it")
        await agent.recover()
        assert survivor.wait(HANGS) < 0
    ended = last_end(store)
    assert ended.outcome == "interrupted"
    assert f"still running, and ended now: sleep ({survivor.pid})" in ended.text
    assert "half of it" in ended.text
    assert "make deploy" in ended.note
    assert agent.conversation.open_shells == ()


async def test_a_command_that_ended_without_holdfast_has_its_own_outcome(tmp_path: Path) -> None:
    spool = ends.left(tmp_path, "deployed", call="rig-s2", status=0, seconds=2.5, seen=8)
    agent, store = left_open(tmp_path, spool=spool.name)
    for file in (spool, end_of(spool)):
        file.rename(tmp_path / "home" / "s" / "spool" / file.name)
    await agent.recover()
    ended = last_end(store)
    assert (ended.outcome, ended.seconds) == ("ok", 2.5)
    assert ended.text.startswith("deployed\n(exit code 0")
    assert "may still be running" not in ended.text


class FillsUp(MemoryStore):
    """Takes no end of a command while the disk is full."""

    full = True

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        if self.full and any(isinstance(entry, ShellEnded) for entry in entries):
            raise StorageFailed("The disk is full. Free some space.")
        return super().append(entries, expected=expected)


async def test_an_end_that_could_not_be_written_is_written_with_the_next_prompt() -> None:
    store = FillsUp()
    rig = Rig(ScriptedModel([[Say("hello")]]), [says("bash", "all clean", effect="execute")], store=store)
    with pytest.raises(StorageFailed):
        await rig.agent.shell("git status", share=False)
    store.full = False
    await rig.agent.run("hi")
    (ended,) = [entry for entry in rig.entries if isinstance(entry, ShellEnded)]
    assert (ended.outcome, ended.text) == ("ok", "all clean")


async def test_what_cannot_be_run_is_refused_before_anything_happens() -> None:
    rig = Rig(ScriptedModel(), [says("look")])
    with pytest.raises(UsageError, match="cannot be run"):
        await rig.agent.shell("ls", share=False)
    rig = Rig(ScriptedModel(), [says("bash")])
    with pytest.raises(UsageError):
        await rig.agent.shell("  ", share=False)
    assert rig.entries == [opened()]


async def test_a_real_one_prints_as_it_runs_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "home" / "s").mkdir(parents=True)
    store = MemoryStore()
    store.append([opened()], expected=0)
    events: list[object] = []

    async def connect(name: str) -> Model:
        raise AssertionError(name)

    toolbox = LocalToolbox(tmp_path / "work", tmp_path / "home" / "s")
    agent = Agent(store=store, toolbox=toolbox, connect=connect, mode="ask", emit=events.append)
    ended = await agent.shell("echo seen; pwd", share=False)
    assert ended.outcome == "ok"
    assert ended.id.startswith("rig-"), "a process that is found by it is of no other session"
    if LINUX:
        (began,) = [r.entry for r in store.read().records if isinstance(r.entry, ProcessStarted)]
        assert began.call == ended.id
    assert list((tmp_path / "home" / "s" / "spool").iterdir()) == []
    assert ended.text.startswith(f"seen\n{tmp_path / 'work'}\n(exit code 0")
    assert any(isinstance(event, LiveOutput) and "seen" in event.text for event in events)
    command = asyncio.create_task(agent.shell("sleep 61 & sleep 62", share=False))
    await asyncio.sleep(0.3)
    agent.stop()
    assert (await command).outcome == "interrupted"
    await agent.close()


async def test_a_prompt_takes_nothing_from_a_command_that_runs(tmp_path: Path) -> None:
    (tmp_path / "home" / "s").mkdir(parents=True)
    store = MemoryStore()
    store.append([opened()], expected=0)
    printed = asyncio.Event()
    model = ScriptedModel([[Say("hello")]])

    async def connect(name: str) -> Model:
        del name
        return model

    def emit(event: object) -> None:
        if isinstance(event, LiveOutput):
            printed.set()

    toolbox = LocalToolbox(tmp_path, tmp_path / "home" / "s")
    agent = Agent(store=store, toolbox=toolbox, connect=connect, mode="ask", emit=emit, ends_with_listener=True)
    command = asyncio.create_task(agent.shell("echo before; until [ -e go ]; do sleep 0.05; done", share=False))
    await printed.wait()
    assert (await agent.run("hi")).cause == "finished"
    (tmp_path / "go").touch()
    assert (await command).text.startswith("before\n(exit code 0")
    await agent.close()
