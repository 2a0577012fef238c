"""The welcome in a real terminal: model, last session and hints, and the folder's session is resumed as it says."""

from __future__ import annotations

from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.testing.script import Say


def test_the_last_session_is_offered(one_world: World) -> None:
    one_world.script([Say("A first answer.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(rf"{one_world.model}\n")
        terminal.wait_text("ask for an AGENTS.md")
        terminal.wait_text("Not a git repository")
        assert "Last here" not in terminal.text()
        terminal.line("name the parser")
        terminal.wait_text("A first answer")
        terminal.wait_absent("No AGENTS.md|esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    (one_world.folder / "AGENTS.md").touch()
    with screen(one_world, "-m", one_world.model) as terminal:
        resume = terminal.wait_text(r"Last here, (just now|\d.*): name the parser  (/resume \S+)")[2]
        assert "No AGENTS.md" not in terminal.text()
        terminal.line("/model demo")
        terminal.wait_text(r" · demo\n")
        terminal.line(resume)
        terminal.wait_text("A first answer")
