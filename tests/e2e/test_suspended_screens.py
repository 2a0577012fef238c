"""Suspended and resumed in every state of every screen: the terminal is restored, then the state comes back."""

from __future__ import annotations

import itertools
import os
import re
import signal
import sys
import termios
from pathlib import Path

import pytest
from history_screen import HistoryTerminal
from launching import World
from screen_states import DRAWN, SEEN, STATES, left, shown
from shells import assert_shell_works, leave, shell, start, suspend
from terminal import Key, Terminal
from test_killed_screens import assert_goes_on
from test_terminal_signals import state as state_of

from holdfast.testing.script import Call, Hold, Say
from polling import eventually
from process_leaks import linux_only
from skips import needs
from tiers import sampled

pytestmark = linux_only

CASES = [(*case, number) for case, number in itertools.product(DRAWN, (signal.SIGTSTP, signal.SIGSTOP))]
MOUSE = b"\x1b[?1000h"
MODES = (b"\x1b[?1004h", b"\x1b[?2004h", b"\x1b[?7l", b"\x1b[?25l")
"""Focus reports, pasted blocks, no wrap, no cursor."""


def wiped(terminal: Terminal, emulated: HistoryTerminal) -> None:
    """Clear the terminal, as a shell may have done while the screen was suspended."""
    with terminal._lock:  # pyright: ignore[reportPrivateUsage] - the reader draws on it
        emulated.reset()
        terminal._text = None  # pyright: ignore[reportPrivateUsage] - likewise


@pytest.mark.parametrize(("kind", "state", "number"), sampled(CASES, 5))
def test_the_state_comes_back(one_world: World, kind: str, state: str, number: signal.Signals) -> None:
    """What the shell changed is set again, everything is drawn again, and the keys go where they went."""
    world = one_world
    with shown(world, kind, state) as (terminal, emulated):
        before = terminal.settings
        modes = (MOUSE, *MODES) if kind == "full" else MODES
        attributes = termios.tcgetattr(terminal.descriptor)
        assert attributes != before
        terminal.kill(number)
        eventually(lambda: state_of(terminal.pid) == "T")
        if number == signal.SIGTSTP:
            assert termios.tcgetattr(terminal.descriptor) == before
            eventually(lambda: not emulated.alternate)
            for mode in modes:
                off = mode[:-1] + (b"l" if mode.endswith(b"h") else b"h")
                eventually(lambda mode=mode, off=off: terminal.raw.rfind(off) > terminal.raw.rfind(mode) >= 0)
        else:
            termios.tcsetattr(terminal.descriptor, termios.TCSANOW, before)
        wiped(terminal, emulated)
        written = len(terminal.raw)
        terminal.kill(signal.SIGCONT)
        terminal.wait_text(SEEN[state])
        eventually(lambda: termios.tcgetattr(terminal.descriptor) == attributes)
        for mode in modes:
            eventually(lambda mode=mode: mode in terminal.raw[written:])
        left(terminal, state)
        terminal.kill(signal.SIGTERM)
        assert terminal.wait() == -signal.SIGTERM
        eventually(lambda: termios.tcgetattr(terminal.descriptor) == before)
        assert_goes_on(world)


def test_the_keys_of_an_open_question_work_behind_a_suspension(one_world: World) -> None:
    """It is no text field that has the focus then."""
    with shown(one_world, "full", "question") as (terminal, emulated):
        terminal.kill(signal.SIGTSTP)
        eventually(lambda: state_of(terminal.pid) == "T")
        wiped(terminal, emulated)
        terminal.kill(signal.SIGCONT)
        terminal.wait_text("Allow once")
        terminal.send(Key.ESC)
        terminal.wait_absent("Allow once")


def test_what_a_shell_changed_during_a_sigstop_is_set_again(one_world: World) -> None:
    with shown(one_world, "full", "idle") as (terminal, _):
        terminal.kill(signal.SIGSTOP)
        eventually(lambda: state_of(terminal.pid) == "T")
        written = len(terminal.raw)
        terminal.kill(signal.SIGCONT)
        for mode in (MOUSE, *MODES):
            eventually(lambda mode=mode: mode in terminal.raw[written:])


@pytest.mark.parametrize("state", sampled(STATES, 1))
def test_a_plain_screen_is_suspended_by_its_shell(one_world: World, state: str) -> None:
    """It has nothing to restore: Ctrl+Z stops it, and `fg` goes on where it was."""
    world = one_world
    commands = {"question": "touch made", "command": "while ! [ -e go ]; do sleep 0.02; done"}
    calls = [[Call("bash", {"command": commands[state]})]] if state in commands else []
    begun = [Say("Half. "), Hold("on")] if state == "streaming" else []
    world.script(*calls, [*begun, Say("Answered.")])
    with shell(world) as terminal:
        start(terminal, world, "--plain" if state == "question" else "--plain --yolo", shows="Plain mode")
        if state != "idle":
            terminal.send("go\r")
        if state != "idle":  # a signal of the terminal drops what was not read yet
            terminal.wait_text({"streaming": "Half", "question": "Allow once", "command": "while ! "}[state])
        suspend(terminal)
        written = len(terminal.raw)
        terminal.send("touch go\r")
        assert_shell_works(terminal)
        terminal.send("fg\r")
        eventually(lambda: re.search(rb"-m holdfast -m [^\r]*\r\n", terminal.raw[written:]))
        if state == "idle":
            terminal.send("go\r")
        if state == "streaming":
            world.provider.release("on")
        if state == "question":
            terminal.send("y\r")
        terminal.wait_text("Answered")
        leave(terminal)
    assert world.user_texts == ["go"]


EDITOR = """\
import pathlib, sys
path = pathlib.Path(sys.argv[1])
print("the editor is here", flush=True)
path.write_text(path.read_text() + input())
"""
VIM = "vim -u NONE -i NONE -n"


@pytest.mark.parametrize(
    "editor",
    [
        "a line editor",
        pytest.param(VIM, marks=needs("vim")),
    ],
)
def test_ctrl_z_in_the_editor_suspends_both(one_world: World, tmp_path: Path, editor: str) -> None:
    """An editor stops its whole job, as in `git commit`; `fg` brings it back, and what was written is the prompt."""
    one_world.script([Say("I read it.")])
    (tmp_path / "editor.py").write_text(EDITOR)
    shows, keys = ("(?m)^~", "A and its end\x1b:wq\r") if editor == VIM else ("the editor is here", " and its end\r")
    command = editor if editor == VIM else f"{sys.executable} {tmp_path / 'editor.py'}"
    with shell(one_world, environ={"EDITOR": command}) as terminal:
        start(terminal, one_world)
        terminal.send("half a thought")
        terminal.wait_text("half a thought")
        terminal.send(b"\x07")
        terminal.wait_text(shows)
        suspend(terminal)
        assert_shell_works(terminal)
        terminal.send("fg\r")
        eventually(lambda: os.tcgetpgrp(terminal.descriptor) != terminal.pid)
        terminal.wait_text(shows)
        terminal.send(keys)
        terminal.wait_text("▌ half a thought and its end")
        suspend(terminal)  # the screen by itself again
        terminal.send("fg\r")
        eventually(lambda: os.tcgetpgrp(terminal.descriptor) != terminal.pid)
        eventually(lambda: not termios.tcgetattr(terminal.descriptor)[0] & termios.ICRNL)
        terminal.wait_text("▌ half a thought and its end")
        terminal.send(Key.ENTER)
        terminal.wait_text("I read it")
        terminal.wait_absent("esc to interrupt")
        leave(terminal)
    assert one_world.user_texts == ["half a thought and its end"]
