"""The states a screen can be in, and how a test brings the program there: each kind of screen, each page and mode."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager

from history_screen import HistoryTerminal
from launching import World
from terminal import Key, Terminal
from test_inline import PROMPT

from holdfast.testing.script import Call, Hold, Say

PLAIN = ("--plain", "dumb")
"""What is not drawn: by choice, or because the terminal can do nothing (TERM=dumb)."""
KINDS = ("--inline", "full", *PLAIN)
STATES = {
    "idle": f"{PROMPT}|Plain mode",
    "streaming": "I begin",
    "question": "Allow once",
    "command": "sleep 31415",
}
PAGES = {
    "list": "type to search",
    "filter": "type to search",
    "diff": r"made\.txt",
    "config": "Settings",
    "resume": r"Ctrl\+X",
    "context": "Nothing yet",
    "search": "Prompt history",
    "vim": "NORMAL",
    "vim-visual": "VISUAL",
}
"""What only a screen that is drawn can show. Each state is seen by what stands on the screen."""
SEEN = {**STATES, **PAGES}
KINDS_AND_STATES = [(kind, state) for kind in KINDS for state in SEEN if kind not in PLAIN or state in STATES]
DRAWN = [case for case in KINDS_AND_STATES if case[0] not in PLAIN]

CALLS = {"question": "touch precious; rm -rf precious", "command": "echo begun; sleep 31415"}


@contextmanager
def shown(world: World, kind: str, state: str) -> Generator[tuple[Terminal, HistoryTerminal]]:
    """Show a screen of that kind in that state."""
    _prepare(world, state)
    words = ["-m", world.model, *([kind] if kind.startswith("-") else []), *(["--yolo"] if state == "command" else [])]
    emulated = HistoryTerminal(90, 30)
    environ = world.environ(**({"TERM": "dumb"} if kind == "dumb" else {}))
    with Terminal(words, env=environ, cwd=world.folder, columns=90, lines=30, warm=True, screen=emulated) as terminal:
        _reach(terminal, state)
        yield terminal, emulated


def _prepare(world: World, state: str) -> None:
    """Make what the state needs."""
    if state == "resume":
        world.script([Say("Done.")])
        assert world.ask("an earlier prompt").code == 0
        return
    if state in CALLS:
        world.script([Call("bash", {"command": CALLS[state]})])
    elif state in ("streaming", "search"):
        world.script([Say("I begin. "), Hold("for ever")])
    if state == "diff":
        (world.folder / "made.txt").write_text("one\n")
        subprocess.run(["git", "init", "-q"], cwd=world.folder, check=True)
    if state.startswith("vim"):
        config = world.home / "config.toml"
        config.write_text(f'{config.read_text()}[ui]\nkeys = "vim"\n')


def _reach(terminal: Terminal, state: str) -> None:
    """Bring the program into the state."""
    terminal.wait_text(STATES["idle"])
    match state:
        case "filter":
            terminal.line("/theme")
            terminal.wait_text("type to search")
            terminal.send("light")
            terminal.wait_absent("dark")
        case "list":
            terminal.line("/theme")
        case "diff":
            terminal.line("/diff tree")
        case "config" | "resume" | "context":
            terminal.line(f"/{state}")
        case "search":
            terminal.line("go")
            terminal.wait_text("I begin")
            terminal.send(Key.CTRL_R)
        case "vim" | "vim-visual":
            terminal.wait_text("INSERT")
            terminal.send("one two")
            terminal.wait_text("one two")
            terminal.send(Key.ESC)
            terminal.wait_text("NORMAL")
            if state == "vim-visual":
                terminal.send("v")
        case "streaming" | "question" | "command":
            terminal.line("go")
        case _:
            pass
    terminal.wait_text(SEEN[state])


def left(terminal: Terminal, state: str) -> None:
    """Leave the state by its keys, which shows that they arrive."""
    match state:
        case "question":
            terminal.send(Key.ESC)
            terminal.wait_absent("Allow once")
        case "streaming" | "command":
            terminal.send(Key.ESC)
            terminal.wait_absent("esc to interrupt")
        case "search":
            terminal.send(Key.ESC)
            terminal.wait_absent("Prompt history")
        case "list" | "filter" | "diff" | "config" | "resume" | "context":
            terminal.send(Key.ESC)
            terminal.wait_absent(SEEN[state])
            terminal.wait_text(STATES["idle"])
        case "vim" | "vim-visual":
            terminal.send(b"\x1b\x1bA three")
            terminal.wait_text("one two three")
        case _:
            terminal.send("typed")
            terminal.wait_text("▌ typed")
