"""Turns with confined commands in the installed program: stopped, in the background, by a rule, in plan mode."""

from __future__ import annotations

import signal

from launching import Agent, World
from test_nasty_children import left

from holdfast.session.journal.entries import CallEnded, CallStarted
from holdfast.testing.script import Call, Say
from polling import eventually, slowness
from process_leaks import linux_only

pytestmark = linux_only

LIMIT = 2.0
"""Seconds in which everything of a command must be gone after a stop or an exit."""


def started(world: World) -> list[str]:
    return [each.confined for each in world.entries() if isinstance(each, CallStarted)]


def ended(world: World) -> list[CallEnded]:
    return [each for each in world.entries() if isinstance(each, CallEnded)]


def start(world: World, *options: str) -> Agent:
    """Start the program with one prompt."""
    return world.start("-m", world.model, "-p", "go", "--sandbox", "auto", *options)


STAYS = "trap '' TERM INT HUP; exec 9>held; setsid -f sleep 300; echo up; echo x > begun; sleep 300"


def test_a_stop_ends_a_confined_command_and_the_next_turn_knows_it(walled_world: World) -> None:
    world = walled_world
    world.script((Call("bash", {"command": STAYS}),))
    agent = start(world, "--allow", "Bash(*)")
    eventually((world.folder / "begun").exists)
    agent.send(signal.SIGINT)
    assert agent.wait().code != 0
    eventually(lambda: not left({"it": world.folder}), LIMIT * slowness())
    assert started(world) == ["workspace"]
    (end,) = ended(world)
    assert end.outcome == "interrupted"
    assert "up" in end.text
    world.script((Say("Done."),))
    world.go_on()


def test_a_confined_command_in_the_background_ends_with_the_session(walled_world: World) -> None:
    world = walled_world
    line = "exec 9>held; cat ../outside.txt 2>&1; echo x > begun; sleep 300"
    (world.folder.parent / "outside.txt").write_text("seen\n")
    world.script((Call("bash", {"command": line, "background": True}),), (Say("Done."),))
    ran = start(world, "--allow", "Bash(*)").wait()
    assert ran.code == 0, ran.err
    assert started(world) == ["workspace"]
    eventually(lambda: not left({"it": world.folder}), LIMIT * slowness())
    assert [each.outcome for each in ended(world)] != ["denied"]


def test_accepted_edits_and_a_rule_run_at_the_level_that_each_gives(walled_world: World) -> None:
    world = walled_world
    commands = ["cat a.txt", "sort -o b.txt a.txt", "touch .git/hooks/post-commit", "rm a.txt"]
    (world.folder / "a.txt").write_text("one\n")
    (world.folder / ".git/hooks").mkdir(parents=True)
    world.script(tuple(Call("bash", {"command": each}) for each in commands), (Say("Done."),))
    ran = start(
        world, "--permission-mode", "accept-edits", "--allow", "Bash(sort *)", "--allow", "Bash(touch *)"
    ).wait()
    assert ran.code == 0, ran.err
    assert started(world) == ["read", "workspace", "workspace"]
    read, sorted_, hook, removed = ended(world)
    assert (read.outcome, sorted_.outcome, hook.outcome, removed.outcome) == ("ok", "ok", "failed", "denied")
    assert (world.folder / "b.txt").read_text() == "one\n"
    assert "Read-only file system" in hook.text
    assert not (world.folder / ".git/hooks/post-commit").exists()


def test_plan_mode_runs_any_command_where_it_can_only_read(walled_world: World) -> None:
    world = walled_world
    line = "sh test.sh; touch $TMPDIR/kept && echo kept"
    (world.folder / "test.sh").write_text("echo tested; echo x > built; curl -sm1 http://127.0.0.1:9 || echo alone\n")
    world.script((Call("bash", {"command": line}),), (Say("Done."),))
    ran = start(world, "--permission-mode", "plan").wait()
    assert ran.code == 0, ran.err
    assert started(world) == ["read"]
    (end,) = ended(world)
    assert end.outcome == "ok"
    assert all(each in end.text for each in ("tested", "alone", "kept", "Read-only file system"))
    assert not (world.folder / "built").exists()
