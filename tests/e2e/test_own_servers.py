"""Servers that the config names: a turn, a session that goes on, switching to one, and what is said of one's rules."""

from __future__ import annotations

import json

import pytest
from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_provider import ScriptedProvider

KINDS = {"openai-chat": "/v1", "anthropic": "", "gemini": ""}


def configure(world: World, kind: str, address: str) -> None:
    config = world.home / "config.toml"
    config.write_text(f'{config.read_text()}[providers.home]\nkind = "{kind}"\nbase_url = "{address}"\n')


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_with_a_server_that_wants_no_key(one_world: World, kind: str) -> None:
    with ScriptedProvider([[Call("glob", {"pattern": "*"})], [Say("empty")], [Say("on we go")]], key=None) as server:
        configure(one_world, kind, f"{server.url}{KINDS[kind]}")
        ran = one_world.run("-m", "home:m", "--yolo", "-p", "look", environ=one_world.environ(OPENAI_API_KEY=""))
        assert (ran.code, ran.out) == (0, "empty\n"), ran.err
        assert one_world.go_on("-m", "home:other").out == "on we go\n"
        assert server.refusals == server.complaints == ()
    (session,) = one_world.sessions
    shown = json.loads(one_world.run("sessions", "show", session.name, "--history", "--json").out)
    assert (shown["model"], shown["findings"]) == ("home:other", [])
    assert shown["profile"] == {"openai-chat": "openai-compatible"}.get(kind, kind)
    assert "valid for all" in one_world.run("sessions", "verify").out


def test_a_session_goes_to_a_server_of_ones_own_and_back(world: World) -> None:
    world.script([Call("glob", {"pattern": "*"})], [Say("here")], [Say("back")])
    with ScriptedProvider([[Call("glob", {"pattern": "*"})], [Say("at home")]], key=None) as server:
        configure(world, "openai-chat", f"{server.url}/v1")
        assert world.ask("look").out == "here\n"
        assert world.go_on("-m", "home:m").out == "at home\n"
        assert world.go_on("-m", world.model).out == "back\n"
        assert server.refusals == server.complaints == ()


def test_one_that_is_gone_is_said_and_the_session_is_kept(one_world: World) -> None:
    with ScriptedProvider(key=None) as server:
        address = server.url
    configure(one_world, "openai-chat", f"{address}/v1")
    config = one_world.home / "config.toml"
    config.write_text(config.read_text().replace("[providers.home]", "[providers.home]\nlimits = { attempts = 1 }"))
    ran = one_world.run("-m", "home:m", "-p", "hello")
    assert ran.code == 75
    assert "Connection to model 'home:m' failed" in ran.err
    one_world.script([Say("here")])
    assert one_world.go_on("-m", one_world.model).out == "here\n"


def test_on_the_screen_it_is_one_of_the_models(one_world: World) -> None:
    with ScriptedProvider([[Say("The answer from home.")]], key=None) as server:
        configure(one_world, "openai-chat", f"{server.url}/v1")
        with screen(one_world) as terminal:
            terminal.wait_text("Choose a model to start")
            terminal.send(Key.ESC)
            terminal.wait_absent("Choose a model to start")
            terminal.line("/model")
            terminal.wait_text("home:MODEL")
            terminal.send("home")
            terminal.wait_absent("openai-chat:")
            terminal.send(Key.ENTER)
            terminal.wait_text("/model home:")
            terminal.line("small")
            terminal.wait_text("home:small")
            terminal.line("hello")
            terminal.wait_text(r"The answer from home\.")
            terminal.wait_absent("esc to interrupt")
            terminal.send(Key.CTRL_D)
            assert terminal.wait() == 0
        assert server.refusals == server.complaints == ()
