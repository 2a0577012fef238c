"""Sessions in a real terminal: found by what was said, previewed, deleted, restored; branches taken up in a copy."""

from __future__ import annotations

import re

from launching import World
from terminal import Key, Terminal
from test_terminal import screen

from holdfast.session.catalog import Catalog
from holdfast.testing.script import Say

CTRL_X = b"\x18"


def ask(terminal: Terminal, prompt: str, answer: str) -> None:
    terminal.line(prompt)
    terminal.wait_text(answer)
    terminal.wait_absent("esc to interrupt")


def test_a_session_is_found_deleted_and_restored(one_world: World) -> None:
    """By what was said in it, with a preview; Ctrl+X and the trash are in the list itself."""
    one_world.one_past = False  # two sessions
    one_world.script([Say("A heron stands.")], [Say("A newt swims.")])
    with screen(one_world, "-m", one_world.model, columns=100, lines=32) as terminal:
        terminal.wait_text("Ask holdfast")
        ask(terminal, "which bird", "A heron stands")
        terminal.line("/new")
        terminal.wait_text("The next prompt starts a new session")
        ask(terminal, "which animal", "A newt swims")
        terminal.line("/resume")
        terminal.wait_text(r"which bird +just now")
        terminal.wait_text(rf"{re.escape(one_world.model)} · (.*\n)+?.*> which bird\n.*A heron stands")
        terminal.send("heron")
        terminal.wait_text(r"which bird +A heron stands")
        terminal.send("x")
        terminal.wait_text(r"heronx\n\n +Nothing matches")
        terminal.send(b"\x7f")
        terminal.wait_text(r"which bird +A heron stands")
        terminal.send(CTRL_X)
        terminal.wait_absent("which bird")
        terminal.wait_text("Moved session .* to trash")
        terminal.settle()  # Esc counts as a key only if nothing follows it at once
        terminal.send(Key.ESC)
        terminal.wait_absent("Esc to cancel")
        terminal.line("/resume")
        terminal.wait_text("Trash +1 deleted")
        terminal.send(Key.ENTER)
        terminal.wait_text(r"Enter restores(.*\n)+.*which bird")
        terminal.send(Key.ENTER)
        terminal.wait_text('Restored session .*, "which bird"')
    catalog = Catalog(one_world.home / "sessions")
    assert sorted(each.title for each in catalog.all()) == ["which animal", "which bird"]
    assert catalog.trashed() == ()


def test_a_branch_continues_in_a_copy(one_world: World) -> None:
    """What a rewind left behind is listed, previewed, and continued; the session that it was left in stays."""
    one_world.one_past = False
    one_world.script([Say("One.")], [Say("Two.")], [Say("Three.")], [Say("Four.")])
    with screen(one_world, "-m", one_world.model, columns=100, lines=32) as terminal:
        terminal.wait_text("Ask holdfast")
        ask(terminal, "first", r"One\.")
        terminal.line("/branches")
        terminal.wait_text("was never rewound")
        ask(terminal, "second", r"Two\.")
        terminal.line("/rewind")
        terminal.wait_text("Rewind to before")
        terminal.send(Key.ENTER)
        terminal.wait_text("Rewound to before turn 2")
        terminal.wait_text(r"▌ second\n ask")
        terminal.send(Key.CTRL_C)
        terminal.wait_text("▌ Ask holdfast")
        ask(terminal, "other", r"Three\.")
        terminal.line("/branches")
        terminal.wait_text(r"other +present · 1 turn\n.*second +left .* · 1 turn")
        terminal.send(b"\x1b[B")
        terminal.wait_text(r"(?m)^\W*Two\.\W*$")
        terminal.send(Key.ENTER)
        terminal.wait_text("continues in a copy")
        terminal.wait_absent(r"Three\.")
        ask(terminal, "more", r"Four\.")
    assert "second" in one_world.user_texts
    assert "other" not in one_world.user_texts
    assert len(Catalog(one_world.home / "sessions").all()) == 2
