"""Stopped and continued from outside: the screen goes on as it was, and the terminal is given back as it was found."""

from __future__ import annotations

import os
import re
import signal
import termios
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from launching import World
from shells import assert_shell_works, shell, start
from terminal import Key, Terminal
from test_terminal import screen

from holdfast.testing.script import Say
from polling import eventually
from process_leaks import linux_only
from tiers import sampled

pytestmark = linux_only

SWITCHED = (b"1049", b"1000", b"1003", b"1006", b"1015", b"1004", b"2004")
"""The modes that the screen turns on; all of them are off when it is left."""

PAINTED = re.compile(rb"\x1b\[[0-9;]*[Hm]")
"""A place or a colour, which the shell writes none of."""


def threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def state(pid: int) -> str:
    """Return the letter of the process's state: T while it is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def stop(terminal: Terminal, number: signal.Signals) -> None:
    terminal.kill(number)
    eventually(lambda: state(terminal.pid) == "T")
    terminal.kill(signal.SIGCONT)
    eventually(lambda: state(terminal.pid) != "T")


STRIKES: dict[str, Callable[[Terminal], None]] = {
    "SIGCONT alone": lambda terminal: terminal.kill(signal.SIGCONT),
    "SIGSTOP and SIGCONT": lambda terminal: stop(terminal, signal.SIGSTOP),
    "SIGTSTP and SIGCONT": lambda terminal: stop(terminal, signal.SIGTSTP),
}


def assert_given_back(terminal: Terminal, before: object) -> None:
    """Fail unless the program is gone, and every mode of the terminal is as it was found."""
    raw = bytes(terminal.raw)
    assert termios.tcgetattr(terminal.descriptor) == before
    for mode in SWITCHED:
        assert raw.rfind(b"\x1b[?" + mode + b"l") > raw.rfind(b"\x1b[?" + mode + b"h") >= 0, mode
    for off, on in ((b"\x1b[?25h", b"\x1b[?25l"), (b"\x1b[?7h", b"\x1b[?7l")):
        assert raw.rfind(off) > raw.rfind(on) >= 0, on
    assert raw.count(b"\x1b[<u") >= raw.count(b"\x1b[>25u") > 0


@contextmanager
def answered(world: World) -> Generator[Terminal]:
    """Show a screen that waits for a prompt; no thread is left over behind it, and leaving gives everything back."""
    world.script([Say("As ever.")])
    with screen(world, "-m", world.model) as terminal:
        before = terminal.settings
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text("As ever")
        terminal.wait_absent("esc to interrupt")
        number = threads(terminal.pid)
        yield terminal
        eventually(lambda: threads(terminal.pid) <= number)
        terminal.send(Key.CTRL_C)
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("/quit")
        assert terminal.wait() == 0
        eventually(lambda: b"\x1b[?1004l" in terminal.raw[-400:])
        assert_given_back(terminal, before)


@pytest.mark.parametrize("strike", sampled(STRIKES, 1))
def test_twenty_times_continued_is_as_never(one_world: World, strike: str) -> None:
    """cpulimit, a debugger, `kill -CONT`: no thread is left over, keys arrive once, and leaving gives it all back."""
    with answered(one_world) as terminal:
        for round_ in range(20):
            STRIKES[strike](terminal)
            eventually(lambda: not termios.tcgetattr(terminal.descriptor)[3] & termios.ECHO)
            terminal.send(str(round_ % 10))
            typed = "".join(str(each % 10) for each in range(round_ + 1))
            terminal.wait_text(f"▌ {typed}$|▌ {typed}\\s")


def test_many_at_once_are_as_one(one_world: World) -> None:
    with answered(one_world) as terminal:
        for _ in range(20):
            terminal.kill(signal.SIGCONT)
        terminal.send("here")
        terminal.wait_text("▌ here")


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTSTP], ids=lambda number: number.name)
def test_stopped_from_outside_and_taken_up_by_the_shell(one_world: World, number: signal.Signals) -> None:
    """Until `fg` brings it back, also after `bg`, the shell has the terminal, with its own settings."""
    one_world.script([Say("Here again.")])
    with shell(one_world) as terminal:
        start(terminal, one_world)
        pid = os.tcgetpgrp(terminal.descriptor)
        terminal.send("half a thought")
        terminal.wait_text("half a thought")
        if number == signal.SIGSTOP:
            terminal.answers_after = None  # a stopped process does not read it, so it would be typed into the shell
        terminal.settle()
        os.kill(pid, number)
        terminal.wait_text("Stopped")
        terminal.answers_after = 0
        assert_shell_works(terminal)
        for _ in range(5):
            written = len(terminal.raw)
            terminal.send("bg\r")
            eventually(lambda since=written: re.search(rb"holdfast[^\r\n]* &", terminal.raw[since:]))
            eventually(lambda: state(pid) == "T")
            terminal.send("sleep 0.6; echo $((6 * 8))\r")  # by then the cursor would have blinked
            eventually(lambda since=written: b"48\r\n" in terminal.raw[since:])
            assert not PAINTED.search(terminal.raw[written:]), terminal.raw[written:]
        terminal.send("echo $((6 * 9))\r")
        eventually(lambda: b"54\r\n" in terminal.raw)
        terminal.send("printf '\\033c'\r")  # what the screen had drawn is gone from the terminal
        terminal.wait_absent("half a thought")
        terminal.send("fg\r")
        terminal.wait_text("▌ half a thought")
        terminal.line(" and its end")
        terminal.wait_text("Here again")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        eventually(lambda: b"shell> " in terminal.raw[-40:])
        terminal.send("stty -a | grep -w -c -e -icanon; exit\r")
        terminal.wait()
        eventually(lambda: b"\r0\r\n" in terminal.raw)
    assert one_world.user_texts == ["half a thought and its end"]
