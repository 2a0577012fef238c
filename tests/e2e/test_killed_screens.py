"""Killed and signalled in every state of every screen: the terminal is given back, no process and no gap is left."""

from __future__ import annotations

import itertools
import signal
import termios

import pytest
from launching import World
from screen_states import KINDS_AND_STATES, PLAIN, shown
from terminal import Key
from test_terminal import sleeper

from holdfast.testing.script import Say
from polling import eventually
from process_leaks import alive, linux_only
from tiers import sampled

pytestmark = linux_only

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)

CASES = [(*case, number) for case, number in itertools.product(KINDS_AND_STATES, SIGNALS)]

MODES = (b"1049", b"1000", b"1003", b"1004", b"2004")


def assert_goes_on(world: World) -> None:
    """Fail unless every process of the session has exited, its journal is whole, and `-c` resumes it."""
    eventually(lambda: not alive(str(world.home)))
    assert not sleeper(world)
    for session in world.sessions:  # may be empty: nothing had been said yet
        ran = world.run("sessions", "verify", session.name)
        assert ran.code == 0, ran.out + ran.err
    if world.sessions:
        world.script([Say("Gone on.")])
        assert "Gone on." in world.go_on().out


@pytest.mark.parametrize(("kind", "state", "number"), sampled(CASES, 5))
def test_the_terminal_is_given_back(one_world: World, kind: str, state: str, number: signal.Signals) -> None:
    world = one_world
    with shown(world, kind, state) as (terminal, emulated):
        if state == "command":
            eventually(lambda: sleeper(world))
            assert alive(str(world.home))
        terminal.kill(number)
        if kind in PLAIN and number == signal.SIGINT:  # it stops what runs
            terminal.wait_text("Stopping|again to quit")
            terminal.send(Key.CTRL_D)
        ended = terminal.wait()
        if kind in PLAIN and number in (signal.SIGTERM, signal.SIGHUP):
            assert ended == 130
        elif kind not in PLAIN or number != signal.SIGINT:
            assert ended == -number
        eventually(lambda: termios.tcgetattr(terminal.descriptor) == terminal.settings)
        assert_goes_on(world)
        if kind in PLAIN:
            assert b"\x1b" not in terminal.raw
            return
        eventually(lambda: b"\x1b[?25h" in terminal.raw[-200:])
        raw = bytes(terminal.raw)
        for mode in MODES:
            assert raw.rfind(b"\x1b[?" + mode + b"l") >= raw.rfind(b"\x1b[?" + mode + b"h"), mode
        assert raw.count(b"\x1b[<u") >= raw.count(b"\x1b[>25u") > 0
        eventually(lambda: not emulated.alternate)
        if kind == "--inline":
            rows = emulated.rows()
            assert not [row for row in rows if "shift+tab" in row or "esc to interrupt" in row or "Allow once" in row]
            if state in ("streaming", "question", "command", "search"):
                assert sum("▌ go" in row for row in rows) == 1
