"""A project's own config: ignored until the user trusts it, asked about once for each text, and obeyed then."""

from __future__ import annotations

import pytest
from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.testing.script import Call, Say

CONFIG = """\
model = "openai-chat:of-the-project"
[allow]
run = ["touch one"]
"""
HERE = ".holdfast/config.toml"


@pytest.fixture
def project(one_world: World) -> World:
    written(one_world, CONFIG)
    return one_world


def written(world: World, text: str) -> None:
    path = world.folder / HERE
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_without_a_screen_it_is_ignored_in_one_line_until_an_option_says_otherwise(project: World) -> None:
    ran = project.run("-p", "hello")
    assert ran.code == 2
    assert "No model configured" in ran.err
    ignored = "Review it, then run with --trust-project.\n"
    assert ran.err.count(ignored) == 1

    project.script([Call("bash", {"command": "touch one"})], [Say("done")], [Say("more")])
    ran = project.run("-p", "hello", "--trust-project")
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    assert "trusted" not in ran.err
    ran = project.run("-c", "-p", "more")
    assert (ran.code, ran.out) == (0, "more\n"), ran.err
    assert "trusted" not in ran.err

    written(project, CONFIG + "# changed\n")
    assert ignored in project.run("-p", "hello").err
    assert project.run("-p", "hello", "--no-trust-project").code == 2
    written(project, CONFIG)
    assert ignored in project.run("-p", "hello").err


def test_a_damaged_file_of_answers_is_reported_and_prevents_no_run(project: World) -> None:
    project.script([Say("one")], [Say("two")], [Say("three")], [Say("four")])
    assert project.run("-p", "hello", "--trust-project").code == 0
    (answers,) = (project.home / "approvals").iterdir()
    answers.write_text("{half a")
    for more in ((), ("--trust-project",)):
        ran = project.run("-m", project.model, "-p", "hello", *more)
        assert ran.code == 0, ran.err
        assert "delete it to be asked again. Until then it allows nothing." in ran.err
        assert "Ignoring untrusted project config" in ran.err
    with screen(project, "-m", project.model) as terminal:
        terminal.wait_text("Until then it allows nothing")
    assert answers.read_text() == "{half a"
    answers.unlink()
    assert project.run("-m", project.model, "-p", "hello").code == 0


def test_what_it_allows_is_asked_about_while_it_is_not_trusted(project: World) -> None:
    project.script([Call("bash", {"command": "touch one"})])
    ran = project.run("-m", project.model, "-p", "hello", "--on-approval", "stop")
    assert ran.code == 3, ran.err
    project.script([Say("never mind")])
    assert project.go_on().code == 0


def test_a_project_config_that_cannot_be_read_is_reported_and_prevents_no_run(project: World) -> None:
    written(project, '[providers.evil]\nkind = "anthropic"\nbase_url = "http://x"\n')
    project.script([Say("works")])
    ran = project.run("-m", project.model, "-p", "hello", "--trust-project")
    assert (ran.code, ran.out) == (0, "works\n")
    assert "unknown field `providers`" in ran.err
    assert "The project config is ignored." in ran.err


def test_the_terminal_asks_once_for_each_text(project: World) -> None:
    with screen(project) as terminal:
        terminal.wait_text(r"Trust this version\? \[y/N\]")
        shown = terminal.text()
        assert "openai-chat:of-the-project" in shown
        assert '["touch one"]' in shown
        terminal.send("y\r")
        terminal.wait_text("Ask holdfast to do something")
        terminal.wait_text("of-the-project")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    with screen(project) as terminal:
        terminal.wait_text("of-the-project")
        assert "Trust this" not in terminal.text()
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    written(project, CONFIG.replace("of-the", "\\u001b[2Jof-the"))
    with screen(project) as terminal:
        terminal.wait_text("Trust this")
        assert r"\u001b[2Jof-the" in terminal.text()
        terminal.send(Key.CTRL_D)
        terminal.wait_text("run with --trust-project")


def test_no_is_remembered_too(project: World) -> None:
    with screen(project) as terminal:
        terminal.wait_text("Trust this")
        terminal.send("n\r")
        terminal.wait_text("run with --trust-project")
        terminal.wait_text("Set up a provider")
        terminal.send(Key.ESC)
        terminal.wait_absent("Set up a provider")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    with screen(project) as terminal:
        terminal.wait_text("run with --trust-project")
        terminal.wait_text("Set up a provider")
        terminal.send(Key.ESC)
        terminal.wait_absent("Set up a provider")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0


def test_what_the_file_becomes_while_it_is_worked_in_was_not_meant(project: World) -> None:
    another = CONFIG.replace("touch one", "rm one")
    with screen(project, "--trust-project") as terminal:
        terminal.wait_text("of-the-project")
        written(project, another)
        terminal.line("/setup")
        terminal.wait_text("Number or name")
        terminal.settle()
        terminal.send(Key.CTRL_C)
        terminal.wait_text(r"Trust this version\? \[y/N\]")
        terminal.settle()
        terminal.send("n\r")
        terminal.wait_text("Choose a model to start")
        terminal.settle()
        terminal.send(Key.ESC)
        terminal.wait_absent("Choose a model to start")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert "Ignoring untrusted project config" in project.run("-p", "hello").err
