"""The client of AG-UI that CopilotKit is built on leads whole sessions, and shows what the journal says.

It checks the shape of every event and its place in the run, and raises an error otherwise. Two versions are tried: that
of the protocol's 1.0, and the one that `@copilotkit/runtime` 1.75.0 depends on. Both come from npm: `make ag-ui` puts
them into `build/`. Without them these tests are skipped.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from launching import World, bash
from node_client import NodeClient
from page_server import Served

from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Fail, Hold, Say, Think
from needs import AG_UI
from polling import eventually
from skips import needs

CLIENT = Path(__file__).with_name("ag_ui_client.mjs")
PACKAGES = {"1.0.0": "@ag-ui/client", "0.0.59": "client-0.0.59"}
pytestmark = needs("ag-ui")


@contextmanager
def client(served: Served, version: str) -> Generator[NodeClient]:
    """Yield a client of a server, which is killed in the end."""
    words = (str(AG_UI / PACKAGES[version]), served.address, served.token)
    node_client = NodeClient(CLIENT, *words, environ=served.world.environ(), cwd=served.world.folder)
    try:
        yield node_client
    finally:
        node_client.close()


def done(line: dict[str, Any]) -> tuple[list[tuple[str, Any]], list[str]]:
    """Return what the client shows: who said what, calls with their outcome; and the calls that the user must allow."""
    assert "done" in line, line
    shown: list[tuple[str, Any]] = []
    for each in line["done"]["messages"]:
        if each.get("content"):
            shown.append((each["role"], each["content"]))
        shown += [("call", call["function"]["name"]) for call in each.get("toolCalls", ())]
    return shown, [each["toolCallId"] for each in line["done"]["pending"]]


def types(page: NodeClient) -> list[str]:
    return [line["event"]["type"] for line in page.lines if "event" in line]


@pytest.mark.parametrize("version", PACKAGES)
def test_a_conversation_with_questions_is_led_by_the_client(one_world: World, version: str) -> None:
    world = one_world
    world.script(
        (Think("hm"), Say("I run it."), bash("echo hello; touch ran")),
        (Say("It ran."),),
        (bash("touch no"),),
        (Say("Then not."),),
        (Fail(400, "no such thing"),),
        (Say("Here."),),
    )
    served = Served(world)
    with client(served, version) as page:
        page.ask(do="open", thread="thread-1")
        shown, (call,) = done(page.ask(do="say", run="r1", content="run it"))
        assert shown == [("user", "run it"), ("reasoning", "hm"), ("assistant", "I run it."), ("call", "bash")]
        assert not (world.folder / "ran").exists()
        allowed = {call: {"status": "resolved", "payload": {"choice": "once"}}}
        shown, pending = done(page.ask(do="answer", run="r2", responses=allowed))
        (ended,) = [entry for entry in world.entries() if isinstance(entry, e.CallEnded)]
        assert shown[4:] == [("tool", ended.text), ("assistant", "It ran.")]
        assert not pending
        assert (world.folder / "ran").exists()

        _, (call,) = done(page.ask(do="say", run="r3", content="another"))
        shown, pending = done(page.ask(do="answer", run="r4", responses={call: {"status": "cancelled"}}))
        *_, ended = [entry for entry in world.entries() if isinstance(entry, e.CallEnded)]
        assert shown[6:] == [("user", "another"), ("call", "bash"), ("tool", ended.text), ("assistant", "Then not.")]
        assert ended.outcome == "denied"
        assert not pending

        # A run that failed is said to have, and the conversation goes on.
        page.ask(do="say", run="r5", content="fail")
        assert types(page)[-1] == "RUN_ERROR"
        shown, _ = done(page.ask(do="say", run="r6", content="still there?"))
        assert shown[-2:] == [("user", "still there?"), ("assistant", "Here.")]

        # Another client that watches sees the same runs, in order.
        start = len(types(page))
        assert "done" in page.ask(do="watch", path="/sessions/thread-1/events?as=ag-ui", runs=6)
        watched = types(page)[start:]
        assert [each for each in watched if each.startswith("RUN_")] == [
            *["RUN_STARTED", "RUN_FINISHED"] * 4,
            "RUN_STARTED",
            "RUN_ERROR",
            "RUN_STARTED",
            "RUN_FINISHED",
        ]
    served.stop()
    prompts = [entry.text for entry in world.entries() if isinstance(entry, e.PromptAccepted)]
    assert prompts == ["run it", "another", "fail", "still there?"]


@pytest.mark.parametrize("version", PACKAGES)
def test_a_run_that_is_stopped_or_steered_or_left_by_its_page(one_world: World, version: str) -> None:
    world = one_world
    world.script(
        (Say("half"), Hold("stop")),
        (Say("One."), Hold("steer"), Call("read", {"path": "there.txt"})),
        (Say("Two."),),
        (Say("Three."), Hold("left")),
        (Say("Four."),),
    )
    (world.folder / "there.txt").write_text("here\n")
    served = Served(world)
    with client(served, version) as page:
        page.ask(do="open", thread="thread-2")
        page.send(do="say", run="r1", content="begin")
        world.provider.wait_for("stop")
        served.ask("thread-2", "stop")
        page.until(lambda line: "done" in line and line["done"].get("messages"))
        (end,) = [line["event"] for line in page.lines if line.get("event", {}).get("type") == "RUN_FINISHED"]
        assert end["result"] == {"reason": "cancelled", "cause": "user"}
        assert end.get("outcome") == ({"type": "cancelled"} if version == "1.0.0" else None)
        start = len(page.lines)
        page.send(do="say", run="r2", content="again")
        world.provider.wait_for("steer")
        served.ask("thread-2", "steer", text="be quick")
        eventually(lambda: any(isinstance(entry, e.Queued) for entry in world.entries()))
        world.provider.release("steer")
        shown, _ = done(page.until(lambda line: "done" in line, start))
        assert [each for each in shown if each[0] == "user"][-1] == ("user", "be quick")
        assert shown[-1] == ("assistant", "Two.")

        page.send(do="say", run="r3", content="and now")
        world.provider.wait_for("left")
        page.send(do="leave")
        page.until(lambda line: "left" in line)
        world.provider.release("left")
        served.finished("thread-2")  # the run belongs to the session, not to a page
    ends = [entry for entry in world.entries() if isinstance(entry, e.TurnEnded)]
    assert [entry.cause for entry in ends] == ["user", "finished", "finished"]

    # A page that is opened later, knows nothing and asks something shows its own run.
    with client(served, version) as page:
        page.ask(do="open", thread="thread-2")
        shown, _ = done(page.ask(do="say", run="r4", content="what else?"))
        assert shown == [("user", "what else?"), ("assistant", "Four.")]
    served.stop()
