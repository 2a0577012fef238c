"""Keys on both screens: until a letter is seen, until ESC has given the prompt back, until the child is gone.

A terminal with the kitty protocol sends ESC as a sequence that needs no waiting; a legacy one sends the byte that every
sequence begins with.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

from holdfast.testing.script import Action, Call, Hold, ReceivedRequest, Say
from holdfast.testing.scripted_provider import ScriptedProvider
from pairs import AtMost, Comparison, percentile
from screen import ENTER, ESC, HOLDFAST, IDLE, MODEL, PROMPT, SOON, Terminal, screen_environ

KITTY_ESC = b"\x1b[27u"

ECHO, LEGACY, KITTY, GONE = 0.006, 0.035, 0.020, 0.030
"""Seconds that half of the keys should stay below."""

SCREENS = {"full": (), "inline": ("--inline",)}
COMMAND = "echo up; sleep 31415"


def pressing(scratch: Path, *, rounds: int) -> list[Comparison]:
    """Compare what keys take with what is felt as at once, on both screens."""
    return [row for name, words in SCREENS.items() for row in _pressed(scratch, name, words, rounds=rounds)]


def _pressed(scratch: Path, name: str, words: tuple[str, ...], *, rounds: int) -> list[Comparison]:
    echo: list[float] = []
    back: dict[bytes, list[float]] = {ESC: [], KITTY_ESC: []}
    ends: list[float] = []
    with ExitStack() as stack:
        provider = stack.enter_context(ScriptedProvider(after=_work))
        command = (HOLDFAST, "-m", MODEL, "--yolo", *words)
        environ = screen_environ(scratch, provider.environ())
        terminal = stack.enter_context(Terminal(command, environ=environ, cwd=scratch))
        terminal.seen(PROMPT)
        for number in range(rounds + 1):
            terminal.quiet(0.1)
            place = terminal.now
            pressed = terminal.send(b"#")
            echo.append(terminal.seen(b"#", since=place) - pressed)
            terminal.send(b"\x7f")
            for key, seconds in back.items():
                place = terminal.now
                terminal.send(b"talk" + ENTER)
                terminal.seen(b"writing", since=place)
                time.sleep(0.05 + 0.007 * (number % 15))  # at every moment of a frame
                place = terminal.now
                pressed = terminal.send(key)
                seconds.append(terminal.seen(IDLE, since=place) - pressed)
            place = terminal.now
            terminal.send(b"run" + ENTER)
            terminal.seen(b"running", since=place)
            child = _child(scratch)
            pressed = terminal.send(ESC)
            ends.append(_wait_for_end(child) - pressed)
            terminal.seen(IDLE, since=place)
    rows = (
        ("key until it is seen", echo, ECHO),
        ("ESC until the next prompt, legacy", back[ESC], LEGACY),
        ("ESC until the next prompt, kitty", back[KITTY_ESC], KITTY),
        ("ESC until the child is gone", ends, GONE),
    )
    return [
        Comparison(
            what=f"{name}: {what}, p50 of {rounds}",
            against=f"{aim:g} s",
            ours=[percentile(seconds[1:] or seconds, 50)],  # the first one pays for imports
            theirs=[aim],
            aim=AtMost(ratio=1),
        )
        for what, seconds, aim in rows
    ]


def _work(request: ReceivedRequest) -> list[Action]:
    if '"run"' in str(request.messages[-1]).replace("'", '"'):
        return [Call("bash", {"command": COMMAND})]
    return [Say(" ".join(f"word{number}" for number in range(2_000)), delay=0.005), Hold("for ever")]


def _child(folder: Path) -> Path:
    """Return the process of the command, once it runs."""
    until = time.monotonic() + SOON
    while time.monotonic() < until:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if b"sleep\x0031415" in (process / "cmdline").read_bytes() and (process / "cwd").resolve() == folder:
                    return process
            except OSError:  # it has ended
                continue
        time.sleep(0.002)
    raise AssertionError("The command did not start.")


def _wait_for_end(process: Path) -> float:
    """Return when the process had ended."""
    while _runs(process):
        time.sleep(0.0005)
    return time.monotonic()


def _runs(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
