"""Killed while a shell has the terminal: a suspended screen ends, and the shell keeps its settings."""

from __future__ import annotations

import itertools
import os
import termios
from pathlib import Path

import pytest
from launching import World
from shells import assert_shell_works, leave_shell, shell, start, suspend

from polling import eventually
from process_leaks import linux_only
from tiers import sampled

pytestmark = linux_only

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
    with shell(one_world) as terminal:
        start(terminal, one_world, "" if kind == "full" else kind)
        terminal.settle()
        assert os.tcgetpgrp(terminal.descriptor) in jobs(terminal.pid)
        suspend(terminal)
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
        assert_shell_works(terminal)
        leave_shell(terminal)
