"""Titles that a model writes, in a real terminal: once, in the background, and nothing waits for it."""

from __future__ import annotations

import signal

from launching import World
from terminal import Key, Terminal
from test_terminal import screen

from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import Titled
from holdfast.testing.script import Fail, Hold, Say
from polling import eventually

NAMER = "openai-chat:gpt-5.5-mini"


def with_title_model(world: World) -> World:
    """Return the world with a model for titles, whose requests have a system prompt that no journal has."""
    config = world.home / "config.toml"
    config.write_text(f'title_model = "{NAMER}"\n{config.read_text()}')
    world.one_past = False
    return world


def titles(world: World) -> list[tuple[str, str]]:
    return [(entry.title, entry.model) for entry in world.entries() if isinstance(entry, Titled)]


def ask(terminal: Terminal, prompt: str, answer: str) -> None:
    terminal.line(prompt)
    terminal.wait_text(answer)
    terminal.wait_absent("esc to interrupt")


def test_a_title_is_written_once_and_its_cost_is_counted(one_world: World) -> None:
    world = with_title_model(one_world)
    world.script([Say("It leaks a lease.")], [Say('"The **flaky** lease".\n')], [Say("Yes.")], [Say("Still.")])
    with screen(world, "-m", world.model, columns=110, lines=36) as terminal:
        terminal.wait_text("Ask holdfast")
        ask(terminal, "look at this:", "It leaks a lease")
        terminal.wait_text(f"Title, by {NAMER}: The flaky lease")
        ask(terminal, "sure?", r"Yes\.")
        terminal.line("/cost")
        terminal.wait_text(rf"{NAMER} +1 ")
        terminal.settle()
        terminal.send(Key.ESC)
        terminal.wait_absent("By model")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
        assert b"The flaky lease" in terminal.raw.rpartition(b"\x1b[?1049l")[2]
    with screen(world, "-c") as terminal:
        terminal.wait_text(r"Yes\.")
        ask(terminal, "and now?", r"Still\.")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert titles(world) == [("The flaky lease", NAMER)]
    assert [each.title for each in Catalog(world.home / "sessions").all()] == ["The flaky lease"]
    bodies = [str(request.body) for request in world.provider.requests]
    assert len(bodies) == 4
    assert "look at this:" in bodies[1]
    assert "It leaks a lease." in bodies[1]


def test_nothing_waits_for_a_title(one_world: World) -> None:
    """It hangs, is killed with holdfast, and is not asked for again; the first prompt is the title."""
    world = with_title_model(one_world)
    world.script([Say("One.")], [Say("Lat"), Hold("title"), Say("e")], [Say("Two.")], [Say("Three.")])
    with screen(world, "-m", world.model) as terminal:
        terminal.wait_text("Ask holdfast")
        ask(terminal, "first words", r"One\.")
        world.provider.wait_for("title")
        ask(terminal, "second words", r"Two\.")
        terminal.kill(signal.SIGKILL)
        assert terminal.wait() == -signal.SIGKILL
    with screen(world, "-c") as terminal:
        terminal.wait_text(r"Two\.")
        ask(terminal, "third words", r"Three\.")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert titles(world) == []
    assert len(world.provider.requests) == 4


def test_the_user_s_title_wins_and_a_failure_is_said(one_world: World) -> None:
    world = with_title_model(one_world)
    world.script([Say("One.")], [Hold("title"), Say("Of the model")], [Say("Two.")], [Fail(500)])
    with screen(world, "-m", world.model) as terminal:
        terminal.wait_text("Ask holdfast")
        ask(terminal, "first words", r"One\.")
        world.provider.wait_for("title")
        terminal.line("/rename Mine")
        terminal.wait_text('Renamed to "Mine"')
        world.provider.release("title")
        terminal.line("/new")
        terminal.wait_text("The next prompt starts a new session")
        ask(terminal, "other words", r"Two\.")
        terminal.wait_text(rf"(?s)No title from '{NAMER}': .*status\s+500")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert sorted(each.title for each in Catalog(world.home / "sessions").all()) == ["Mine", "other words"]


def test_a_run_of_one_prompt_asks_for_no_title(one_world: World) -> None:
    """It ends with its turn: the title would be paid for, and thrown away."""
    world = with_title_model(one_world)
    world.script([Say("It leaks.")])
    assert world.run("-m", world.model, "--yolo", "-p", "look at this:").code == 0
    assert titles(world) == []
    assert len(world.provider.requests) == 1


def test_the_plain_mode_gets_a_title(one_world: World) -> None:
    world = with_title_model(one_world)
    world.script([Say("It leaks.")], [Say("The leak of a lease")])
    with Terminal(("--plain", "-m", world.model), env=world.environ(), cwd=world.folder, warm=True) as terminal:
        terminal.wait_text("Plain mode")
        terminal.send("look at this\n")
        eventually(lambda: titles(world))
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert titles(world) == [("The leak of a lease", NAMER)]
