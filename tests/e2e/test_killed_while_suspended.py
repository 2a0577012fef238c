"""Killed while a shell has the terminal: a suspended screen ends, and the shell keeps its settings."""

from __future__ import annotations

import itertools
import os
import sys
import termios
from pathlib import Path

import pytest
from launching import World
from terminal import Terminal

from polling import eventually
from process_leaks import linux_only
from tiers import sampled

pytestmark = linux_only

CTRL_Z = b"\x1a"
CLOSED = "the window is closed"
CASES = list(itertools.product(("full", "--inline"), ("kill %1", "kill -HUP %1", "kill -9 %1", CLOSED)))


def jobs(shell: int) -> list[int]:
    """Return the processes of the shell's terminal, without the shell."""
    found: list[int] = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = each.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == shell != int(each.parent.name) and fields[0] != "Z":
            found.append(int(each.parent.name))
    return found


@pytest.mark.parametrize(("kind", "how"), sampled(CASES, 4))
def test_the_shell_keeps_its_terminal(one_world: World, kind: str, how: str) -> None:
    """The session ends, not only when it is in the foreground again; nothing is written, no setting is changed."""
    environ = {**one_world.environ(), "PS1": "shell> "}
    words = f"{sys.executable} -m holdfast -m {one_world.model} {'' if kind == 'full' else kind}"
    with Terminal(["/bin/bash", "--norc", "-i"], env=environ, cwd=one_world.folder) as terminal:
        terminal.wait_text("shell>")
        terminal.send(f"{words}\r")
        terminal.wait_text("Ask holdfast to do something")
        terminal.settle()
        assert os.tcgetpgrp(terminal.descriptor) in jobs(terminal.pid)
        terminal.send(CTRL_Z)
        terminal.wait_text("Stopped")
        eventually(lambda: terminal.raw.endswith(b"shell> "))
        if how == CLOSED:
            terminal.kill()
            terminal.wait()
            eventually(lambda: not jobs(terminal.pid))
            return
        before = termios.tcgetattr(terminal.descriptor)
        written = len(terminal.raw)
        terminal.send(f"{how}\r")
        eventually(lambda: not jobs(terminal.pid))
        eventually(lambda: b"shell> " in terminal.raw[written:])
        assert termios.tcgetattr(terminal.descriptor) == before
        assert b"\x1b[?1049l" not in terminal.raw[written:]
        terminal.send("echo $((6 * 7))\r")
        eventually(lambda: b"42\r\n" in terminal.raw[written:])
        terminal.send("exit\r")
        terminal.wait()
