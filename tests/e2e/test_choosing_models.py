"""Models: what a provider lists is in the list of the screen and of a command, and another stands in for a busy one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.session.journal.entries import ModelChanged, RequestStarted
from holdfast.testing.script import Fail, Say
from holdfast.testing.scripted_provider import ScriptedProvider

CTRL_F = b"\x06"
MANY = [f"model-{number}" for number in range(60)]


@pytest.fixture
def listed_world(tmp_path: Path) -> Iterator[World]:
    """Return a world whose provider lists its models, with a name that a terminal would act on."""
    with ScriptedProvider(models=["m", *MANY, "evil\x1b[2J"]) as provider:
        world = World("openai-chat", root=tmp_path, provider=provider)
        try:
            yield world
            world.verify()
        finally:
            world.close()


def configure(world: World, line: str) -> None:
    config = world.home / "config.toml"
    config.write_text(f"{line}\n{config.read_text()}")


def test_the_screen_lists_searches_and_marks_them(listed_world: World) -> None:
    world = listed_world
    world.script([Say("The answer of the other.")])
    with screen(world, "-m", world.model) as terminal:
        terminal.wait_text("openai-chat:")
        terminal.line("/model")
        terminal.wait_text("Ctrl\\+F marks a favourite")
        terminal.wait_text(r"openai-chat:model-3\s")
        terminal.wait_text("lists 1 model without a usable name")
        terminal.send("model-57")
        terminal.wait_absent(r"model-3\s")
        terminal.send(CTRL_F)
        terminal.wait_text("openai-chat:model-57 ★")
        terminal.send(Key.ENTER)
        terminal.wait_absent("marks a favourite")
        terminal.line("hello")
        terminal.wait_text(r"The answer of the other\.")
        terminal.line("/model")
        terminal.wait_text("openai-chat:model-57 ★ .*in use")
        terminal.wait_text("marks a favourite")
        terminal.send(Key.ESC)
        terminal.wait_absent("marks a favourite")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert [entry.model for entry in world.entries() if isinstance(entry, RequestStarted)] == ["openai-chat:model-57"]
    assert json.loads((world.home / "favourites.json").read_text()) == {"models": ["openai-chat:model-57"]}


def test_a_command_lists_them_for_people_and_as_json(listed_world: World) -> None:
    world = listed_world
    (world.home / "favourites.json").write_text('{"models": ["openai-chat:model-2"]}')
    ran = world.run("models", "openai-chat")
    assert ran.code == 0
    assert "★  openai-chat:model-2\n" in ran.out
    assert "   openai-chat:model-3\n" in ran.out
    assert "\x1b" not in ran.out + ran.err
    assert ran.err == "holdfast: openai-chat lists 1 model without a usable name.\n"
    (listed,) = json.loads(world.run("models", "openai-chat", "--json").out)
    assert (listed["provider"], listed["source"], listed["missing"]) == ("openai-chat", "cache", "")
    assert [each["id"] for each in listed["models"] if each["favourite"]] == ["openai-chat:model-2"]
    (again,) = json.loads(world.run("models", "openai-chat", "--json", "--refresh").out)
    assert again["source"] == "provider"
    assert world.run("models", "nobody").code == 2


def test_a_provider_that_lists_nothing_leaves_what_holdfast_knows(one_world: World) -> None:
    ran = one_world.run("models", "anthropic")
    assert ran.code == 0
    assert "anthropic:claude-opus-5 " in ran.out
    assert "could not be listed: the provider has no such list (status 404)" in ran.err
    assert "test-key" not in ran.err


def test_another_model_stands_in_for_one_that_is_overloaded(one_world: World) -> None:
    configure(one_world, 'fallback_model = "anthropic:m"')
    one_world.script(*[[Fail(529)]] * 4, [Say("from the other")], [Say("back here")])
    ran = one_world.ask("hello", environ=one_world.environ())
    assert (ran.code, ran.out) == (0, "from the other\n"), ran.err
    assert "This turn continues with anthropic:m, the fallback model." in ran.err
    model = one_world.model
    again = one_world.go_on()
    assert again.out == "back here\n"
    assert f"(resumed) · {model} · yolo" in again.err
    models = [entry.model for entry in one_world.entries() if isinstance(entry, RequestStarted)]
    assert models == [*[model] * 4, "anthropic:m", model]
    assert [entry for entry in one_world.entries() if isinstance(entry, ModelChanged)] == [
        ModelChanged(model="anthropic:m", why="fallback"),
        ModelChanged(model=model, why="back"),
    ]
    assert "valid for all" in one_world.run("sessions", "verify").out


def test_a_fallback_can_be_named_for_one_run(one_world: World) -> None:
    one_world.script(*[[Fail(529)]] * 4, [Say("from the other")])
    ran = one_world.ask("hello", "--fallback-model", "anthropic:m", "--output-format", "stream-json")
    assert {"type": "model", "model": "anthropic:m", "why": "fallback"}.items() <= ran.of("model")[0].items()
    assert ran.code == 0


def test_a_fallback_that_is_the_model_or_nobodys_is_refused(one_world: World) -> None:
    ran = one_world.ask("hello", "--fallback-model", one_world.model)
    assert (ran.code, "is the model itself" in ran.err) == (2, True)
    ran = one_world.ask("hello", "--fallback-model", "nobody:m")
    assert (ran.code, "Fallback model cannot be used" in ran.err) == (2, True)
    configure(one_world, 'model = "openai:a"\nfallback_model = "openai:a"')
    ran = one_world.run("-p", "hello")
    assert (ran.code, "is `model` itself" in ran.err) == (2, True)
    assert one_world.provider.requests == ()


def test_the_first_line_of_a_run_that_switches_the_model_is_its_init(one_world: World) -> None:
    one_world.script([Say("one")], [Say("two")])
    one_world.ask("hello")
    ran = one_world.go_on("-m", "anthropic:m", "--effort", "low", "--output-format", "stream-json")
    assert (ran.lines[0]["type"], ran.lines[0]["model"], ran.lines[0]["effort"]) == ("init", "anthropic:m", "low")
    assert ran.of("model") == []


def test_why_a_fallback_was_not_used_is_said_once_behind_why_the_model_failed(one_world: World) -> None:
    one_world.script(*[[Fail(529)]] * 4)
    without = {name: value for name, value in one_world.environ().items() if name != "ANTHROPIC_API_KEY"}
    ran = one_world.ask("hello", "--fallback-model", "anthropic:m", environ=without)
    assert ran.code == 75
    assert "Turn ended: provider error (The fallback model was not used: No API key for anthropic. " in ran.err
