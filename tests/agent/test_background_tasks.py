"""Background tasks with real processes: they outlive turns but not the agent, and their end is reported once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agent_harness import FAST, opened
from holdfast.agent.agent import Agent
from holdfast.agent.background_tasks import MOST_TASKS
from holdfast.agent.events import Event, Fact
from holdfast.errors import StorageFailed
from holdfast.providers.model import Model
from holdfast.session.conversation.conversation import Result, UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import CallEnded, Entry, ProcessStarted
from holdfast.session.journal.store import MemoryStore
from holdfast.session.journal.tasks import TaskEnded, TaskEndSent, TaskStarted
from holdfast.testing.script import Call, Reply, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tools.process.process_table import running_process
from holdfast.tools.toolbox import LocalToolbox
from polling import HANGS, eventually, expect_within
from process_leaks import alive, linux_only

pytestmark = linux_only

SERVER = "python3 -u -m http.server --bind 127.0.0.1 0"
FIRST = "t6"
"""The task of a first turn's first call: five entries come before it."""


class Kept(MemoryStore):
    """A journal that can be read, and opened again, when it was closed."""

    def close(self) -> None:
        """Do nothing."""


class Scene:
    """An agent over real tools, and what it said."""

    def __init__(self, folder: Path, script: Sequence[Reply], store: MemoryStore | None = None) -> None:
        self.folder = folder
        (folder / "work").mkdir(exist_ok=True)
        (folder / "home" / "s").mkdir(parents=True, exist_ok=True)
        self.store = store or Kept()
        if self.store.length == 0:
            self.store.append([opened(f"rig-{uuid.uuid4().hex}")], expected=0)  # other tests run at the same time
        self.events: list[Event] = []
        self.model = ScriptedModel(script)
        self.toolbox = LocalToolbox(folder / "work", folder / "home" / "s")
        self._changed = asyncio.Event()

        async def connect(name: str) -> Model:
            del name
            return self.model

        self.agent = Agent(
            store=self.store,
            toolbox=self.toolbox,
            connect=connect,
            mode="yolo",
            emit=self._heard,
            ends_with_listener=True,
            limits=FAST,
        )

    def _heard(self, event: Event) -> None:
        self.events.append(event)
        self._changed.set()

    async def until(self, so: Callable[[], bool]) -> None:
        """Wait until it is so, looking whenever something was said."""
        async with asyncio.timeout(HANGS):
            while not so():
                self._changed.clear()
                await self._changed.wait()

    @property
    def entries(self) -> list[Entry]:
        return [record.entry for record in self.store.read().records]

    def of(self, kind: type[TaskEnded]) -> list[TaskEnded]:
        return [entry for entry in self.entries if isinstance(entry, kind)]

    def result(self, call: int = -1) -> CallEnded:
        return [entry for entry in self.entries if isinstance(entry, CallEnded)][call]

    def call(self, number: int = 0) -> str:
        """Return the call of the task that was started then."""
        return [entry.call for entry in self.entries if isinstance(entry, TaskStarted)][number]


@asynccontextmanager
async def scene(folder: Path, *script: Reply, store: MemoryStore | None = None) -> AsyncGenerator[Scene]:
    created = Scene(folder, script, store)
    try:
        yield created
    finally:
        await created.agent.close()


def started(command: str) -> Reply:
    return [Call("bash", {"command": command, "background": True})]


def end_notes(entries: Sequence[Entry]) -> list[str]:
    """Return the notes about ends of tasks in the conversation, with what is about to be told."""
    messages = fold(entries).messages
    texts = [text for message in messages if isinstance(message, UserMessage) for text in message.texts]
    return [text for text in texts if "background task" in text]


async def test_a_server_is_started_in_one_call_used_in_three_and_stopped(tmp_path: Path) -> None:
    port = "$(grep -o 'port [0-9]*' ../home/s/outputs/*.txt | cut -d' ' -f2)"
    fetch = f"""until [ -n "{port}" ]; do sleep 0.02; done; curl -s -o /dev/null -w '%{{http_code}}' 127.0.0.1:{port}"""
    use = [Call("bash", {"command": fetch})]
    script = [started(SERVER), use, use, use, [Call("task", {"id": FIRST})], [Call("stop_task", {"id": FIRST})]]
    async with scene(tmp_path, *script, [Say("done")]) as it:
        ended = await it.agent.run("serve")
        assert ended.cause == "finished"
        results = [entry for entry in it.entries if isinstance(entry, CallEnded)]
        assert results[0].text.startswith(f"Runs as background task {FIRST}.")
        assert [each.text.partition("\n")[0] for each in results[1:4]] == ["200"] * 3
        assert '"GET / HTTP/1.1" 200' in results[4].text
        assert results[5].text.startswith(f"Task {FIRST} has ended.")
        (end,) = it.of(TaskEnded)
        assert end.outcome == "interrupted"
        assert end.text.startswith("It was stopped by stop_task.")
        assert alive(it.call()) == []
        assert len(end_notes(it.entries)) == 1
        assert TaskEndSent(task=FIRST) in it.entries


