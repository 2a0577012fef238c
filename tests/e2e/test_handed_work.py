"""`holdfast mcp serve` as another agent uses it, by the official SDK's client: work is handed over and never lost."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from launching import World, alive, bash

from holdfast.errors import UsageError
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import CallEnded, PromptAccepted, TurnEnded
from holdfast.system.durable_files import LOCK_FILE
from holdfast.testing.script import Hold, Say
from holdfast.ui.mcp_server.delegated_sessions import DelegatedOptions, DelegatedSessions
from holdfast.ui.mcp_server.session_worker import MARK
from polling import HANGS, eventually
from skips import imported
from tiers import one_of, sampled

mcp = imported("mcp")


@asynccontextmanager
async def serving(world: World, *options: str, mode: str = "auto") -> AsyncGenerator[Any]:
    """Yield a client of a server in the world's folder."""
    words = ["-m", "holdfast", "mcp", "serve", "-m", world.model, *options]
    server = mcp.StdioServerParameters(command=sys.executable, args=words, env=world.environ(), cwd=world.folder)
    async with mcp.Client(server, mode=mode) as client:
        yield client


def processes(world: World, word: str = "") -> list[int]:
    """Return the processes in the world's folder whose command line has this word, zombies apart."""
    found: list[int] = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                words = (each / "cmdline").read_bytes().split(b"\0")
                if (word.encode() in words or not word) and (each / "cwd").resolve() == world.folder:
                    found.append(int(each.name))
            except OSError:
                continue
    return found


def handed(world: World) -> DelegatedSessions:
    """Return what a later server knows: nothing of the former one."""
    options = ("-m", world.model)
    catalog = Catalog(world.home / "sessions")
    return DelegatedSessions(catalog, folders=[world.folder], environ=world.environ(), options=options, yolo=True)


async def unseen(entries: int, doing: str) -> None:
    del entries, doing


def text(answer: Any) -> str:
    return "".join(each.text for each in answer.content)


async def until(found: Callable[[], object]) -> None:
    """Wait until this is true."""
    while not found():  # noqa: ASYNC110 - files and processes of others have no events
        await asyncio.sleep(0.005)


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("start_session", {"prompt": "x", "cwd": "/"}),
    ("start_session", {"prompt": "x", "mode": "yolo"}),
    ("start_session", {"prompt": " "}),
    ("start_session", {"prompt": "x", "tea": 1}),
    ("read_session", {"session": "nope"}),
    ("read_session", {"session": "../etc"}),
    ("tea", {}),
]


ERAS = (("auto", "2026-07-28"), ("legacy", "2025-11-25"))


@pytest.mark.parametrize("era", one_of(ERAS, "handed work"))
def test_work_is_begun_once_read_stopped_and_continued(one_world: World, era: tuple[str, str]) -> None:
    world = one_world
    mode, version = era
    world.script(
        (Say("I try. "), bash("touch ran")),
        (Say("The answer."),),
        (Say("half of it"), Hold("never")),
        (Say("All of it."),),
    )

    async def work() -> None:
        async with serving(world, mode=mode) as client:
            assert client.protocol_version == version
            names = [each.name for each in (await client.list_tools()).tools]
            assert names == ["start_session", "continue_session", "read_session", "stop_session", "list_sessions"]
            await begun_once(client)
            await stopped_and_continued(world, client)
            for tool, bad in REFUSED:
                assert (await client.call_tool(tool, bad)).is_error, (tool, bad)

    asyncio.run(work())
    entries = world.entries()
    assert [entry.cause for entry in entries if isinstance(entry, TurnEnded)] == ["finished", "user", "finished"]
    assert [entry.outcome for entry in entries if isinstance(entry, CallEnded)] == ["denied"]
    assert not (world.folder / "ran").exists()


async def begun_once(client: Any) -> None:
    seen: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        del total, message
        seen.append(done)

    task = {"prompt": "do it", "session": "task-1", "wait_seconds": HANGS}
    first = await client.call_tool("start_session", task, progress_callback=progress)
    assert not first.is_error, text(first)
    assert first.structured_content["state"] == "finished"
    assert first.structured_content["answer"] == "The answer."
    (denied,) = first.structured_content["denied"]
    assert "touch ran" in denied["call"]
    assert "approv" in denied["reason"]
    assert seen
    assert seen == sorted(seen)
    again = await client.call_tool("start_session", task)
    assert again.structured_content == first.structured_content  # and nothing began
    other = await client.call_tool("start_session", {**task, "prompt": "another"})
    assert other.is_error
    assert "another prompt" in text(other)


async def stopped_and_continued(world: World, client: Any) -> None:
    more = {"session": "task-1", "prompt": "more", "after_turn": 1, "wait_seconds": 0}
    begun = await client.call_tool("continue_session", more)
    assert (begun.structured_content["state"], begun.structured_content["turn"]) == ("running", 2)
    assert (await client.call_tool("continue_session", more)).structured_content["turn"] == 2
    assert "is running" in text(await client.call_tool("continue_session", {"session": "task-1", "prompt": "x"}))
    await until(lambda: world.checkpointed().endswith("half of it"))
    assert "half of it" in text(await client.call_tool("read_session", {"session": "task-1"}))
    stopped = (await client.call_tool("stop_session", {"session": "task-1"})).structured_content
    assert (stopped["state"], stopped["answer"]) == ("stopped", "half of it")
    last = {"session": "task-1", "prompt": "all", "after_turn": 2, "wait_seconds": HANGS}
    assert (await client.call_tool("continue_session", last)).structured_content["answer"] == "All of it."
    listed = (await client.call_tool("list_sessions", {})).structured_content["sessions"]
    assert [(each["session"], each["title"]) for each in listed] == [("task-1", "do it")]


