"""Prompts of MCP servers, typed as commands: with `-p`, on the screen, and in an editor."""

from __future__ import annotations

import signal

from editor_client import Editor
from launching import World
from terminal import Key
from test_editor_workspace import server
from test_mcp import configure
from test_terminal import screen

from holdfast.session.journal.entries import PromptAccepted
from holdfast.testing.script import Say
from polling import eventually

GREETED = 'greet {"how": "very nicely", "who": "ann"} @/etc/passwd.png'


def prompts(world: World) -> list[str]:
    return [entry.text for entry in world.entries() if isinstance(entry, PromptAccepted)]


def written(world: World) -> str:
    calls = world.folder / "marker.calls"
    return calls.read_text() if calls.exists() else ""


def test_a_prompt_is_what_the_server_writes(one_world: World) -> None:
    world = one_world
    configure(world, "prompting")
    world.script([Say("Hello.")])
    ran = world.ask("/mcp__srv__greet ann very nicely")
    assert (ran.code, ran.out.strip()) == (0, "Hello."), ran.err
    assert "passwd" not in ran.err  # only what the user wrote attaches files
    assert prompts(world) == [GREETED]
    refused = world.run("-c", "-p", "/mcp__srv__greet")
    assert refused.code == 2
    assert "Argument 'who' is missing. Usage: /mcp__srv__greet WHO [HOW]" in refused.err
    unknown = world.run("-c", "-p", "/mcp__other__greet ann")
    assert unknown.code == 2
    assert "no MCP server is called so (configured: srv)" in unknown.err
    waiting = world.start("-c", "-p", "/mcp__srv__wait")
    eventually(lambda: "wrote wait" in written(world))
    waiting.send(signal.SIGINT)
    stopped = waiting.wait()
    assert stopped.code == 130, stopped.err
    assert prompts(world) == [GREETED]
    world.verify()


def test_prompts_are_completed_and_what_does_not_come_returns(one_world: World) -> None:
    world = one_world
    configure(world, "prompting")
    assert world.run("mcp", "test", "srv").code == 0
    world.script([Say("Hello.")])
    with screen(world, "-m", world.model) as terminal:
        terminal.wait_text("shift")
        terminal.send("/mcp__srv__gr")
        terminal.wait_text(r"/mcp__srv__greet WHO \[HOW\] +Greets somebody\.")
        terminal.send(Key.TAB)
        terminal.line("ann very nicely")
        terminal.wait_text("Hello")
        terminal.wait_absent("esc to interrupt")
        terminal.line("/mcp__srv__wait")
        eventually(lambda: "wrote wait" in written(world))
        terminal.send(Key.ESC)
        terminal.wait_text("MCP server 'srv' was stopped")
        terminal.wait_text("▌ /mcp__srv__wait")
        terminal.send(Key.CTRL_C)
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert prompts(world) == [GREETED]
    world.verify()


def test_an_editor_is_offered_them(one_world: World) -> None:
    world = one_world
    world.script((Say("Hello."),))
    editor = Editor(world, "--yolo")
    session = editor.opened(servers=[server(world, "prompting")])

    def offered() -> list[str]:
        updates = [line["params"]["update"] for line in editor.lines if line.get("method") == "session/update"]
        commands = [each for each in updates if each["sessionUpdate"] == "available_commands_update"]
        return [command["name"] for command in commands[-1]["availableCommands"]]

    answered = editor.answer(editor.prompt(session, "/mcp__srv__greet ann very nicely"))
    assert answered["result"]["stopReason"] == "end_turn"
    assert "mcp__srv__greet" in offered()
    refused = editor.answer(editor.prompt(session, "/mcp__srv__nothing"))
    assert "offers /mcp__srv__greet, /mcp__srv__wait" in refused["error"]["message"]
    request = editor.prompt(session, "/mcp__srv__wait")
    eventually(lambda: "wrote wait" in written(world))
    editor.cancel(session)
    assert editor.answer(request)["result"]["stopReason"] == "cancelled"
    editor.leave()
    assert prompts(world) == [GREETED]
