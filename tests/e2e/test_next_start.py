"""Agent, supervisor and watchdog killed at one moment: what is left is found on the next start, ended and told."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from launching import World, alive, bash

from holdfast.session.journal.entries import ProcessStarted
from holdfast.testing.script import Say
from polling import eventually
from process_leaks import linux_only

pytestmark = linux_only


def children(pid: int) -> list[int]:
    """Return the children of a process, whichever of its threads started them."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def strike(agent: int) -> None:
    """Kill an agent, its watchdog and its supervisor at one moment: neither can do anything after another's death.

    The watchdog's is what wakes a frozen supervisor, so it comes after the supervisor's.
    """
    (watchdog,) = children(agent)
    (supervisor,) = children(watchdog)
    for pid in (watchdog, supervisor, agent):
        os.kill(pid, signal.SIGSTOP)
    for pid in (supervisor, watchdog, agent):
        os.kill(pid, signal.SIGKILL)


def started(world: World) -> list[ProcessStarted]:
    """Return what the journal has of the commands' processes: a command may print something before it is there."""
    return [entry for entry in world.entries() if isinstance(entry, ProcessStarted)]


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
def test_a_process_that_outlived_its_supervisor_is_found_on_the_next_start(world: World, trap: str) -> None:
    script = f"{trap}echo $$ >> pids; while :; do sleep 0.1; done"
    world.script(
        (bash(f'setsid bash -c "{script.replace("$", chr(92) + "$")}" & echo half of it; wait'),), (Say("Ok."),)
    )
    agent = world.start("-m", world.model, "--yolo", "-p", "run it")
    eventually(lambda: world.lines("pids") and "half of it" in world.printed() and started(world))
    strike(agent.pid)
    agent.wait()
    (pid,) = alive(world.lines("pids"))
    (journalled,) = started(world)
    assert journalled.process.pid != pid  # the shell ended with the supervisor, what it started did not
    ran = world.go_on()
    assert alive([str(pid)]) == []
    report = rf"still running, and ended now: (sleep \(\d+\), )*bash \({pid}\)"  # it may sleep at that moment
    assert re.search(report, ran.err)
    assert re.search(report, world.results[0])
    assert "half of it" in world.results[0]


def test_a_copy_leaves_what_the_original_runs_alone(world: World) -> None:
    world.one_past = False
    world.script((bash("echo $$ >> pids; echo half of it; until [ -e go ]; do sleep 0.05; done; echo whole"),))
    agent = world.start("-m", world.model, "--yolo", "-p", "run it")
    eventually(lambda: world.lines("pids") and "half of it" in world.printed())
    world.script((Say("A copy."),), (Say("The original."),))
    assert world.go_on("--fork").out == "A copy.\n"
    assert alive(world.lines("pids"))
    (world.folder / "go").touch()
    assert agent.wait().out == "The original.\n"
