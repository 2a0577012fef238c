"""Settings changed in the session, in a real terminal: what is seen, what is written, and what the next start has."""

from __future__ import annotations

import tomllib

from launching import World
from terminal import Key, Terminal
from test_terminal import screen

PROMPT = "Ask holdfast to do something"
CTRL_S = b"\x13"


def config(world: World) -> dict[str, object]:
    """Return the user's settings as the file has them."""
    return tomllib.loads((world.home / "config.toml").read_text())


def leave(terminal: Terminal) -> None:
    terminal.send(Key.CTRL_D)
    assert terminal.wait() == 0


def close(terminal: Terminal, title: str) -> None:
    """Close what is open with Esc, which counts as a key only if nothing follows it at once."""
    terminal.settle()
    terminal.send(Key.ESC)
    terminal.wait_absent(title)
    terminal.settle()
    terminal.wait_absent(title)


def test_settings_are_searched_changed_and_kept(one_world: World) -> None:
    """The file keeps its comments, the session changes at once where it can, and a wrong value is said in its place."""
    path = one_world.home / "config.toml"
    path.write_text(f"# mine\n{path.read_text()}")
    with screen(one_world, "-m", one_world.model, "--yolo", columns=110, lines=40) as terminal:
        terminal.wait_text(PROMPT)
        terminal.line("/config")
        terminal.wait_text(r"permission_mode +\"yolo\" +(option|this session)")
        assert "limits.pool" not in terminal.text()  # the internals are below
        terminal.send("max_steps")
        terminal.wait_text(r"limits\.max_steps +200 +default")
        terminal.send(Key.ENTER)
        terminal.wait_text("most requests of a turn")
        terminal.wait_text("Expected: a whole number, at least 1")
        terminal.send("x\r")
        terminal.wait_text("x is not possible: expected a whole number, at least 1.")
        terminal.send(b"\x7f")
        terminal.wait_text(r"\n +default\n")
        terminal.send("50\r")
        terminal.wait_text("Keep limits.max_steps = 50")
        terminal.send("all projects\r")
        terminal.wait_text(r"limits\.max_steps = 50 in\s")
        terminal.wait_text(r"It\s+applies\s+from\s+the\s+next\s+start\.")
        terminal.wait_text(r"limits\.max_steps +50 +.*config\.toml:\d")
        assert config(one_world)["limits"] == {"backoff": 0.01, "max_steps": 50}
        terminal.send("permission_mode\r")
        terminal.wait_text("what runs without asking")
        terminal.send("plan\r")
        terminal.wait_text("in this session")
        terminal.send(Key.ENTER)
        terminal.wait_text(r"permission_mode +\"plan\" +this session")
        assert "permission_mode" not in config(one_world)
        close(terminal, "Settings")
        terminal.wait_text("plan · shift")
        terminal.line("/config mouse maybe user")
        terminal.wait_text("Cannot set mouse to 'maybe': expected true or false. Nothing was changed.")
        terminal.line("/config wake true user")
        terminal.wait_text(r"wake = true in\s")
        terminal.line("/config wakes true user")
        terminal.wait_text("Unknown setting 'wakes'. Did you mean wake?")
        leave(terminal)
    assert path.read_text().startswith("# mine\n")
    assert config(one_world)["wake"] is True


def test_what_commands_choose_is_kept_where_the_user_says(one_world: World) -> None:
    """For this session, this project or all of them; the next start has it."""
    project = one_world.folder / ".holdfast" / "config.toml"
    with screen(one_world, "-m", one_world.model, columns=110, lines=40) as terminal:
        terminal.wait_text(PROMPT)
        terminal.line("/theme nord")
        terminal.wait_text(r'theme = "nord" in\s')
        terminal.line("/theme gruvbox session")
        terminal.wait_absent('theme = "nord" in ')
        terminal.line("/theme mauve")
        terminal.wait_text("Unknown theme 'mauve'")
        terminal.send(Key.CTRL_C)  # the line is given back
        terminal.line("/effort high project")
        terminal.wait_text(r'effort = "high" in\s')
        terminal.wait_text(r"gpt-5.5 \(high\)|gpt-5.5 high")
        terminal.line("/permissions")
        terminal.wait_text("Ctrl\\+S keeps it")
        terminal.send("accept-edits")
        terminal.send(CTRL_S)
        terminal.wait_text("Keep permission_mode = accept-edits")
        terminal.send("all projects\r")
        terminal.wait_text('permission_mode = "accept-edits" in')
        terminal.wait_text("accept edits|accept-edits")
        terminal.line("/model openai:gpt-5.5-mini user")
        terminal.wait_text('model = "openai:gpt-5.5-mini" in')
        terminal.line("/mouse off")
        terminal.wait_text("To keep it: /mouse off user")
        leave(terminal)
    assert {"theme": "nord", "permission_mode": "accept-edits", "model": "openai:gpt-5.5-mini"}.items() <= config(
        one_world
    ).items()
    assert tomllib.loads(project.read_text()) == {"effort": "high"}
    with screen(one_world, "-m", one_world.model, columns=110, lines=40) as terminal:
        terminal.wait_text(PROMPT)
        terminal.line("/config")
        terminal.wait_text(r'theme +"nord" +.*config\.toml:\d')
        terminal.wait_text(r'effort +"high" +.*\.holdfast/config\.toml:1')
        terminal.wait_text(r'permission_mode +"accept-edits" +.*config\.toml:\d')
        close(terminal, "Settings")
        leave(terminal)
