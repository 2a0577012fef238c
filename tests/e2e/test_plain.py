"""The plain mode in a real terminal: lines in, text out; nothing is redrawn, everything is answered by typing."""

from __future__ import annotations

import re
import sys

import pytest
from history_screen import HistoryTerminal
from launching import World
from terminal import Key, Terminal

from holdfast.session.journal.entries import CallEnded
from holdfast.testing.script import Call, Hold, Say
from process_leaks import linux_only
from tiers import sampled

pytestmark = linux_only

MOVES = re.compile(rb"\x1b|\x08|\r(?!\n)")
"""What moves the cursor, or changes anything but the text."""


class PlainTerminal(Terminal):
    """A terminal that keeps everything, with the plain mode in it."""

    def __init__(self, world: World, *arguments: str, cold: bool = False, **more: str) -> None:
        """Start it; with `cold` as a process that starts from nothing and imports what it finds on its path."""
        super().__init__(
            [sys.executable, "-m", "holdfast", *arguments] if cold else arguments,
            env=world.environ(**more),
            cwd=world.folder,
            columns=120,
            warm=not cold,
            screen=HistoryTerminal(120, 40),
        )

    def text(self) -> str:  # every line, not those of the screen
        """Return everything that was printed and typed."""
        with self._lock:
            return self.raw.decode(errors="replace").replace("\r\n", "\n")

    def type(self, line: str) -> None:
        """Type a line."""
        self.send(f"{line}\n")


@pytest.mark.parametrize("how", sampled(["--plain", "dumb", "config"], 1))
def test_a_session(one_world: World, how: str) -> None:
    """Prompts, questions answered in words, steering, a stop, commands, leaving, resuming."""
    world = one_world
    world.script(
        [Say("First answer.")],
        [Call("bash", {"command": "echo made > made.txt"})],
        [Call("bash", {"command": "rm -rf precious"})],
        [Say("Then I leave it.")],
        [Say("Third, which is "), Hold("stream"), Say("never said")],
        [Say("All of it.")],
    )
    if how == "config":
        config = world.home / "config.toml"
        config.write_text(f'{config.read_text()}[ui]\nscreen = "plain"\n')
    words = ["-m", world.model, *(["--plain"] if how == "--plain" else [])]
    with PlainTerminal(world, *words, TERM="dumb" if how == "dumb" else "xterm-256color") as terminal:
        terminal.wait_text("Plain mode")
        terminal.type("one please")
        terminal.wait_text("First answer")
        terminal.type("/status")
        terminal.wait_text("Tokens: ")
        terminal.type("two please")
        terminal.wait_text("Question: Run this command")
        terminal.wait_text(r"1\. Allow once")
        terminal.type("what?")
        terminal.wait_text("Type a number from 1 to")
        terminal.type("yes")
        terminal.wait_text("rm -rf precious")
        terminal.wait_text("Warning: ")
        terminal.type("no")
        terminal.wait_text("Tell the model why")
        terminal.type("it is mine")
        terminal.wait_text("Then I leave it")
        terminal.type("three please")
        terminal.wait_text("Third, which is")
        terminal.type("and steer")
        terminal.wait_text("Queued:")
        terminal.send(Key.CTRL_C)
        terminal.wait_text("Turn ended: you stopped the turn")
        terminal.type("/nonsense")
        terminal.wait_text("No command /nonsense in plain mode")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
        assert "To continue: holdfast --plain -r" in terminal.text()
        assert not MOVES.search(terminal.raw.replace(b"^C\x08\x08", b"")), "it moved the cursor"
    assert [entry.outcome for entry in world.entries() if isinstance(entry, CallEnded)] == ["ok", "denied"]
    with PlainTerminal(world, "--plain", "-c", "four please") as terminal:
        terminal.wait_text("All of it")
        terminal.send(Key.CTRL_D)
        terminal.wait()
