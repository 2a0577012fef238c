"""A program that makes itself a daemon: a background task keeps it, confined or not, and `!` says who ended it."""

from __future__ import annotations

import sys

import pytest
from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.session.journal.entries import CallEnded
from holdfast.session.journal.tasks import TaskEnded
from holdfast.testing.script import Call, Say
from skips import needs

DAEMON = """\
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), fd)
        while True:
            open("beat", "a").write("x\\n")
            time.sleep(0.05)
    os._exit(0)
os.wait()
"""


def daemon(world: World) -> str:
    (world.folder / "daemonize.py").write_text(DAEMON)
    return f"{sys.executable} daemonize.py; echo started"


BEATS = "n=$(wc -l < beat); for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1; done; [ $(wc -l < beat) -gt $n ] && echo it beats"


@pytest.mark.parametrize(
    "permission",
    [
        pytest.param(("--yolo",), id="as it is"),
        pytest.param(("--allow", "Bash(*)"), id="confined", marks=needs("bubblewrap")),
    ],
)
def test_a_background_task_lasts_as_long_as_the_daemon(one_world: World, permission: tuple[str, ...]) -> None:
    one_world.script(
        [Call("bash", {"command": daemon(one_world), "background": True})],
        [Call("task", {"id": "t7", "wait_seconds": 2})],
        [Call("bash", {"command": BEATS})],
        [Call("task", {"id": "t7"})],
        [Call("stop_task", {"id": "t7"})],
        [Call("bash", {"command": f"{BEATS} || echo it is over"})],
        [Say("Done.")],
    )
    ran = one_world.run("-m", one_world.model, "-p", "start it", *permission)
    assert ran.code == 0, ran.err
    texts = [entry.text for entry in one_world.entries() if isinstance(entry, CallEnded)]
    assert texts[0].startswith("Runs as background task t7.")
    assert "Task t7 runs, since" in texts[1]
    assert "The command itself has ended (exit code 0)." in texts[1]
    assert "still running" in texts[1]
    assert "it beats" in texts[2]
    assert "Task t7 runs, since" in texts[3]
    assert "it is over" in texts[5]
    (end,) = [entry for entry in one_world.entries() if isinstance(entry, TaskEnded)]
    assert (end.outcome, end.text.splitlines()[0]) == ("interrupted", "It was stopped by stop_task.")


@pytest.mark.parametrize(
    "permission",
    [
        pytest.param(("--yolo",), id="as it is"),
        pytest.param(("--allow", "Bash(*)"), id="confined", marks=needs("bubblewrap")),
    ],
)
def test_the_result_of_a_foreground_call_says_how_to_keep_it(one_world: World, permission: tuple[str, ...]) -> None:
    one_world.script([Call("bash", {"command": daemon(one_world)})], [Say("Done.")])
    assert one_world.run("-m", one_world.model, "-p", "start it", *permission).code == 0
    (text,) = [entry.text for entry in one_world.entries() if isinstance(entry, CallEnded)]
    assert "left behind" in text
    assert "background: true" in text


def test_the_users_own_command_says_what_holdfast_ended(one_world: World) -> None:
    line = daemon(one_world)
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line(f"!{line}")
        terminal.wait_text("holdfast ended 1 process that this command left behind")
        assert "background: true" not in terminal.text()
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
