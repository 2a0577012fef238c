"""Killed and signalled in every state of every screen: the terminal is given back, and no process is left."""

from __future__ import annotations

import itertools
import signal
import subprocess
import termios

import pytest
from history_screen import HistoryTerminal
from launching import World
from terminal import Key, Terminal
from test_inline import PROMPT
from test_terminal import sleeper

from holdfast.testing.script import Call, Hold, Say
from polling import eventually
from process_leaks import linux_only
from tiers import sampled

pytestmark = linux_only

SCREENS = ("--inline", "--plain", "full")
STATES = ("idle", "streaming", "question", "command")
PAGES = ("list", "filter", "diff", "config", "resume", "context", "search", "vim", "vim-visual")
"""What only a screen that is drawn can show."""
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)

CASES = [
    case for case in itertools.product(SCREENS, STATES + PAGES, SIGNALS) if case[0] != "--plain" or case[1] in STATES
]

MODES = (b"1049", b"1000", b"1003", b"1004", b"2004")

CALLS = {"question": "touch precious; rm -rf precious", "command": "echo begun; sleep 31415"}


def prepare(world: World, state: str) -> None:
    """Make what the state needs."""
    if state == "resume":
        world.script([Say("Done.")])
        assert world.ask("an earlier prompt").code == 0
        return
    world.script([Call("bash", {"command": CALLS[state]})] if state in CALLS else [Say("I begin. "), Hold("for ever")])
    if state == "diff":
        (world.folder / "made.txt").write_text("one\n")
        subprocess.run(["git", "init", "-q"], cwd=world.folder, check=True)
    if state.startswith("vim"):
        config = world.home / "config.toml"
        config.write_text(f'{config.read_text()}[ui]\nkeys = "vim"\n')


def reach(terminal: Terminal, state: str) -> None:
    """Bring the program into the state."""
    terminal.wait_text(f"{PROMPT}|Plain mode")
    match state:
        case "filter":
            terminal.line("/theme")
            terminal.wait_text("type to search")
            terminal.send("light")
            terminal.wait_gone("dark")
        case "diff":
            terminal.line("/diff tree")
            terminal.wait_text(r"made\.txt")
        case "config":
            terminal.line("/config")
            terminal.wait_text("permission_mode")
        case "resume":
            terminal.line("/resume")
            terminal.wait_text("an earlier prompt")
        case "context":
            terminal.line("/context")
            terminal.wait_text("the next request sends")
        case "search":
            terminal.line("go")
            terminal.wait_text("I begin")
            terminal.send(Key.CTRL_R)
            terminal.wait_text("Prompt history")
        case "vim" | "vim-visual":
            terminal.wait_text("INSERT")
            terminal.send("one two")
            terminal.wait_text("one two")
            terminal.send(Key.ESC)
            terminal.wait_text("NORMAL")
            if state == "vim-visual":
                terminal.send("v")
                terminal.wait_text("VISUAL")
        case "streaming":
            terminal.line("go")
            terminal.wait_text("I begin")
        case "question":
            terminal.line("go")
            terminal.wait_text("Allow once")
        case "command":
            terminal.line("go")
            terminal.wait_text("sleep 31415")
        case "list":
            terminal.line("/theme")
            terminal.wait_text("type to search")
        case _:
            pass


@pytest.mark.parametrize(("kind", "state", "number"), sampled(CASES, 5))
def test_the_terminal_is_given_back(one_world: World, kind: str, state: str, number: signal.Signals) -> None:
    world = one_world
    prepare(world, state)
    words = ["-m", world.model, *([] if kind == "full" else [kind]), *(["--yolo"] if state == "command" else [])]
    emulated = HistoryTerminal(90, 30)
    with Terminal(
        words, env=world.environ(), cwd=world.folder, columns=90, lines=30, warm=True, screen=emulated
    ) as terminal:
        before = terminal.settings
        reach(terminal, state)
        if state == "command":
            eventually(lambda: sleeper(world))
        terminal.kill(number)
        if kind == "--plain" and number == signal.SIGINT:  # it stops what runs
            terminal.wait_text("Stopping|again to leave")
            terminal.send(Key.CTRL_D)
        ended = terminal.wait()
        if kind == "--plain" and number in (signal.SIGTERM, signal.SIGHUP):
            assert ended == 130
        elif kind != "--plain" or number != signal.SIGINT:
            assert ended == -number
        eventually(lambda: termios.tcgetattr(terminal.descriptor) == before)
        eventually(lambda: not sleeper(world))
        if kind == "--plain":
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
