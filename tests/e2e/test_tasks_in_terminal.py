"""Background tasks in a real terminal: started, moved, looked at, ended by whom, and what the model reads of it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from launching import CONFIG, World, bash
from terminal import Key
from test_terminal import screen

from holdfast.host.wake import WAKE_PROMPT
from holdfast.session.journal.entries import PromptAccepted
from holdfast.session.journal.tasks import TaskEnded, TaskStarted
from holdfast.testing.script import Call, Hold, Say
from polling import eventually

BEAT = "echo $$ > pid; while :; do echo beat; sleep 0.05; done"
SEEN = r"(?m)^\W*beat\W*$"
"""A line of its output."""
CTRL_B, CTRL_X = b"\x02", b"\x18"


def background(command: str) -> Call:
    return Call("bash", {"command": command, "background": True})


def lives(world: World) -> bool:
    """Return whether the command of the world's task runs."""
    (pid,) = world.lines("pid")
    try:
        return "beat" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def ends(world: World) -> list[str]:
    return [entry.outcome for entry in world.entries() if isinstance(entry, TaskEnded)]


def test_a_task_outlives_turns_and_esc_and_the_user_ends_it(one_world: World) -> None:
    one_world.script([background(BEAT)], [Say("It serves.")], [bash("sleep 60")], [Say("I see.")], [Say("Twice?")])
    with screen(one_world, "-m", one_world.model, "--yolo") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("serve it")
        terminal.wait_text("It serves")
        terminal.wait_text("1 task")
        terminal.line("sleep")
        terminal.wait_text("sleep 60")
        terminal.wait_text("esc to interrupt")
        terminal.send(Key.ESC)
        terminal.wait_text("Turn ended")
        assert lives(one_world)
        terminal.line("/tasks")
        terminal.wait_text("(?s)Background tasks.*echo .*runs, ")
        terminal.send(Key.ENTER)
        terminal.wait_text(SEEN)
        terminal.send(Key.ESC)
        terminal.wait_absent(SEEN)
        terminal.send(Key.CTRL_D)
        terminal.wait_text("1 background task ends with holdfast")
        terminal.send(Key.DOWN + Key.ENTER)
        terminal.wait_absent("ends with holdfast")
        assert lives(one_world)
        terminal.line("/tasks")
        terminal.wait_text("Background tasks")
        terminal.send(CTRL_X)
        eventually(lambda: len(ends(one_world)) == 1)
        assert not lives(one_world)
        terminal.send(Key.ESC)
        terminal.wait_absent("Background tasks")
        terminal.wait_absent("1 task")
        terminal.line("what of it?")
        terminal.wait_text("I see")
        terminal.line("and now?")
        terminal.wait_text(r"Twice\?")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    reports = [text for text in one_world.user_texts if BEAT in text]
    assert len(reports) == 1, one_world.user_texts


def test_ctrl_b_moves_the_running_command_and_quitting_ends_it(one_world: World) -> None:
    one_world.script([bash(BEAT)], [Say("It runs on.")], [Say("It has ended.")])
    with screen(one_world, "-m", one_world.model, "--yolo") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("serve it")
        terminal.wait_text(SEEN)
        terminal.send(CTRL_B)
        terminal.wait_text(r"It runs on\.")
        terminal.wait_text("1 task")
        assert lives(one_world)
        assert [type(entry) for entry in one_world.entries() if isinstance(entry, TaskStarted)] == [TaskStarted]
        terminal.send(Key.CTRL_D)
        terminal.wait_text("1 background task ends with holdfast")
        terminal.send(Key.ENTER)
        assert terminal.wait() == 0
    assert not lives(one_world)
    assert ends(one_world) == ["interrupted"]
    with screen(one_world, "-c") as terminal:
        terminal.wait_text("It runs on")
        terminal.line("go on")
        terminal.wait_text("It has ended")
    assert ends(one_world) == ["interrupted"]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_a_signal_ends_the_tasks_with_the_program(one_world: World, number: signal.Signals) -> None:
    one_world.script([background(BEAT)], [Say("It serves.")])
    with screen(one_world, "-m", one_world.model, "--yolo") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("serve it")
        terminal.wait_text("It serves")
        terminal.wait_text("1 task")
        eventually(lambda: lives(one_world))
        terminal.kill(number)
        terminal.wait()
        eventually(lambda: not lives(one_world))


def test_the_end_of_a_task_begins_a_turn_only_if_it_shall(one_world: World) -> None:
    waits = "until [ -e go ]; do sleep 0.05; done; echo built"
    one_world.script([background(waits)], [Say("I wait for it.")], [Say("It is built.")])
    with screen(one_world, "-m", one_world.model, "--yolo") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("build it")
        terminal.wait_text("I wait for it")
        terminal.wait_absent("esc to interrupt")
        (one_world.folder / "go").touch()
        terminal.wait_absent("1 task")
        eventually(lambda: ends(one_world) == ["ok"])
        assert "It is built" not in terminal.settle()
        terminal.line("well?")
        terminal.wait_text("It is built")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    (one_world.folder / "go").unlink()
    (one_world.home / "config.toml").write_text(f"wake = true\n{CONFIG}")
    one_world.script([background(waits)], [Say("I wait again.")], [Say("It was built for you.")])
    with screen(one_world, "-c", "--yolo") as terminal:
        terminal.wait_text("It is built")
        terminal.line("build it again")
        terminal.wait_text("I wait again")
        terminal.wait_absent("esc to interrupt")
        (one_world.folder / "go").touch()
        terminal.wait_text(r"built for you\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0


def test_a_task_that_ends_while_the_last_answer_is_written_begins_a_turn_behind_it(one_world: World) -> None:
    world = one_world
    waits = "until [ -e go ]; do sleep 0.05; done; echo built"
    (world.home / "config.toml").write_text(f"wake = true\n{CONFIG}")
    world.script([background(waits)], [Say("I wait for it."), Hold("written")], [Say("It was built for you.")])
    world.one_past = False
    with screen(world, "-m", world.model, "--yolo") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("build it")
        terminal.wait_text("I wait for it")
        (world.folder / "go").touch()
        eventually(lambda: ends(world) == ["ok"])
        world.provider.release("written")
        terminal.wait_text(r"built for you\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    first, *_, last = world.user_texts
    assert first == "build it"
    assert last == WAKE_PROMPT
    assert [entry.cause for entry in world.entries() if isinstance(entry, PromptAccepted)] == ["", "wake"]
    assert world.user_texts.count(WAKE_PROMPT) == 1


def test_a_stop_begins_no_turn(one_world: World) -> None:
    world = one_world
    waits = "until [ -e go ]; do sleep 0.05; done; echo built"
    (world.home / "config.toml").write_text(f"wake = true\n{CONFIG}")
    world.script(
        [background(waits), background(BEAT)], [Say("I wait for both."), Hold("never")], [Say("Nobody asked.")]
    )
    world.one_past = False
    with screen(world, "-m", world.model, "--yolo") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("build it")
        terminal.wait_text("I wait for both")
        (world.folder / "go").touch()
        eventually(lambda: ends(world) == ["ok"])
        terminal.send(Key.ESC)  # the turn, behind which none begins
        terminal.wait_text("Turn ended")
        assert "Nobody asked" not in terminal.settle()
        terminal.line("/tasks")
        terminal.wait_text("Background tasks")
        terminal.send(CTRL_X)
        eventually(lambda: ends(world) == ["ok", "interrupted"])
        terminal.send(Key.ESC)
        terminal.wait_absent("Background tasks")
        assert "Nobody asked" not in terminal.settle()
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert len(world.provider.requests) == 2
