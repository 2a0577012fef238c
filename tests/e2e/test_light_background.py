"""A light background in a real terminal: told by the environment or by the terminal's answer, never typed, kept."""

from __future__ import annotations

import pytest
from launching import World
from terminal import Terminal
from test_terminal import screen

from holdfast.ui.tui.environment.background_colour import QUESTION
from holdfast.ui.tui.themes import DARK, LIGHT


def background(terminal: Terminal) -> str:
    """Return the colour of the screen's first cell."""
    with terminal._lock:
        return str(terminal.screen.buffer[0][0].bg)


def wait_theme(terminal: Terminal, colour: str | None) -> None:
    assert colour is not None
    terminal.wait_for(lambda: background(terminal) == colour.removeprefix("#"), f"the background {colour}")


@pytest.mark.parametrize("cut", [0, 1, 2, 9])
def test_the_terminal_is_asked(one_world: World, cut: int) -> None:
    """Its answer changes the colours and types nothing, even if it comes in pieces."""
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast")
        terminal.wait_for(lambda: QUESTION.encode() in bytes(terminal.raw), "the question")
        wait_theme(terminal, DARK.background)
        answer = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
        terminal.send(answer[:cut] + b"")
        terminal.send(answer[cut:] + b"typed")
        wait_theme(terminal, LIGHT.background)
        terminal.wait_text("▌ typed")
        assert "11;" not in terminal.settle()
        assert "rgb" not in terminal.text()


def test_no_answer_costs_nothing(one_world: World) -> None:
    with screen(one_world, "-m", one_world.model, COLORFGBG="0;15") as terminal:
        terminal.wait_text("Ask holdfast")
        wait_theme(terminal, LIGHT.background)
        terminal.line("/help")
        terminal.wait_text("Keys")


def test_a_chosen_theme_is_not_changed(one_world: World) -> None:
    (one_world.home / "config.toml").write_text('theme = "holdfast-light"\n')
    with screen(one_world, "-m", one_world.model, COLORFGBG="15;0") as terminal:
        terminal.wait_text("Ask holdfast")
        wait_theme(terminal, LIGHT.background)
        terminal.send(b"\x1b]11;rgb:0000/0000/0000\x07")
        terminal.line("/theme holdfast-dark")
        wait_theme(terminal, DARK.background)
        assert QUESTION.encode() not in bytes(terminal.raw)
    (one_world.home / "config.toml").write_text('theme = "gone"\n')
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Unknown theme 'gone' in config.toml. See /theme.")
