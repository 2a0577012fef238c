"""Plan mode in a real terminal: a plan is presented, the program is killed at it, and it is asked about again, once."""

from __future__ import annotations

import signal

from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.session.journal.entries import ApprovalAsked, CallEnded, ModeChanged
from holdfast.testing.script import Call, Say

PLAN = "# Write the file\n\n1. Write `a.txt`.\n2. Look at it.\n"


def test_a_plan_survives_a_kill_and_its_mode_the_next_start(one_world: World) -> None:
    one_world.script(
        [Call("write", {"path": "a.txt", "content": "too early"})],
        [Call("present_plan", {"plan": PLAN})],
        [Call("write", {"path": "a.txt", "content": "planned"})],
        [Say("Carried out.")],
    )
    with screen(one_world, "-m", one_world.model, "--permission-mode", "plan") as terminal:
        terminal.wait_text("plan · shift")
        terminal.line("go")
        terminal.wait_text(r"(?s)Carry out this plan\?.*Write the file.*1  Approve, and edit freely")
        terminal.kill(signal.SIGKILL)
        terminal.wait()
    assert not (one_world.folder / "a.txt").exists()
    with screen(one_world, "-c") as terminal:
        terminal.wait_text(r"(?s)Carry out this plan\?.*1  Approve, and edit freely")
        terminal.send("1")
        terminal.wait_text(r"Carried out\.")
        terminal.wait_absent("esc to interrupt")
        terminal.wait_text("accept-edits · shift")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert (one_world.folder / "a.txt").read_text() == "planned"
    entries = one_world.entries()
    assert [entry.outcome for entry in entries if isinstance(entry, CallEnded)] == ["denied", "ok", "ok"]
    assert sum(isinstance(entry, ApprovalAsked) for entry in entries) == 1
    assert [entry.mode for entry in entries if isinstance(entry, ModeChanged)] == ["accept-edits"]
    with screen(one_world, "-c") as terminal:
        terminal.wait_text("accept-edits · shift")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