def test_neither_a_cancelled_request_nor_a_killed_server_loses_the_work(one_world: World) -> None:
    world = one_world
    world.script((bash("echo $$ > pid; while [ ! -e go ]; do sleep 0.1; done; echo out"),), (Say("The answer."),))

    async def begin() -> None:
        async with serving(world, "--allow-yolo") as client:
            task = {"prompt": "do it", "session": "task-1", "mode": "yolo", "wait_seconds": HANGS}
            request = asyncio.ensure_future(client.call_tool("start_session", task))
            await until((world.folder / "pid").exists)
            request.cancel()  # the SDK tells the server
            running = await client.call_tool("read_session", {"session": "task-1"})
            assert running.structured_content["state"] == "running"
            assert "echo $$" in running.structured_content["doing"]
            for process in processes(world, "serve"):
                os.kill(process, signal.SIGKILL)

    async def read() -> None:
        (world.folder / "go").touch()
        known = await handed(world).wait("task-1", HANGS, unseen)
        assert (known.state, known.answer) == ("finished", "The answer.")

    asyncio.run(_ignoring_a_dead_server(begin()))
    asyncio.run(read())
    eventually(lambda: processes(world, "serve") == [])
    assert sum(isinstance(entry, PromptAccepted) for entry in world.entries()) == 1
    assert [entry.outcome for entry in world.entries() if isinstance(entry, CallEnded)] == ["ok"]


async def _ignoring_a_dead_server(work: Any) -> None:
    with contextlib.suppress(BaseExceptionGroup, mcp.MCPError, OSError):
        await work


@pytest.mark.parametrize("point", sampled(range(14), 1))
def test_a_killed_worker_is_reported_and_its_session_goes_on(one_world: World, point: int) -> None:
    """The worker is killed at an entry of its turn: nothing runs on, nothing runs twice, and the answer comes."""
    world = one_world
    world.one_past = False  # the client may begin it again
    replies = [(Say("Done."),)] * 3
    world.script((Say("I run it. "), bash("echo $$ >> pids; echo out; sleep 0.2")), *replies)
    how = DelegatedOptions(mode="yolo")

    async def kill() -> None:
        sessions = handed(world)
        begun = asyncio.ensure_future(sessions.start("do it", session="task-1", options=how))
        await until(lambda: begun.done() or processes(world, MARK))
        await until(lambda: len(entries_of(world)) >= point or not processes(world, MARK))
        for process in processes(world, MARK):  # may be empty: it had ended by itself
            os.kill(process, signal.SIGKILL)
        await asyncio.wait({begun})
        if begun.exception() is not None:
            assert "was not started" in str(begun.exception())  # may be empty: it was killed after its start
        eventually(lambda: not alive(world.lines("pids")), 1.0)
        eventually(lambda: processes(world, MARK) == [])
        sessions.close()

    async def go_on() -> None:
        sessions = handed(world)
        first = await sessions.start("do it", session="task-1", options=how)
        known = await sessions.wait("task-1", HANGS, unseen)
        assert known.turn == first.turn == 1
        assert known.state in ("interrupted", "finished")
        if known.state == "interrupted":
            await sessions.continue_session("task-1", "go on", after_turn=1, options=how)
            known = await sessions.wait("task-1", HANGS, unseen)
        assert (known.state, known.answer) == ("finished", "Done.")
        await until(lambda: processes(world, MARK) == [])
        sessions.close()

    asyncio.run(kill())
    asyncio.run(go_on())
    calls = [entry.outcome for entry in world.entries() if isinstance(entry, CallEnded)]
    assert len(world.lines("pids")) <= 1 + calls.count("not_started")
    assert len(calls) <= 1
    eventually(lambda: not alive(world.lines("pids")), 1.0)


def entries_of(world: World) -> list[Any]:
    return list(world.entries()) if world.sessions else []


class Overtaken(DelegatedSessions):
    """A server that looks whether a session is free just before the worker of an earlier server opens it."""

    opened: int | None = None

    async def _wait_released(self, session: str) -> None:
        if self.opened is not None:
            os.close(self.opened)
            return
        await super()._wait_released(session)
        self.opened = os.open(self._catalog.folder(session) / LOCK_FILE, os.O_RDWR)
        fcntl.flock(self.opened, fcntl.LOCK_EX)


@pytest.mark.parametrize("after_turn", [1, None])
def test_the_next_turn_is_begun_once_also_if_another_worker_has_the_session(
    one_world: World, after_turn: int | None
) -> None:
    """With the turn that it follows, a repeated request is safe: it waits. Without, it might begin another turn."""
    world = one_world
    world.script((Say("One."),), (Say("Two."),))
    server = Overtaken(
        Catalog(world.home / "sessions"), folders=[world.folder], environ=world.environ(),
        options=("-m", world.model), yolo=True,
    )  # fmt: skip
    how = DelegatedOptions(mode="yolo")

    async def work() -> int:
        await server.start("first", session="task-1", options=how)
        await server.wait("task-1", HANGS, unseen)
        begun = await server.continue_session("task-1", "more", after_turn=after_turn, options=how)
        await server.wait("task-1", HANGS, unseen)
        return begun.turn

    if after_turn is None:
        with pytest.raises(UsageError, match="already open in another process"):
            asyncio.run(work())
    else:
        assert asyncio.run(work()) == 2
    prompts = [entry.text for entry in world.entries() if isinstance(entry, PromptAccepted)]
    assert prompts == (["first"] if after_turn is None else ["first", "more"])
    eventually(lambda: not processes(world))
    server.close()
