"""SIGKILL of `holdfast mcp serve`, or of its client, at each step of start, read, continue and stop.

The other agent loses no answer: what it repeats after a restart begins nothing twice, and reading gives what it missed.
No worker lives longer than its turn, and no server longer than its client.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from launching import World
from report import record
from struck import LIMIT, left

from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import CallEnded, PromptAccepted, TurnEnded
from holdfast.testing.script import Call, Hold, ReceivedRequest, Reply, Say
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.tools.process.process_table import running_process
from holdfast.ui.mcp_server.delegated_sessions import DelegatedOptions, DelegatedSessions
from holdfast.ui.mcp_server.session_report import SessionReport
from launcher import PRODUCT
from polling import HANGS, eventually
from skips import imported
from tiers import sampled, some

imported("mcp")

STRUCK_SERVER = """
import asyncio, os, pathlib, signal, time
from holdfast.ui.mcp_server import delegated_sessions as handed, session_tools as tools

victim, point = os.environ["STRIKE"].split()
steps = 0

def step(name):
    global steps
    steps += 1
    if point == "0":
        with open("steps", "a") as file:
            file.write(name + "\\n")
    if steps == int(point):
        pathlib.Path("struck.new").write_text(name)
        os.rename("struck.new", "struck")
        if victim == "server":
            os.kill(os.getpid(), signal.SIGKILL)
        while not os.path.exists("gone"):
            time.sleep(0.001)

def plain(module, name):
    function = getattr(module, name)
    def struck(*given, **named):
        step(name + " before")
        result = function(*given, **named)
        step(name + " after")
        return result
    setattr(module, name, struck)

def waits(module, name):
    function = getattr(module, name)
    async def struck(*given, **named):
        what = f"{name} {given[0]}" if isinstance(given[0], str) else name
        step(what + " before")
        result = await function(*given, **named)
        step(what + " after")
        return result
    setattr(module, name, struck)

