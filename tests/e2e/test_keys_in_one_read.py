"""Keys that arrive in one read: each is a fact once. Nothing is sent or run twice, and a paste is one prompt."""

from __future__ import annotations

import pytest
from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.session.journal.entries import PromptAccepted, ShellStarted
from holdfast.testing.script import Say
from polling import eventually

READY = "Ask holdfast to do something"


def prompts(world: World) -> list[str]:
    """Return the prompts of the only session, none if there is no session."""
    return [entry.text for entry in world.entries() if isinstance(entry, PromptAccepted)] if world.sessions else []


def commands(world: World) -> list[str]:
    return [entry.command for entry in world.entries() if isinstance(entry, ShellStarted)] if world.sessions else []


@pytest.mark.parametrize(
    ("keys", "sent", "inline"),
    [
        ("hello\r", "hello", False),
        ("alpha\rbeta\rgamma\r", "alpha\nbeta\ngamma", False),
        ("alpha\rbeta\r", "alpha\nbeta", True),
        ("x\r\r", "x", False),
        ("alpha\r\n\r\nbeta\r\n", "alpha\n\nbeta", False),
    ],
)
def test_what_arrives_in_one_read_is_one_prompt(one_world: World, keys: str, sent: str, *, inline: bool) -> None:
    one_world.script([Say("First answer.")], [Say("Second answer.")], [Say("Third answer.")])
    with screen(one_world, "-m", one_world.model, *(["--inline"] if inline else [])) as terminal:
        terminal.wait_text(READY)
        terminal.send(keys)
        terminal.wait_text("First answer")
        terminal.settle()
        assert prompts(one_world) == [sent]
        terminal.line("the next one")
        terminal.wait_text("Second answer")
    assert prompts(one_world) == [sent, "the next one"]
    assert one_world.user_texts[-1] == "the next one"


@pytest.mark.parametrize("keys", ["!echo x >> ran\r\r", "!echo x >> ran\r"])
def test_a_command_runs_once(one_world: World, keys: str) -> None:
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(READY)
        terminal.send(keys)
        eventually(lambda: one_world.lines("ran"))
        terminal.settle()
        assert commands(one_world) == ["echo x >> ran"]
    assert one_world.lines("ran") == ["x"]


def test_a_key_that_no_paste_has_ends_it(one_world: World) -> None:
    """A script that presses Enter, Backspace and a letter has sent the prompt before."""
    one_world.script([Say("First answer.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(READY)
        terminal.send(b"go\r\x7f" + b"later")
        terminal.wait_text("First answer")
        terminal.wait_text("▌ later")
    assert prompts(one_world) == ["go"]


def test_a_long_paste_without_marks_is_sent_by_its_end(one_world: World) -> None:
    """It is longer than the terminal's buffer, and some read of it ends in a line end."""
    text = "".join(f"{number:062}\r" for number in range(200))
    one_world.script([Say("First answer.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(READY)
        terminal.send(text)
        terminal.wait_text("First answer")
        terminal.settle()
    assert prompts(one_world) == [text.replace("\r", "\n").strip()]


@pytest.mark.parametrize("keys", ["/new now\r", "/nwe\r\r"])
def test_a_command_that_fails_leaves_the_composer_empty_and_can_be_recalled(one_world: World, keys: str) -> None:
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(READY)
        terminal.send(keys)
        terminal.wait_text(r"No command|takes no arguments")
        terminal.wait_text(READY)
        terminal.send(Key.UP)
        terminal.wait_text(f"▌ {keys.strip()}")


def test_a_prompt_that_is_refused_returns(one_world: World) -> None:
    with screen(one_world) as terminal:
        terminal.wait_text("Choose a model to start")
        terminal.send(Key.ESC)
        terminal.wait_absent("Choose a model to start")
        terminal.line("keep this prompt")
        terminal.wait_text("▌ keep this prompt", timeout=20)
    assert prompts(one_world) == []
