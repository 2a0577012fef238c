"""A client of `holdfast acp` goes at each entry of a turn: the turn is settled, nothing lives, a load shows the same.

The turn has calls of an MCP server that ignores all it can, a command, and a question that the client answers. When the
client has gone, all of the agent ends by itself. A new one loads the session, shows each card that the client saw by
the same id, each once and with its end, and goes on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from editor_client import Editor
from launching import World
from report import record
from struck import STRIKE, complaints, left, read_points, read_struck
from test_mcp_kills import cwd_of, server_world, turn

from holdfast.history.profiles import OPENAI_CHAT
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.session.verify import verify
from holdfast.testing.script import Call, ReceivedRequest, Reply
from launcher import PRODUCT
from tiers import some

__all__ = ["server_world"]

LEAVES_WITHIN = 2.0
"""Seconds in which an agent without a client must have settled its turn and ended."""
MOST = 2


def asking_turn(request: ReceivedRequest) -> Reply:
    """Return what the model does next: a call of the server and a command that has to be asked about, then as there."""
    step = sum(message["role"] == "assistant" for message in request.messages)
    first = Call("mcp__srv__echo", {"text": "one"}), Call("bash", {"command": "touch ran; echo out"})
    return first if step == 0 and '"go on"' not in str(request.body).replace("'", '"') else turn(request)


class Client:
    """A client that takes a session through one turn, as far as it comes."""

    def __init__(self, world: World, folder: Path, point: int) -> None:
        self.folder = folder
        environ = world.environ(STRIKE=f"client {point}")
        program = STRIKE + PRODUCT
        self.editor = Editor(world, program=program, environ=environ, cwd=folder, cold=False)
        self.session = ""
        self._next_line = 0
        initialize = self.editor.request("initialize", protocolVersion=1, clientCapabilities={})
        self._new = self.editor.request("session/new", cwd=str(folder), mcpServers=[])
        self._prompt: dict[str, Any] = {}
        self.editor.send(initialize, self._new)

    def goes_on(self) -> bool:
        """Take what has come and answer it. Return False when the turn has ended, or the agent is struck."""
        if (self.folder / "struck").exists():
            return False
        assert self.editor.more(0.01)
        for line in self.editor.lines[self._next_line :]:
            self._next_line += 1
            if line.get("method") == "session/request_permission":
                self.editor.choose(line, "once")
            elif "method" not in line and line["id"] == self._new["id"]:
                self.session = line["result"]["sessionId"]
                self._prompt = self.editor.prompt(self.session, "go")
            elif "method" not in line and self._prompt and line["id"] == self._prompt["id"]:
                return False
        return True

    @property
    def cards(self) -> list[str]:
        """Return the ids of the calls that it has shown."""
        return [each["toolCallId"] for each in self.editor.updates("tool_call")]


def gone_at(world: World, point: int) -> tuple[list[str], float]:
    """Return what is wrong if the client goes at a point of the turn, and how long anything lived then."""
    folder = world.folder / f"client-{point}"
    folder.mkdir()
    world.script(*[asking_turn] * 6)
    client = Client(world, folder, point)
    while client.goes_on():
        pass
    if point == 0:
        client.editor.leave()
        return [], 0.0
    struck = read_struck(folder)
    began = time.monotonic()
    (folder / "gone").touch()
    ran = client.editor.vanish()
    found = [f"it ended with {ran.code}: {ran.err}"] if ran.code else []
    took = time.monotonic() - began
    remain, seconds = left([*struck.server, *struck.above], time.monotonic())
    found += [f"{len(remain)} processes live"] if remain else []
    for session in (each for each in world.sessions if cwd_of(world, each) == str(folder)):
        if client.session:
            found += shown_again(world, folder, client)
        entries = world.entries(session)
        found += complaints(entries, Counter(ran_tools(folder))) if client.session else []
        found += [each.what for each in verify(session.name, read_copy(session), OPENAI_CHAT).problems]
    return [f"at {point}: {each}" for each in found], took + seconds


def ran_tools(folder: Path) -> Sequence[str]:
    """Return the tools that ran, each as often as it did."""
    calls = folder / "marker.calls"
    return [*(calls.read_text().split() if calls.exists() else ()), *(["bash"] if (folder / "ran").exists() else [])]


def shown_again(world: World, folder: Path, client: Client) -> list[str]:
    """Return what is wrong with the session as another agent loads it; it then goes on."""
    again = Editor(world, cwd=folder, cold=False)
    loaded = again.load(client.session)
    found = [] if "result" in loaded else [f"it was not loaded: {loaded}"]
    cards = [each["toolCallId"] for each in again.updates("tool_call")]
    if cards[: len(client.cards)] != client.cards or len(set(cards)) != len(cards):
        found.append(f"the cards were {client.cards} and are {cards}")
    ends = {each["toolCallId"] for each in again.updates("tool_call_update")}
    ends |= {each["toolCallId"] for each in again.updates("tool_call") if each["status"] in ("completed", "failed")}
    found += [f"card {each} has no end" for each in cards if each not in ends]
    answer = again.answer(again.prompt(client.session, "go on"))
    if answer.get("result", {}).get("stopReason") != "end_turn":
        found.append(f"the next prompt was answered with {answer}")
    again.leave()
    return found


@pytest.mark.deep
def test_a_client_that_goes_at_any_entry_of_a_turn(server_world: World) -> None:
    gone_at(server_world, 0)
    many, _ = read_points(server_world.folder / "client-0")
    every = range(1, many + 1)
    points = [point for (point,) in some([(each,) for each in every], MOST)]
    found, slowest = list[str](), 0.0
    for point in points:
        wrong, seconds = gone_at(server_world, point)
        found += wrong
        slowest = max(slowest, seconds)
    record("a turn of an editor", "client killed", points=len(points), of=many, violations=found, slowest=slowest)
    assert found == []