plain(handed, "start_worker")
plain(handed, "stop_worker")
plain(handed.SessionWorker, "stop")
waits(handed.DelegatedSessions, "_begin")
from holdfast.ui.mcp_server import sdk_server
waits(sdk_server, "call_tool")
"""
"""Odd and even steps are before and after: a call, the start of its work, and the signal that stops it."""

VICTIMS = ("server", "client")
MOST = 2


def turn(request: ReceivedRequest) -> Reply:
    """Return what the model does: a command and an answer; of the second prompt half an answer."""
    if "more" in str(request.messages[-1]["content"]):
        return (Say("half of it"), Hold("never"))
    if request.messages[-1]["role"] == "tool":
        return (Say("The answer."),)
    return (Call("bash", {"command": "echo ran >> ran; sleep 0.2; echo out"}),)


class OtherAgent:
    """Another agent, which speaks to a server over pipes; what it has no answer to it asks a later server."""

    def __init__(self, world: World, folder: Path, strike: str) -> None:
        read_in, self._write = os.pipe()
        self._read, write_out = os.pipe()
        os.set_blocking(self._read, False)
        self.server = world.start(
            *("mcp", "serve", "-m", world.model, "--allow-yolo"),
            stdin_from=Path(f"/proc/self/fd/{read_in}"),
            stdout=write_out,
            program=STRUCK_SERVER + PRODUCT,
            environ=world.environ(STRIKE=strike),
            cwd=folder,
        )
        os.close(read_in)
        os.close(write_out)
        self._folder = folder
        self._rest = b""
        self._number = 0
        info = {"name": "other", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        self._send({"method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        os.write(self._write, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, method: str, **params: Any) -> dict[str, Any] | None:
        """Return the result, None if the server is struck."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        until = time.monotonic() + HANGS
        while True:
            if (self._folder / "struck").exists():
                return None
            *lines, self._rest = (self._rest + self._more()).split(b"\n")
            for line in map(json.loads, lines):
                if line.get("id") == self._number:
                    return line["result"]
            assert time.monotonic() < until, f"no answer to {method}"

    def _more(self) -> bytes:
        try:
            return os.read(self._read, 1 << 16)
        except BlockingIOError:
            time.sleep(0.005)
            return b""

    def call(self, tool: str, **arguments: Any) -> dict[str, Any] | None:
        """Return what a call answers as data, None if the server is struck."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        return None if result is None else result["structuredContent"]

    def vanish(self) -> None:
        """Close both ends, as the kernel does for a killed process."""
        os.close(self._read)
        os.close(self._write)


WORK: tuple[tuple[str, dict[str, Any]], ...] = (
    ("start_session", {"prompt": "do it", "session": "task-1", "mode": "yolo", "wait_seconds": 0}),
    ("read_session", {"session": "task-1", "wait_seconds": 60}),
    ("continue_session", {"session": "task-1", "prompt": "more", "after_turn": 1, "mode": "yolo", "wait_seconds": 0}),
    ("stop_session", {"session": "task-1"}),
    ("read_session", {"session": "task-1"}),
)


async def unseen(entries: int, doing: str) -> None:
    del entries, doing


async def rest(sessions: DelegatedSessions, streams: Callable[[], bool]) -> tuple[SessionReport, SessionReport]:
    """Do all of the work again by a later server, and return the two turns as they end."""
    how = DelegatedOptions(mode="yolo")
    first = await sessions.start("do it", session="task-1", options=how)
    if first.turn == 1:  # else the second runs, and does not end by itself
        first = await sessions.wait("task-1", HANGS, unseen)
    begun = await sessions.continue_session("task-1", "more", after_turn=1, options=how)
    while begun.state == "running" and not streams():  # noqa: ASYNC110 - a journal has no events
        await asyncio.sleep(0.01)
    return first, await sessions.stop("task-1")


def struck_at(root: Path, victim: str, point: int) -> list[str]:
    """Return what is wrong after a kill at a step of the work."""
    with ScriptedProvider() as provider:
        root.mkdir()
        world = World("openai-chat", root=root, provider=provider)
        world.script(*[turn] * 8)
        try:
            return [f"{victim} at {point}: {each}" for each in _struck(world, victim, point)]
        finally:
            world.close()


def _struck(world: World, victim: str, point: int) -> list[str]:
    folder = world.folder
    agent = OtherAgent(world, folder, f"{victim} {point}")
    answers: list[str] = []
    for tool, arguments in WORK:
        if tool == "stop_session":
            eventually(lambda: world.checkpointed().endswith("half of it"))
        answer = agent.call(tool, **arguments)
        if answer is None:
            break
        answers.append(answer["answer"])
    vanished = time.monotonic()
    agent.vanish()
    (folder / "gone").touch()
    if point and not (folder / "struck").exists():
        return ["it was not struck"]
    found: list[str] = []
    code = agent.server.wait().code
    if victim == "client" and (code != 0 or time.monotonic() > vanished + HANGS):
        found.append(f"the server ended with {code}: {agent.server.so_far.err}")
    catalog, options = Catalog(world.home / "sessions"), ("-m", world.model)
    later = DelegatedSessions(catalog, folders=[folder], environ=world.environ(), options=options, yolo=True)
    try:
        first, second = asyncio.run(rest(later, lambda: world.checkpointed().endswith("half of it")))
        eventually(lambda: all(each.has_ended for each in later._workers.values()))  # so that they are reaped
    finally:
        later.close()
    if first.turn == 1 and first.answer != "The answer.":
        found.append(f"the first answer is {first.answer!r}")
    if (second.state, second.turn) != ("stopped", 2):
        found.append(f"the second turn is {second.turn}, {second.state}")
    entries = world.entries()
    prompts = [entry.text for entry in entries if isinstance(entry, PromptAccepted)]
    if prompts != ["do it", "more"]:
        found.append(f"the prompts are {prompts}")
    if world.lines("ran") != ["ran"] or [e.outcome for e in entries if isinstance(e, CallEnded)] != ["ok"]:
        found.append(f"the command ran {len(world.lines('ran'))} times")
    causes = [entry.cause for entry in entries if isinstance(entry, TurnEnded)]
    if causes != ["finished", "user"]:
        found.append(f"the turns ended by {causes}")
    remain, _ = left(processes(folder), time.monotonic())
    return found + ([f"{len(remain)} processes live after {LIMIT:g} s"] if remain else [])


def processes(folder: Path) -> list[int]:
    """Return the servers and workers in a folder."""
    found: list[int] = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                if (each / "cwd").resolve() == folder and running_process(int(each.name)):
                    found.append(int(each.name))
            except OSError:
                continue
    return found


@pytest.mark.parametrize("victim", sampled(VICTIMS, 2))
def test_a_kill_at_any_step_of_handed_work(tmp_path: Path, victim: str) -> None:
    assert struck_at(tmp_path / "whole", victim, 0) == []
    steps = (tmp_path / "whole" / "work" / "steps").read_text().splitlines()
    points = [point for (point,) in some([(each,) for each in range(1, len(steps) + 1)], MOST)]
    found = [each for point in points for each in struck_at(tmp_path / str(point), victim, point)]
    record("handed work", f"{victim} killed", points=len(points), of=len(steps), violations=found)
    assert found == []
