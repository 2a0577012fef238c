"""The status line in a real terminal: facts at their places, at three widths, and the user's own command."""

from __future__ import annotations

import pytest
from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.testing.script import Hold, Say


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (120, r" ask · shift\+tab to cycle +openai-chat:gpt-5\.5 · context ━─{7} <?\d %( · \$[\d.]+)? · main$"),
        (80, r" ask · shift\+tab to cycle +(openai-chat:)?gpt-5\.5 · ━─{7} <?\d %"),
        (60, r" ask · shift\+tab to cycle +gpt-5\.5 · <?\d %"),
        (40, r" ask · shift\+tab to cycle"),
    ],
)
def test_facts_have_their_places(one_world: World, columns: int, shown: str) -> None:
    (one_world.folder / ".git").mkdir(exist_ok=True)
    (one_world.folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    one_world.script([Say("An answer.")], [Hold("stream")])
    with screen(one_world, "-m", one_world.model, columns=columns) as terminal:
        terminal.wait_text("Ask holdfast")
        terminal.line("go")
        terminal.wait_text("An answer")
        terminal.wait_text(shown)
        facts = terminal.text().splitlines()[-1].partition("cycle")[2].strip()
        terminal.line("again")
        one_world.provider.wait_for("stream")
        terminal.wait_text("esc to interrupt")
        assert terminal.text().splitlines()[-1].rstrip().endswith(facts)
        terminal.send(Key.ESC)
        terminal.wait_absent("esc to interrupt")
        terminal.line("/permissions yolo")
        terminal.wait_text("  yolo  · not confined")


def test_a_command_of_the_users_own(one_world: World) -> None:
    """Its line follows the session; one that hangs costs neither the screen nor a process."""
    (one_world.home / "config.toml").write_text(
        """statusline = "tr ',' '\\n' | sed -n 's/.permission_mode.:/mine /p'"\n"""
    )
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text('mine "ask"$')
        terminal.send(Key.SHIFT_TAB)
        terminal.wait_text('accept-edits · shift.* mine "accept-edits"$')
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    (one_world.home / "config.toml").write_text('statusline = "sleep 31415"\n')
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Status line command failed: it took longer than 2 s")
        terminal.wait_text(one_world.model)
