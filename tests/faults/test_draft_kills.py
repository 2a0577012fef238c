"""SIGKILL of `holdfast serve` at each step of a prompt: a client that sends it again under its key has it done once.

A step is before or after a change of the inbox, or an append to the journal. The client is a page that got no answer:
it keeps the key with the draft, and sends both again to the next server.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from launching import World
from page_server import Served
from report import record

from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import CallEnded, CallStarted, PromptAccepted, TurnEnded
from holdfast.testing.script import Call, ReceivedRequest, Reply, Say
from holdfast.testing.scripted_provider import ScriptedProvider
from launcher import PRODUCT
from polling import eventually
from tiers import some

STRUCK = """
import os, pathlib, signal, threading
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.ui.service.local import local_fleet
from holdfast.ui.service.local.inbox_file import InboxFile

lock, done = threading.Lock(), 0

def step(name):
    global done
    with lock:
        done += 1
        if POINT == 0:
            with open("steps", "a") as file:
                file.write(name + "\\n")
        elif done == POINT:
            pathlib.Path("struck").write_text(name)
            os.kill(os.getpid(), signal.SIGKILL)

def strike(owner, name):
    function = getattr(owner, name)
    def struck(*given, **named):
        step(name + " before")
        result = function(*given, **named)
        step(name + " after")
        return result
    setattr(owner, name, struck)

strike(local_fleet, "create_session")
for each in ("add", "done", "drive", "drop"):
    strike(InboxFile, each)
strike(SqliteStore, "append")
"""
MOST = 5


def turn(request: ReceivedRequest) -> Reply:
    """Return a command that only reads, and an answer after its result."""
    if request.messages[-1]["role"] == "user":
        return (Call("read", {"path": "a.txt"}),)
    return (Say("Done."),)


def struck_at(root: Path, point: int) -> tuple[list[str], str]:
    """Return what is wrong after a kill at a step, and which step that was; "" if the work ended before it."""
    root.mkdir()
    with ScriptedProvider() as provider:
        world = World("openai-chat", root=root, provider=provider)
        world.script(*[turn] * 40)
        (world.folder / "a.txt").write_text("one\n")
        served = Served(world, program=STRUCK.replace("POINT", str(point)) + PRODUCT)
        served.program = PRODUCT  # every later one
        try:
            found = _struck(world, served)
            world.verify()
        finally:
            world.close()
        struck = world.folder / "struck"
        return [f"at {point}: {each}" for each in found], struck.read_text() if struck.exists() else ""


def _struck(world: World, served: Served) -> list[str]:
    first = sent(served, "/sessions", "draft-1", {"prompt": "first"})
    session = first["id"]
    second = sent(served, f"/sessions/{session}/inbox", "draft-2", {"kind": "prompt", "text": "second"})
    eventually(lambda: _is_done(served, session, second["id"]))
    code = served.stop().code
    struck_now = code == -signal.SIGKILL and (world.folder / "struck").exists()  # the last steps are those of its end
    found = [] if code == 0 or struck_now else [f"the last server ended with {code}"]
    (one,) = world.sessions
    entries = world.entries()
    prompts = [each.text for each in entries if isinstance(each, PromptAccepted)]
    if prompts != ["first", "second"] or one.name != session:
        found.append(f"the prompts are {prompts}")
    turns = [each.turn for each in entries if isinstance(each, TurnEnded)]
    if turns != [1, 2] or fold(entries).is_open:
        found.append(f"the turns that ended are {turns}")
    started = [each.call for each in entries if isinstance(each, CallStarted)]
    ended = [each.call for each in entries if isinstance(each, CallEnded)]
    if len(set(started)) != len(started) or not set(started) <= set(ended):
        found.append(f"{started} were started, and {ended} ended")
    return found


def sent(served: Served, path: str, key: str, body: dict[str, str]) -> dict[str, Any]:
    """Send a draft until it has an answer, each time under its own key, and return the answer."""
    while True:
        try:
            answer = served.client.post(path, json=body, headers={"idempotency-key": key})
        except httpx2.TransportError:  # it was struck: the answer is lost
            served.client.close()
            served.start()
            continue
        assert answer.status_code in {201, 202}, answer.text
        return answer.json()


def _is_done(served: Served, session: str, row: int) -> bool:
    try:
        return bool(served.row(session, row)["done"]) and served.state(session) == "idle"
    except httpx2.TransportError:
        served.client.close()
        served.start()
        return False


def test_a_draft_that_is_sent_again_after_a_kill_is_done_once(tmp_path: Path) -> None:
    found, _ = struck_at(tmp_path / "whole", 0)
    steps = (tmp_path / "whole/work/steps").read_text().splitlines()
    assert {each.split()[0] for each in steps} >= {"create_session", "add", "append", "done", "drive"}
    points = [point for (point,) in some([(each,) for each in range(1, len(steps) + 1)], MOST)]
    tried = 0
    for point in points:
        wrong, struck = struck_at(tmp_path / str(point), point)
        tried += bool(struck)
        found += wrong
    record("a draft sent to a server", "server killed", points=tried, of=len(steps), violations=found)
    assert found == []
    assert tried >= len(points) - 1  # the last steps may not come again


@pytest.mark.parametrize("step", ["append before", "create_session after", "add after"])
def test_a_kill_before_the_answer(tmp_path: Path, step: str) -> None:
    """A page cannot tell them apart: the journal has no entry yet, the session is there, the prompt is, too."""
    struck_at(tmp_path / "whole", 0)
    steps = (tmp_path / "whole/work/steps").read_text().splitlines()
    found, struck = struck_at(tmp_path / "struck", steps.index(step) + 1)
    assert (found, struck) == ([], step)
