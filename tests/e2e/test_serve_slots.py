"""Slots of the local server: an idle session is closed, so that another one and a terminal get their turn."""

from __future__ import annotations

import time

from launching import World, bash
from page_server import Served

from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Hold, Say
from polling import eventually, expect_within, slowness

SESSIONS = 20
IDLE = 10.0
"""Seconds that the server keeps an idle session open, unless `--linger` says otherwise."""


def answers(world: World) -> int:
    """Return how many turns of all sessions have ended well."""
    return sum(
        isinstance(entry, e.TurnEnded) and entry.cause == "finished"
        for session in world.sessions
        for entry in world.entries(session)
    )


def closed(served: Served, session: str) -> bool:
    """Return whether no program has the session open."""
    return served.get(f"/sessions/{session}")["holder"] == ""


def test_every_session_gets_the_only_slot(one_world: World) -> None:
    world = one_world
    world.script(*[(Say("Done."),)] * (SESSIONS + 1))
    world.one_past = False
    served = Served(world, ("--slots", "1"))
    begun = time.monotonic()
    sessions = [served.begin(f"task {number}") for number in range(SESSIONS)]
    eventually(lambda: answers(world) == SESSIONS, 120 * slowness(), every=0.2)
    # None of them waits until the one before it has been idle for its time.
    expect_within(IDLE * SESSIONS / 2, begun)
    served.ask(sessions[0], "prompt", text="once more")  # also an earlier one gets it again
    eventually(lambda: answers(world) == SESSIONS + 1, 120 * slowness(), every=0.2)
    assert {each["refused"] for session in sessions for each in served.inbox(session)} == {""}
    assert served.stop().code == 0


def test_a_running_turn_and_its_background_command_keep_their_slot(one_world: World) -> None:
    world = one_world
    command = Call("bash", {"command": "until [ -e end ]; do sleep 0.1; done", "background": True})
    world.script((command,), (Say("one"), Hold("one")), (Say("Done."),), (Say("two"),))
    world.one_past = False
    served = Served(world, ("--slots", "1", "--linger", "1", "--permission-mode", "yolo", "--allow-yolo"))
    first = served.begin("first")
    eventually(lambda: world.sessions and world.checkpointed() == "one")
    second = served.begin("second")
    eventually(lambda: served.get("/status")["oldest"] > 3)  # the server has looked for a slot more than once
    assert (served.state(first), served.state(second)) == ("running", "waiting")
    world.provider.release("one")
    eventually(lambda: answers(world) == 1)
    waited = served.get("/status")["oldest"]
    eventually(lambda: served.get("/status")["oldest"] > waited + 3)
    assert (served.state(first), served.state(second)) == ("idle", "waiting")
    assert not closed(served, first)
    (world.folder / "end").touch()
    eventually(lambda: served.state(second) == "idle")
    assert answers(world) >= 2
    eventually(lambda: closed(served, first) and closed(served, second), 60 * slowness())
    assert served.stop().code == 0


def test_a_terminal_continues_a_session_of_the_server_while_its_page_is_open(one_world: World) -> None:
    world = one_world
    world.script((bash("touch first"), Say("Server.")), (Say("Done."),), (Say("Terminal."),), (Say("Server again."),))
    served = Served(world, ("--permission-mode", "yolo", "--allow-yolo"))
    session = served.begin("begin")
    with served.client.stream("GET", f"/sessions/{session}/events"):  # as an open page does
        eventually(lambda: answers(world) == 1)
        ended = time.monotonic()
        assert not closed(served, session)
        eventually(lambda: closed(served, session), 3 * IDLE * slowness(), every=0.1)
        assert time.monotonic() - ended > IDLE / 2
        ran = world.run("-p", "go on", "-c")
        assert (ran.code, ran.out.strip()) == (0, "Terminal."), ran.err
        served.ask(session, "prompt", text="and here")  # the server takes it back
        eventually(lambda: answers(world) == 3)
    assert served.stop().code == 0