async def test_a_task_outlives_turns_and_a_stop_and_its_end_opens_the_next_message(tmp_path: Path) -> None:
    wait = "until [ -e go ]; do sleep 0.02; done; echo went"
    async with scene(tmp_path, started(wait), [Say("it runs")], [Say("and now?")], [Say("I see")]) as it:
        await it.agent.run("begin")
        it.agent.stop()
        await it.agent.run("are you there?")
        assert [task.started.id for task in it.agent.conversation.open_tasks] == [FIRST]
        eventually(lambda: alive(it.call()))
        (tmp_path / "work" / "go").touch()
        await it.until(lambda: bool(it.of(TaskEnded)))
        assert any(isinstance(event, Fact) and isinstance(event.entry, TaskEnded) for event in it.events)
        await it.agent.run("and?")
        last = it.model.requests[-1].messages[-1]
        assert isinstance(last, UserMessage)
        note, prompt = last.texts
        assert prompt == "and?"
        assert note.startswith(f"[Note from holdfast: background task {FIRST} has ended (ok):\n$ until")
        assert "went\n(exit code 0" in note
        assert len(end_notes(it.entries)) == 1


async def test_an_end_during_a_turn_joins_its_next_request(tmp_path: Path) -> None:
    again = [Call("bash", {"command": "touch go; until [ -e over ]; do sleep 0.02; done; sleep 0.3"})]
    first = "until [ -e go ]; do sleep 0.02; done; touch over"
    async with scene(tmp_path, started(first), again, [Say("seen")]) as it:
        await it.agent.run("begin")
        last = it.model.requests[-1].messages[-1]
        assert isinstance(last, UserMessage)
        assert [type(each) for each in last.results] == [Result]
        assert f"background task {FIRST} has ended (ok)" in last.texts[0]
        assert it.agent.conversation.unreported_tasks == ()


async def test_the_end_of_the_agent_ends_every_process_and_is_reported(tmp_path: Path) -> None:
    store = Kept()
    async with scene(tmp_path, started("sleep 300 & setsid sleep 300 & wait"), [Say("ok")], store=store) as it:
        await it.agent.run("begin")
        call = it.call()
        eventually(lambda: alive(call))
    assert alive(call) == []
    (end,) = it.of(TaskEnded)
    assert end.text.startswith("It was stopped by the end of the session.")
    spool = tmp_path / "home" / "s" / "spool"
    (spool / "late.out.end").touch()  # as a supervisor on a busy machine leaves it: the next prompt deletes it
    async with scene(tmp_path, [Say("I see")], store=store) as it:
        await it.agent.run("go on")
        assert len(end_notes(it.entries)) == 1
        assert list(spool.iterdir()) == []


def supervisor_of(call: str) -> tuple[int, int]:
    """Return the supervisor and the watchdog of a task's processes."""
    eventually(lambda: alive(call))
    (shell, *_) = alive(call)
    found = running_process(shell)
    assert found is not None
    above = running_process(found.parent)
    assert above is not None
    return above.pid, above.parent


async def test_killing_its_supervisor_ends_it_and_is_reported(tmp_path: Path) -> None:
    for both in (False, True):
        folder = tmp_path / str(both)
        folder.mkdir()
        async with scene(folder, started("sleep 300 & wait"), [Say("ok")], [Say("I see")]) as it:
            await it.agent.run("begin")
            call = it.call()
            since = time.monotonic()
            for pid in supervisor_of(call)[: 1 + both]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await it.until(lambda: bool(it.of(TaskEnded)))
            assert alive(call) == []
            expect_within(3.0 if both else 1.5, since)
            assert it.of(TaskEnded)[0].outcome == "interrupted"
            await it.agent.run("go on")
            assert len(end_notes(it.entries)) == 1


async def test_a_running_command_is_moved_and_the_same_process_lives_on(tmp_path: Path) -> None:
    wait = "echo before; until [ -e go ]; do sleep 0.02; done; echo after"
    call = [Call("bash", {"command": wait, "timeout": 1})]
    other = [Call("bash", {"command": "echo beside"})]
    async with scene(tmp_path, call, other, [Say("it runs")], [Say("I see")]) as it:
        turn = asyncio.create_task(it.agent.run("begin"))
        await it.until(lambda: any(isinstance(entry, ProcessStarted) for entry in it.entries))
        (process,) = [entry.process for entry in it.entries if isinstance(entry, ProcessStarted)]
        await it.until(lambda: "before" in str(it.events[-1]))
        (task,) = it.agent.tasks.move()
        assert (await turn).cause == "finished"
        moved, other_ended = [entry for entry in it.entries if isinstance(entry, CallEnded)]
        assert moved.outcome == "ok"
        assert f"it runs on as task {task}" in moved.text
        assert moved.text.endswith("until then:\nbefore\n")
        assert other_ended.text.startswith("beside\n")
        await asyncio.to_thread(time.sleep, 1.2)  # its time limit is lifted: this is later than that
        found = running_process(process.pid)
        assert found is not None
        assert found.start == process.start
        (tmp_path / "work" / "go").touch()
        await it.until(lambda: bool(it.of(TaskEnded)))
        (end,) = it.of(TaskEnded)
        assert end.outcome == "ok"
        assert "before\nafter\n(exit code 0" in end.text
        await it.agent.run("and?")
        assert len(end_notes(it.entries)) == 1


