"""Both official TypeScript clients drive whole sessions; every line of both sides is judged by the protocol's schema.

They come from npm: `make editors` installs them into `build/`. Without them these tests are skipped.
"""

from __future__ import annotations

import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from editor_client import ANSWERS, CALLED, judge_by
from launching import World, alive, bash

from holdfast.session.journal.entries import CallEnded, TurnEnded
from holdfast.testing.script import Hold, Say
from polling import HANGS, eventually
from process_leaks import alive as marked
from tiers import DEEP, one_of

CLIENT = Path(__file__).with_name("editor_client.mjs")
MODULES = Path(__file__).parents[2] / "build" / "editors" / "node_modules"
PACKAGES = {"new": "@agentclientprotocol/sdk", "old": "@zed-industries/agent-client-protocol"}
SENT = {
    "initialize": "InitializeRequest",
    "session/new": "NewSessionRequest",
    "session/load": "LoadSessionRequest",
    "session/prompt": "PromptRequest",
    "session/cancel": "CancelNotification",
}
CANCELS = 200 if DEEP else 12


def missing() -> str:
    """Return why the clients cannot be run, "" if they can."""
    if shutil.which("node") is None:
        return "node is not installed"
    return "" if all((MODULES / each).is_dir() for each in PACKAGES.values()) else "run `make editors` first"


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "there")


class NodeEditor:
    """One of the clients, with its agent."""

    def __init__(self, world: World, which: str, *options: str) -> None:
        agent = (sys.executable, "-m", "holdfast", "acp", "-m", world.model, *options)
        self.world = world
        self.process = subprocess.Popen(
            ["node", str(CLIENT), which, str(MODULES), *agent],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=world.environ(),
            cwd=world.folder,
        )
        self.lines: list[dict[str, Any]] = []
        self._rest = b""
        self._raw = {"sent": "", "received": ""}
        self._asked: dict[str, dict[Any, str]] = {"sent": {}, "received": {}}
        self.agent = int(self.until(lambda line: "agent" in line)["agent"])

    def ask(self, **wish: Any) -> dict[str, Any]:
        """Have something done, and return what came of it."""
        looked = len(self.lines)
        self.tell(**wish)
        return self.until(lambda line: "done" in line or "failed" in line, looked)

    def tell(self, **wish: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(wish).encode() + b"\n")
        self.process.stdin.flush()

    def new(self) -> str:
        return str(self.ask(do="new", cwd=str(self.world.folder))["done"]["sessionId"])

    def until(self, found: Callable[[dict[str, Any]], bool], looked: int = 0) -> dict[str, Any]:
        """Return the first line of which this is true."""
        end = time.monotonic() + HANGS
        while True:
            for line in self.lines[looked:]:
                looked += 1
                if found(line):
                    return line
            assert time.monotonic() < end, f"no such line came; the last were {self.lines[-3:]}"
            assert self.more(), f"the client has ended; its last lines were {self.lines[-3:]}"

    def more(self) -> bool:
        """Take what comes within a moment. Return whether more may come."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], 0.1)[0]:
            return True
        chunk = os.read(self.process.stdout.fileno(), 1 << 16)
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        for each in whole:
            line = json.loads(each)
            for side in ("sent", "received"):
                if side in line:
                    self._judge(side, line[side])
            self.lines.append(line)
        return bool(chunk)

    def updates(self, kind: str) -> list[dict[str, Any]]:
        said = [line["update"] for line in self.lines if "update" in line]
        return [each for each in said if each["sessionUpdate"] == kind]

    def leave(self) -> None:
        self.tell(do="leave")
        assert self.until(lambda line: "ended" in line)["ended"] == 0
        assert self.process.wait(HANGS) == 0

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()

    def _judge(self, side: str, text: str) -> None:
        *whole, self._raw[side] = (self._raw[side] + text).split("\n")
        other = "received" if side == "sent" else "sent"
        for each in whole:
            line = json.loads(each.encode("latin1"))
            names = SENT if side == "sent" else CALLED
            if "method" in line:
                judge_by(names[line["method"]], line["params"])
                if "id" in line:
                    self._asked[side][line["id"]] = line["method"]
            elif "error" in line:
                judge_by("Error", line["error"])
            else:
                asked = self._asked[other].pop(line["id"])  # answered once
                judge_by({**ANSWERS, "session/request_permission": "RequestPermissionResponse"}[asked], line["result"])


@contextmanager
def client(world: World, which: str, *options: str) -> Generator[NodeEditor]:
    """Yield a client, which is killed in the end."""
    made = NodeEditor(world, which, *options)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("which", one_of(list(PACKAGES), "node"))
def test_a_session_with_a_question_is_loaded_after_a_kill(one_world: World, which: str) -> None:
    world = one_world
    world.script(
        (Say("I run it. "), bash("echo $$ > pid; touch ran; sleep 600")),
        (Say("Whole."),),
        (bash("echo $$ > again; sleep 600"),),
    )
    with client(world, which) as editor:
        session = editor.new()
        editor.tell(do="prompt", session=session, text="do it")
        eventually((world.folder / "ran").exists)
        editor.until(lambda line: line.get("update", {}).get("status") == "in_progress")
        shown = [each["toolCallId"] for each in editor.updates("tool_call")]
        os.kill(editor.agent, signal.SIGKILL)
        eventually(lambda: not alive([str(editor.agent)]))
    eventually(lambda: not alive(world.lines("pid")), 1.0)
    with client(world, which, "--yolo") as editor:
        assert "done" in editor.ask(do="load", cwd=str(world.folder), session=session)
        assert [each["toolCallId"] for each in editor.updates("tool_call")] == shown
        assert editor.updates("tool_call_update")[-1]["status"] == "failed"
        assert editor.ask(do="prompt", session=session, text="go on")["done"]["stopReason"] == "end_turn"
        editor.tell(do="prompt", session=session, text="again")
        eventually(lambda: bool(world.lines("again")))
        editor.process.kill()  # the client, at once
        eventually(lambda: not alive([*world.lines("again"), str(editor.agent)]))
    assert [each.outcome for each in world.entries() if isinstance(each, CallEnded)] == ["interrupted", "interrupted"]
    assert [each.cause for each in world.entries() if isinstance(each, TurnEnded)] == ["crash", "finished", "output"]


@pytest.mark.parametrize("which", one_of(list(PACKAGES), "cancels"))
def test_cancels_at_random_points_are_answered_with_cancelled(one_world: World, which: str) -> None:
    world = one_world
    draw = random.Random(CANCELS)
    world.script(
        *((Say("half"), Hold("never")) if draw.random() < 0.5 else (bash("touch asked"),) for _ in range(CANCELS))
    )
    after = [0 if number % 4 == 0 else draw.randrange(1, 150) for number in range(CANCELS)]
    with client(world, which) as editor:
        session = editor.new()
        assert "done" in editor.ask(do="cancels", session=session, after=after)
        answers = [line for line in editor.lines if "cancelled" in line]
        assert marked(str(world.home))
        editor.leave()
    eventually(lambda: not marked(str(world.home)))
    assert [each["cancelled"] for each in answers] == ["cancelled"] * CANCELS
    took = sorted(each["ms"] for each in answers)
    assert took[int(len(took) * 0.99) - 1] < (1_200 if DEEP else 1_000 * HANGS), took[-5:]
    assert [each.cause for each in world.entries() if isinstance(each, TurnEnded)] == ["user"] * CANCELS
    assert not (world.folder / "asked").exists()
