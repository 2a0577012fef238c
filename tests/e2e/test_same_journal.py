"""One scenario in an editor, in the plain mode and on the screen leaves the same journal."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import msgspec
from editor_client import Editor
from launching import World, bash
from terminal import Key
from test_plain import PlainTerminal
from test_terminal import screen

from holdfast.session.journal.entries import (
    Entry,
    ModelSettingsChanged,
    ResponseCheckpoint,
    ShellEnded,
    Titled,
    TurnEnded,
)
from holdfast.testing.script import Hold, Say
from polling import eventually
from process_leaks import linux_only

pytestmark = linux_only

STEPS = (
    "one please",
    "/rename My work",
    "two please",
    "!echo mine",
    "/effort high",
    "three please",
)
IDS = {"id", "call", "session", "wire_id", "spool", "head", "digest"}
"""Fields that name something of one session."""

TIMES = {"seconds", "process"}
SECONDS = re.compile(r"\d+\.\d s\b")


def replies(world: World) -> None:
    """Have the model play the scenario once."""
    world.script(
        (Say("First answer."),),
        (bash("echo made > made.txt"), bash("rm -rf precious")),
        (Say("Then I leave it."),),
        (Say("half of it"), Hold("never")),
    )


def in_editor(world: World) -> None:
    editor = Editor(world)
    session = editor.opened()
    for step in STEPS[:2]:
        assert editor.answer(editor.prompt(session, step))["result"]["stopReason"] == "end_turn"
    asking = editor.prompt(session, STEPS[2])
    editor.choose(editor.permission(), "once")
    editor.choose(editor.permission(2), "no")
    assert editor.answer(asking)["result"]["stopReason"] == "end_turn"
    for step in STEPS[3:5]:
        assert editor.answer(editor.prompt(session, step))["result"]["stopReason"] == "end_turn"
    stopped = editor.prompt(session, STEPS[5])
    editor.until(lambda _: "half of it" in editor.text())
    editor.cancel(session)
    assert editor.answer(stopped)["result"]["stopReason"] == "cancelled"
    assert editor.leave().code == 0


def in_plain_mode(world: World) -> None:
    after = partial(journalled, world)
    with PlainTerminal(world, "--plain", "-m", world.model) as terminal:
        terminal.wait_text("Plain mode")
        terminal.type(STEPS[0])
        eventually(after(1, TurnEnded))
        terminal.type(STEPS[1])
        eventually(after(1, Titled))
        terminal.type(STEPS[2])
        terminal.wait_text("made.txt")
        terminal.wait_text("Type a number from 1 to")
        terminal.type("yes")
        terminal.wait_text("rm -rf precious")
        terminal.wait_text("Warning: ")
        terminal.type("no")
        terminal.wait_text("Tell the model why")
        terminal.type("")
        eventually(after(2, TurnEnded))
        terminal.type(STEPS[3])
        eventually(after(1, ShellEnded))
        terminal.type(STEPS[4])
        terminal.wait_text("high")
        terminal.type(STEPS[5])
        terminal.wait_text("half of it")
        terminal.send("\x03")
        eventually(after(3, TurnEnded))
        terminal.type("/quit")
        assert terminal.wait() == 0


def on_the_screen(world: World) -> None:
    after = partial(journalled, world)
    with screen(world, "-m", world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line(STEPS[0])
        eventually(after(1, TurnEnded))
        terminal.line(STEPS[1])
        eventually(after(1, Titled))
        terminal.line(STEPS[2])
        terminal.wait_text(r"Run this command\?(.|\n)*made\.txt(.|\n)*1  Allow once")
        terminal.send("y")
        terminal.wait_text(r"Run this command\?(.|\n)*rm -rf precious(.|\n)*1  Allow once")
        terminal.send("n")
        terminal.wait_text("Tell the model why")
        terminal.send(Key.ENTER)
        eventually(after(2, TurnEnded))
        terminal.wait_absent("esc to interrupt")
        terminal.line(STEPS[3])
        eventually(after(1, ShellEnded))
        terminal.line(STEPS[4])
        eventually(after(1, ModelSettingsChanged))
        terminal.line(STEPS[5])
        terminal.wait_text("half of it")
        terminal.send(Key.ESC)
        eventually(after(3, TurnEnded))
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0


def journalled(world: World, number: int, kind: type) -> Callable[[], bool]:
    """Return a function that tells whether so many entries of a kind are in the journal."""
    return lambda: sum(isinstance(entry, kind) for entry in journal(world)) == number


def journal(world: World) -> list[Entry]:
    """Return the journal of the only session, [] as long as there is none."""
    return world.entries() if world.sessions else []


def compared(entries: list[Entry]) -> list[object]:
    """Return the entries with each id as its number of first use, and without times and checkpoints."""
    known: dict[tuple[str, str], str] = {}

    def without(value: object, key: str = "") -> object:
        match value:
            case dict():
                items = cast("dict[str, object]", value).items()
                return {name: without(each, name) for name, each in items if name not in TIMES}
            case list() | tuple():
                return [without(each) for each in cast("Sequence[object]", value)]
            case str() if key in IDS:
                return known.setdefault((key, value), f"{key} {len(known)}")
            case str():
                return SECONDS.sub("SECONDS", value)
            case _:
                return value

    return [without(msgspec.to_builtins(each)) for each in entries if not isinstance(each, ResponseCheckpoint)]


def test_an_editor_the_plain_mode_and_the_screen_leave_the_same_journal(one_world: World, tmp_path: Path) -> None:
    world = one_world
    world.one_past = False  # three sessions
    journals: list[list[object]] = []
    for play in (in_editor, in_plain_mode, on_the_screen):
        replies(world)
        play(world)
        (session,) = world.sessions
        journals.append(compared(world.entries(session)))
        session.rename(tmp_path / play.__name__)
        (world.folder / "made.txt").unlink()
    assert journals[0] == journals[1]
    assert journals[0] == journals[2]
