"""Effort from the command line, from the config and on the screen, as the provider receives it."""

from __future__ import annotations

from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.session.journal.entries import ModelSettingsChanged
from holdfast.session.journal.model_settings import ModelSettings
from holdfast.testing.script import Say

MODEL = "openai:gpt-5.1"


def efforts(world: World) -> list[object]:
    """Return the reasoning field of each request."""
    return [request.body.get("reasoning") for request in world.provider.requests if request.body is not None]


def test_an_effort_on_the_command_line_is_sent_and_stays_with_the_session(one_world: World) -> None:
    world = one_world
    world.script([Say("one")], [Say("two")], [Say("three")])
    (world.home / "config.toml").write_text('effort = "low"\n[models."openai:gpt-5.1"]\nmax_output = 5000\n')
    first = world.run("-m", MODEL, "--effort", "high", "-p", "go", "--output-format", "stream-json")
    assert first.code == 0
    assert first.lines[0]["effort"] == "high"
    again = world.run("-c", "-p", "go on")
    assert f"{MODEL} · effort high · " in again.err
    changed = world.run("-c", "--effort", "max", "-p", "more", "--output-format", "stream-json")
    assert changed.lines[0]["type"] == "init"
    assert changed.of("finding")[0]["message"] == f"{MODEL} has no effort 'max': 'high' is sent."
    assert efforts(world) == [{"effort": "high"}] * 3
    assert [entry.settings for entry in world.entries() if isinstance(entry, ModelSettingsChanged)] == [
        ModelSettings(effort="high", max_output=5_000),
        ModelSettings(effort="max", max_output=5_000),
    ]


def test_a_setting_that_no_model_takes_is_an_error(one_world: World) -> None:
    ran = one_world.run("-m", MODEL, "--temperature", "3", "-p", "go")
    assert ran.code == 2
    assert ran.err == "holdfast: --temperature 3.0 is invalid (expected a number from 0 to 2).\n"


def test_effort_is_chosen_on_the_screen(one_world: World) -> None:
    world = one_world
    world.script([Say("First answer.")], [Say("Second answer.")])
    with screen(world, "-m", MODEL) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("/effort low")
        terminal.wait_text(r"gpt-5\.1 \(low\)")
        terminal.line("hello")
        terminal.wait_text(r"First answer\.")
        terminal.wait_absent("esc to interrupt")
        terminal.line("/effort")
        terminal.wait_text("the provider decides")
        terminal.send("high")
        terminal.wait_absent("the provider decides")
        terminal.send(Key.ENTER)
        terminal.wait_text(r"gpt-5\.1 \(high\)")
        terminal.line("again")
        terminal.wait_text(r"Second answer\.")
    assert efforts(world) == [{"effort": "low"}, {"effort": "high"}]
