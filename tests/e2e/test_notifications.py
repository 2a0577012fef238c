"""A terminal without the focus is notified of a question and of the end of a turn; one that has it is not."""

from __future__ import annotations

import re

from launching import World
from terminal import Key, Terminal
from test_light_background import wait_theme
from test_terminal import screen

from holdfast.testing.script import Call, Hold, Say
from holdfast.ui.tui.themes import LIGHT

FOCUS, BLUR = b"\x1b[I", b"\x1b[O"
BELL = rb"\x07"


def look_away(terminal: Terminal) -> None:
    """Take the focus away, and return once that was read: what was sent after it shows."""
    terminal.send(BLUR + b"\x1b]11;rgb:ffff/ffff/ffff\x07")
    wait_theme(terminal, LIGHT.background)


def count_written(terminal: Terminal, since: int, pattern: bytes) -> int:
    """Return how often something was written since then, apart from what ends another sequence."""
    written = re.sub(rb"\x1b\][^\x07\x1b]*\x07", b"", bytes(terminal.raw[since:]))
    return len(re.findall(pattern, written))


def test_the_bell_rings_only_without_the_focus(one_world: World) -> None:
    name = one_world.folder.name.encode()
    one_world.script([Call("bash", {"command": "rm -rf build"})], [Say("Done so.")], [Say("Once more.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast")
        terminal.wait_for(lambda: b"\x1b]2;" + name in bytes(terminal.raw), "the title")
        terminal.line("go")
        terminal.send(BLUR)
        terminal.wait_text("Run this command")
        terminal.wait_for(lambda: count_written(terminal, 0, BELL) == 1, "the bell of the question")
        terminal.wait_for(lambda: b"\x1b]2;? " + name in bytes(terminal.raw), "the title of the question")
        terminal.send("1")
        terminal.wait_text("Done so")
        terminal.wait_for(lambda: count_written(terminal, 0, BELL) == 2, "the bell of the end")
        terminal.send(FOCUS)
        terminal.line("again")
        terminal.wait_text(r"Once more\.")
        terminal.wait_absent("esc to interrupt")
        terminal.settle()
        assert count_written(terminal, 0, BELL) == 2
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
        assert b"\x1b[23;2t" in bytes(terminal.raw)


def test_a_notification_of_the_desktop(one_world: World) -> None:
    one_world.script([Hold("first"), Say("First.")], [Say("Second."), Hold("stream")])
    (one_world.home / "config.toml").write_text('notify = "osc"\n')
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast")
        terminal.line("go")
        one_world.provider.wait_for("first")
        look_away(terminal)
        one_world.provider.release("first")
        terminal.wait_text(r"First\.")
        notification = re.escape(f"\x1b]9;{one_world.folder.name} has finished\x1b\\".encode())
        terminal.wait_for(lambda: count_written(terminal, 0, notification) == 1, "the notification")
        terminal.line("again")
        one_world.provider.wait_for("stream")
        terminal.send(BLUR)
        terminal.send(Key.ESC)
        terminal.wait_absent("esc to interrupt|stopping")
        terminal.settle()
        assert count_written(terminal, 0, notification) == 1, "the user stopped it"


def test_silence(one_world: World) -> None:
    (one_world.home / "config.toml").write_text('notify = "off"\n')
    one_world.script([Hold("third"), Say("Third.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast")
        terminal.line("go")
        one_world.provider.wait_for("third")
        look_away(terminal)
        one_world.provider.release("third")
        terminal.wait_text(r"Third\.")
        terminal.wait_absent("esc to interrupt")
        terminal.settle()
        assert count_written(terminal, 0, rb"\x07|\x1b\](9|777|2);") == 0
