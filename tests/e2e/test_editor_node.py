"""Both official TypeScript clients drive whole sessions; every line of both sides is judged by the protocol's schema.

They come from npm: `make npm` installs them into `build/`. Without them these tests are skipped.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from editor_client import ANSWERS, CALLED, judge_by
from launching import World, alive, bash
from node_client import NodeClient

from holdfast.session.journal.entries import CallEnded, TurnEnded
from holdfast.testing.script import Hold, Say
from needs import EDITORS
from polling import HANGS, eventually, expect_within
from process_leaks import alive as marked
from skips import needs
from tiers import DEEP, one_of

CLIENT = Path(__file__).with_name("editor_client.mjs")
PACKAGES = {"new": "@agentclientprotocol/sdk", "old": "@zed-industries/agent-client-protocol"}
SENT = {
    "initialize": "InitializeRequest",
    "session/new": "NewSessionRequest",
    "session/load": "LoadSessionRequest",
    "session/prompt": "PromptRequest",
    "session/cancel": "CancelNotification",
}
CANCELS = 200 if DEEP else 12


pytestmark = needs("editors")


class NodeEditor:
    """One of the clients, with its agent."""

    def __init__(self, world: World, which: str, *options: str) -> None:
        agent = (sys.executable, "-m", "holdfast", "acp", "-m", world.model, *options)
        words = (which, str(EDITORS), *agent)
        self.world = world
        self.client = NodeClient(CLIENT, *words, environ=world.environ(), cwd=world.folder, on_line=self._judge)
        self._raw = {"sent": "", "received": ""}
        self._methods: dict[str, dict[Any, str]] = {"sent": {}, "received": {}}
        self.agent = int(self.client.until(lambda line: "agent" in line)["agent"])

    def new(self) -> str:
        return str(self.client.ask(do="new", cwd=str(self.world.folder))["done"]["sessionId"])

    def updates(self, kind: str) -> list[dict[str, Any]]:
        updates = [line["update"] for line in self.client.lines if "update" in line]
        return [each for each in updates if each["sessionUpdate"] == kind]

    def leave(self) -> None:
        self.client.send(do="leave")
        assert self.client.until(lambda line: "ended" in line)["ended"] == 0
        assert self.client.process.wait(HANGS) == 0

    def _judge(self, line: dict[str, Any]) -> None:
        for side in [each for each in self._raw if each in line]:
            *complete_lines, self._raw[side] = (self._raw[side] + line[side]).split("\n")
            for each in complete_lines:
                self._judge_line(side, json.loads(each.encode("latin1")))

    def _judge_line(self, side: str, line: dict[str, Any]) -> None:
        if "method" in line:
            judge_by((SENT if side == "sent" else CALLED)[line["method"]], line["params"])
            if "id" in line:
                self._methods[side][line["id"]] = line["method"]
        elif "error" in line:
            judge_by("Error", line["error"])
        else:
            method = self._methods["received" if side == "sent" else "sent"].pop(line["id"])  # answered once
            judge_by({**ANSWERS, "session/request_permission": "RequestPermissionResponse"}[method], line["result"])


@contextmanager
def client(world: World, which: str, *options: str) -> Generator[NodeEditor]:
    """Yield a client, which is killed in the end."""
    editor = NodeEditor(world, which, *options)
    try:
        yield editor
    finally:
        editor.client.close()


@pytest.mark.parametrize("which", one_of(list(PACKAGES), "node"))
def test_a_session_with_a_question_is_loaded_after_a_kill(one_world: World, which: str) -> None:
    world = one_world
    rest = f"600.{os.getpid()}"  # found from outside: in the sandbox the shell has another pid
    world.script(
        (Say("I run it. "), bash(f"touch ran; sleep {rest}")),
        (Say("Whole."),),
        (bash("echo $$ > again; sleep 600"),),
    )
    with client(world, which) as editor:
        session = editor.new()
        editor.client.send(do="prompt", session=session, text="do it")
        eventually((world.folder / "ran").exists)
        editor.client.until(lambda line: line.get("update", {}).get("status") == "in_progress")
        shown = [each["toolCallId"] for each in editor.updates("tool_call")]
        eventually(lambda: marked(rest))
        os.kill(editor.agent, signal.SIGKILL)
        killed = time.monotonic()
        eventually(lambda: not alive([str(editor.agent)]))
    eventually(lambda: not marked(rest))
    expect_within(1.0, killed)
    with client(world, which, "--yolo") as editor:
        assert "done" in editor.client.ask(do="load", cwd=str(world.folder), session=session)
        assert [each["toolCallId"] for each in editor.updates("tool_call")] == shown
        assert editor.updates("tool_call_update")[-1]["status"] == "failed"
        assert editor.client.ask(do="prompt", session=session, text="go on")["done"]["stopReason"] == "end_turn"
        editor.client.send(do="prompt", session=session, text="again")
        eventually(lambda: bool(world.lines("again")))
        editor.client.process.kill()  # the client, at once
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
        assert "done" in editor.client.ask(do="cancels", session=session, after=after)
        answers = [line for line in editor.client.lines if "cancelled" in line]
        assert marked(str(world.home))
        editor.leave()
    eventually(lambda: not marked(str(world.home)))
    assert [each["cancelled"] for each in answers] == ["cancelled"] * CANCELS
    took = sorted(each["ms"] for each in answers)
    assert took[int(len(took) * 0.99) - 1] < (1_200 if DEEP else 1_000 * HANGS), took[-5:]
    assert [each.cause for each in world.entries() if isinstance(each, TurnEnded)] == ["user"] * CANCELS
    assert not (world.folder / "asked").exists()
