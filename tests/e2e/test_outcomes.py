"""After kill -9 holdfast reports how a command ended, how long it ran, what an edit left; no process stays."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest
from launching import PRODUCT, World, bash
from test_kills import BEFORE_THE_RECORD, BEFORE_THE_RENAME, CRASH, WHOLE

from holdfast.session.journal.entries import CallEnded
from holdfast.testing.script import Call
from polling import eventually

NOTE = f"\n[Note from holdfast: {CRASH}; the result of this call was found afterwards.]"


@pytest.mark.parametrize(
    ("command", "outcome", "text"),
    [
        ("sleep 0.01; echo all of it", "ok", r"all of it\n\(exit code 0, \d+\.\d s\)"),
        ("sleep 0.01; echo some; exit 3", "failed", r"some\n\(exit code 3, \d+\.\d s\)"),
        ("sleep 0.01; kill -9 $$", "failed", r"\(no output\)\n\(ended by signal 9 \(Killed\), \d+\.\d s\)"),
    ],
)
def test_a_command_that_ended_before_the_agent_has_its_own_outcome(
    one_world: World, command: str, outcome: str, text: str
) -> None:
    world = one_world
    world.script((bash(command),), WHOLE)
    assert world.ask("run it", program=BEFORE_THE_RECORD + PRODUCT).code == -9
    ran = world.go_on()
    (ended,) = [entry for entry in world.entries() if isinstance(entry, CallEnded)]
    assert ended.outcome == outcome
    assert ended.seconds > 0
    assert re.fullmatch(text + re.escape(NOTE), ended.text)
    assert world.results == [ended.text]
    assert f"bash {command}" in ran.err
    assert spools(world) == []


def test_a_command_that_was_ended_with_the_agent_says_after_how_long(world: World) -> None:
    world.script((bash("echo half of it; sleep 300"),), WHOLE)
    agent = world.start("-m", world.model, "--yolo", "-p", "run it")
    eventually(lambda: spools(world) != [] and world.printed() == "half of it\n")
    time.sleep(0.3)
    agent.kill()
    world.go_on()
    (result,) = world.results
    assert result.startswith(f"Interrupted: {CRASH} while this call was running. Effect unknown")
    assert re.search(r"half of it\n\(stopped after \d+\.\d s, and everything it had started was ended\)$", result)
    assert spools(world) == []


def test_a_command_whose_supervisor_died_too_says_when_it_last_printed(one_world: World) -> None:
    world = one_world
    world.script((bash("echo half of it; echo $PPID > supervisor; sleep 0.5; echo more; sleep 300"),), WHOLE)
    agent = world.start("-m", world.model, "--yolo", "-p", "run it")
    eventually(lambda: spools(world) != [] and world.printed() == "half of it\nmore\n")
    (supervisor,) = world.lines("supervisor")
    os.kill(agent.pid, signal.SIGSTOP)  # so that it does not see its supervisor go
    os.kill(int(supervisor), signal.SIGKILL)
    agent.kill()
    world.go_on()
    (result,) = world.results
    assert re.search(r"more\n\(its last output came after 0\.[4-9] s; when and how it ended is unknown\)$", result)
    assert spools(world) == []


def test_an_unfinished_copy_of_an_edited_file_is_removed_and_nothing_else(world: World) -> None:
    (world.folder / "a.txt").write_text("old\n")
    (world.folder / ".holdfast-mine").write_text("a person's own\n")
    world.script((Call("edit", {"path": "a.txt", "old": "old", "new": "new"}),), WHOLE)
    assert world.ask("edit it", program=BEFORE_THE_RENAME + PRODUCT).code == -9
    assert len(list(world.folder.iterdir())) == 3
    world.go_on()
    assert sorted(path.name for path in world.folder.iterdir()) == [".holdfast-mine", "a.txt"]


def test_live_output_is_kept_no_longer_than_a_call_is_open(one_world: World) -> None:
    world = one_world
    world.script((bash("seq 20000"), bash("false"), Call("grep", {"pattern": "x"})), WHOLE)
    world.ask("run them")
    assert spools(world) == []
    assert list(world.session.glob("capture-*")) == []


def test_what_a_stop_left_is_shown_again_on_resuming_in_the_same_lines(one_world: World) -> None:
    world = one_world
    world.script((bash("echo one"), bash("echo half; sleep 300"), bash("echo three")), WHOLE)
    agent = world.start("-m", world.model, "--yolo", "-p", "run them")
    eventually(lambda: "half\n" in world.printed() if spools(world) else False)
    agent.send(signal.SIGINT)
    live = agent.wait()
    again = world.go_on()
    done, stopped, unstarted, turn = again.err.splitlines()[1:5]
    assert done == "✓ bash echo one"
    assert stopped.startswith("◐ bash echo half; sleep 300 interrupted: the user stopped the turn while this call")
    assert unstarted.startswith("○ bash echo three not started: the user stopped the turn before this call began")
    assert turn == "Turn ended: you stopped the turn"
    assert [line for line in (done, stopped, unstarted, turn) if line not in live.err.splitlines()] == []
    world.script(WHOLE)
    (begun,) = world.go_on("--output-format", "stream-json").of("init")
    assert begun["last_turn"] == []  # the last turn ended by itself


def spools(world: World) -> list[str]:
    """Return the names of what is kept of the output of commands."""
    return sorted(path.name for path in world.home.glob("sessions/*/spool/*"))
