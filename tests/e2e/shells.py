"""A shell in a terminal: it starts holdfast, has the terminal while holdfast is suspended, and is left in the end."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from launching import World
from terminal import Key, Terminal

from polling import eventually

CTRL_Z = b"\x1a"


@contextmanager
def shell(world: World, *, environ: dict[str, str] | None = None, **size: Any) -> Generator[Terminal]:
    """Show an interactive bash without anyone's settings."""
    environ = {**world.environ(**(environ or {})), "PS1": "shell> "}
    with Terminal(["/bin/bash", "--norc", "-i"], env=environ, cwd=world.folder, **size) as terminal:
        terminal.wait_text("shell>")
        yield terminal


def start(terminal: Terminal, world: World, words: str = "", *, shows: str = "Ask holdfast to do something") -> None:
    """Have the shell start holdfast."""
    terminal.send(f"{sys.executable} -m holdfast -m {world.model} {words}; echo ended $?\r")
    terminal.wait_text(shows)


def suspend(terminal: Terminal) -> None:
    """Give the terminal to the shell by the key."""
    before = terminal.raw.count(b"Stopped")
    terminal.send(CTRL_Z)
    eventually(lambda: terminal.raw.count(b"Stopped") > before)


def assert_shell_works(terminal: Terminal) -> None:
    """See that the shell reads lines and shows them."""
    written = len(terminal.raw)
    terminal.send("echo $((6 * 7))\r")
    eventually(lambda: b"42\r\n" in terminal.raw[written:])


def leave(terminal: Terminal) -> None:
    """End holdfast by its key, and then the shell."""
    terminal.send(Key.CTRL_D)
    eventually(lambda: b"shell> " in terminal.raw[-40:])
    leave_shell(terminal)


def leave_shell(terminal: Terminal) -> None:
    """End the shell by its word."""
    terminal.send("exit\r")
    assert terminal.wait() == 0
