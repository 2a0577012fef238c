"""SIGKILL at each entry of a turn with MCP calls: of the agent, its server, relay, supervisor and watchdog, or several.

What must hold: the history is valid and the next prompt works, each call has one outcome and none ran twice, and a
second later nothing of the server lives. The server ignores the end of its input and SIGTERM, and has a child. The same
turn with the SDK's own handling of processes is found out.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from launching import World
from report import record
from struck import SDK, STRIKE, complaints, left, read_points, read_struck

from holdfast.history.profiles import OPENAI_CHAT
from holdfast.session.journal.entries import SessionOpened
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.session.verify import verify
from holdfast.testing.script import Call, ReceivedRequest, Reply, Say
from holdfast.testing.scripted_provider import ScriptedProvider
from launcher import PRODUCT
from polling import eventually
from skips import imported
from tiers import sampled, some

SERVER = Path(__file__).parents[1] / "mcp_server.py"
VICTIMS = ("agent", "server", "relay", "supervisor", "watchdog", "supervisor-agent", "watchdog-supervisor-agent")
MOST = 4

imported("mcp")


def turn(request: ReceivedRequest) -> Reply:
    """Return what the model does next: one call, two more, and an answer."""
    if '"go on"' in str(request.body).replace("'", '"'):
        return (Say("Whole again."),)
    match sum(message["role"] == "assistant" for message in request.messages):
        case 0:
            return (Say("I look. "), Call("mcp__srv__echo", {"text": "one"}))
        case 1:
            return (Call("mcp__srv__structured", {}), Call("mcp__srv__fail", {}))
        case _:
            return (Say("Done."),)


@pytest.fixture
def server_world(tmp_path: Path) -> Iterator[World]:
    """Return a world with a stubborn server, whose marker is in the folder of each session."""
    with ScriptedProvider() as provider:
        world = World("openai-chat", root=tmp_path, provider=provider)
        world.one_past = False
        entry = {"command": sys.executable, "args": [str(SERVER), "stubborn", "marker"]}
        (world.home / "mcp.json").write_text(json.dumps({"mcpServers": {"srv": entry}}))
        try:
            yield world
            world.verify()
        finally:
            world.close()


def struck_at(world: World, victims: str, point: int, *, program: str = STRIKE) -> tuple[list[str], float]:
    """Return what is wrong after a strike at a point of the turn, and how long the last process lived."""
    folder = world.folder / f"{victims}-{point}"
    folder.mkdir()
    world.script(*[turn] * 5)
    how = ("-m", world.model, "--yolo", "-p", "go")
    agent = world.start(*how, program=program + PRODUCT, environ=world.environ(STRIKE=f"{victims} {point}"), cwd=folder)
    if point == 0:
        assert agent.wait().code == 0
        return [], 0.0
    eventually((folder / "struck").exists)
    struck = read_struck(folder)
    # A supervisor goes on if only what is below it was killed: it is gone when the agent is.
    remain, seconds = left([*struck.server, *(struck.above if "agent" in victims else ())], struck.at)
    found = [f"{len(remain)} processes live"] if remain else []
    ran = agent.wait()
    remain, _ = left(struck.above, time.monotonic())
    found += [f"{len(remain)} supervisors live"] if remain else []
    if ("agent" in victims) != (ran.code == -9) or ran.code not in (0, -9):
        found.append(f"it ended with {ran.code}: {ran.err}")
    opened = [each for each in world.sessions if str(folder) == cwd_of(world, each)]
    if opened:
        world.go_on(cwd=folder)
        (session,) = opened
        calls = folder / "marker.calls"
        found += complaints(world.entries(session), Counter(calls.read_text().split() if calls.exists() else ()))
        found += [each.what for each in verify(session.name, read_copy(session), OPENAI_CHAT).problems]
    if (folder / "marker").exists():  # the server that the turn, or the next one, started again
        again, _ = left(map(int, (folder / "marker").read_text().split()), time.monotonic())
        found += [f"{len(again)} processes live after the end"] if again else []
    return [f"{victims} at {point}: {each}" for each in found], seconds


def cwd_of(world: World, session: Path) -> str:
    """Return the folder of a session, "" for one without an entry: its agent was killed before the first."""
    entries = world.entries(session)
    return entries[0].cwd if entries and isinstance(entries[0], SessionOpened) else ""


def tried(world: World, victims: str, *, most: int, program: str = STRIKE) -> tuple[list[str], list[int], int, float]:
    """Return what is wrong at any point, the points that were tried, how many there are, and the longest life."""
    struck_at(world, victims, 0)
    many, first = read_points(world.folder / f"{victims}-0")
    every = range(1 if "agent" in victims else first, many + 1)
    chosen: Sequence[int] = [point for (point,) in some([(each,) for each in every], most)]
    found, slowest = list[str](), 0.0
    for point in chosen:
        wrong, seconds = struck_at(world, victims, point, program=program)
        found += wrong
        slowest = max(slowest, seconds)
    return found, list(chosen), len(every), slowest


@pytest.mark.parametrize("victims", sampled(VICTIMS, 2))
def test_a_kill_at_any_entry_of_a_turn_with_servers(server_world: World, victims: str) -> None:
    found, points, of, slowest = tried(server_world, victims, most=MOST)
    record("a turn with MCP calls", f"{victims} killed", points=len(points), of=of, violations=found, slowest=slowest)
    assert found == []


@pytest.mark.deep
def test_the_sdks_own_processes_are_found_out(server_world: World) -> None:
    """Killed while the server lives, the agent leaves it and its child."""
    struck_at(server_world, "agent", 0)
    many, first = read_points(server_world.folder / "agent-0")
    points = [point for (point,) in some([(each,) for each in range(first + 1, many + 1)], 1)]
    found = [each for point in points for each in struck_at(server_world, "agent", point, program=SDK + STRIKE)[0]]
    record("MCP calls, processes of the SDK", "agent killed", points=len(points), violations=found, known_bad=True)
    assert len([each for each in found if each.endswith("2 processes live")]) == len(points)