class Full(Kept):
    """Takes no task."""

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        if any(isinstance(entry, TaskStarted) for entry in entries):
            raise StorageFailed("The disk is full. Free some space.")
        return super().append(entries, expected=expected)


async def test_what_cannot_be_journalled_is_not_begun_and_not_moved(tmp_path: Path) -> None:
    script = [started("touch begun"), [Call("bash", {"command": "until [ -e go ]; do sleep 0.02; done"})], [Say("ok")]]
    async with scene(tmp_path, *script, store=Full()) as it:
        turn = asyncio.create_task(it.agent.run("begin"))
        await it.until(lambda: any(isinstance(entry, ProcessStarted) for entry in it.entries))
        assert it.result().outcome == "failed"
        assert it.result().text.endswith("Nothing was run.")
        with contextlib.suppress(StorageFailed):
            it.agent.tasks.move()
            raise AssertionError("it was moved")
        (tmp_path / "work" / "go").touch()
        assert (await turn).cause == "finished"
        assert it.result().text.startswith("(no output)\n(exit code 0")
        assert not (tmp_path / "work" / "begun").exists()


async def test_there_are_at_most_eight_and_unknown_ones_are_named(tmp_path: Path) -> None:
    many = [Call("bash", {"command": "sleep 300", "background": True}) for _ in range(MOST_TASKS + 1)]
    unknown: Reply = [Call("task", {"id": "t0"}), Call("stop_task", {"id": "t0"})]
    async with scene(tmp_path, many, unknown, [Say("ok")]) as it:
        await it.agent.run("begin")
        results = [entry for entry in it.entries if isinstance(entry, CallEnded)]
        assert [each.outcome for each in results] == ["ok"] * MOST_TASKS + ["failed"] * 3
        assert "8 run already" in results[MOST_TASKS].text
        assert "Task 't0' does not exist (expected one of t6" in results[-1].text
        assert len(it.agent.conversation.open_tasks) == MOST_TASKS
    assert len(it.of(TaskEnded)) == MOST_TASKS


async def test_a_ninth_command_is_not_moved_and_goes_on(tmp_path: Path) -> None:
    many = [Call("bash", {"command": "sleep 300", "background": True}) for _ in range(MOST_TASKS)]
    wait = [Call("bash", {"command": "until [ -e go ]; do sleep 0.02; done; echo waited"})]
    async with scene(tmp_path, many, wait, [Say("ok")]) as it:
        turn = asyncio.create_task(it.agent.run("begin"))
        await it.until(
            lambda: sum(isinstance(entry, ProcessStarted) for entry in it.entries) == MOST_TASKS + 1,
        )
        assert it.agent.tasks.move() == ()
        assert len(it.agent.conversation.open_tasks) == MOST_TASKS
        (tmp_path / "work" / "go").touch()
        assert (await turn).cause == "finished"
        assert it.result().text.startswith("waited\n")


async def test_who_stopped_a_task_first_is_named(tmp_path: Path) -> None:
    async with scene(tmp_path, started("sleep 300"), [Say("ok")]) as it:
        await it.agent.run("begin")
        assert it.agent.tasks.ask_to_stop(FIRST, "the user") is not None
        assert it.agent.tasks.ask_to_stop(FIRST, "the end of the session") is not None
        await it.until(lambda: bool(it.of(TaskEnded)))
    (end,) = it.of(TaskEnded)
    assert end.text.startswith("It was stopped by the user.\n")


async def test_looking_shows_what_is_new_since_the_last_look(tmp_path: Path) -> None:
    printing = "echo one; until [ -e go ]; do sleep 0.02; done; echo two"
    first, again = [Call("task", {"id": FIRST})], [Call("task", {"id": FIRST, "wait_seconds": 30})]
    go = [Call("bash", {"command": "touch go"})]
    async with scene(tmp_path, started(printing), go, again, first, [Say("ok")]) as it:
        await it.agent.run("begin")
        _, _, ended, nothing = [entry.text for entry in it.entries if isinstance(entry, CallEnded)]
        assert ended.startswith(f"Task {FIRST} has ended (ok, ")
        assert "New output:\none\ntwo\n" in ended
        assert "No new output." in nothing
        async with scene(tmp_path, [Call("task", {"id": FIRST})], [Say("ok")], store=it.store) as later:
            await later.agent.run("again")
            assert "one\ntwo\n(exit code 0" in later.result().text, "another process knows it from the journal"
