"""An MCP server that fails is reported: in the journal, to the model, on standard error and by doctor."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from launching import World
from test_plain import PlainTerminal
from test_terminal import screen

from holdfast.session.journal.entries import CallEnded, PromptAccepted, ServerFailed
from holdfast.testing.script import Call, Say

SERVER = Path(__file__).parents[1] / "mcp_server.py"


def configure(world: World, **kinds: str) -> None:
    entries = {
        name: {"command": sys.executable, "args": [str(SERVER), kind, str(world.folder / "marker")]}
        for name, kind in kinds.items()
    }
    (world.home / "mcp.json").write_text(json.dumps({"mcpServers": entries}))


def failed(world: World) -> list[ServerFailed]:
    return [entry for entry in world.entries() if isinstance(entry, ServerFailed)]


def test_a_server_that_fails_at_the_start_is_reported_once(one_world: World) -> None:
    world = one_world
    configure(world, good="plain", lost="broken")
    world.script([Say("Hello.")], [Say("On.")])
    ran = world.ask("go")
    assert ran.code == 0
    (entry,) = failed(world)
    assert (entry.server, entry.tools) == ("lost", ())
    assert "It exited with code 4." in entry.reason
    assert "MCP server lost failed: It exited with code 4." in ran.err
    kinds = [type(each) for each in world.entries()]
    assert kinds.index(ServerFailed) < kinds.index(PromptAccepted)
    body = json.dumps(world.provider.requests[-1].body)
    assert "[Note from holdfast: MCP server 'lost' failed: It exited with code 4." in body
    assert "Its tools are not available.]" in body
    world.go_on()
    assert len(failed(world)) == 1
    world.verify()


def test_a_server_that_fails_in_a_turn_is_reported_with_its_call(one_world: World) -> None:
    world = one_world
    configure(world, srv="plain")
    world.script([Say("Hello.")])
    assert world.ask("go").code == 0
    configure(world, srv="broken")
    world.script([Call("mcp__srv__echo", {})], [Call("mcp__srv__echo", {})], [Say("Sad.")])
    ran = world.run("-c", "-p", "on", "--yolo", "--output-format", "stream-json")
    assert ran.code == 0, ran.err
    (entry,) = failed(world)
    assert "mcp__srv__echo" in entry.tools
    assert entry.note == ""  # the model reads it as the outcome of its call
    kinds = [type(each) for each in world.entries()]
    assert kinds[kinds.index(CallEnded) + 1] is ServerFailed
    (line,) = ran.of("server_failed")
    assert (line["server"], line["reason"], line["tools"]) == ("srv", entry.reason, list(entry.tools))
    world.verify()


def test_the_first_line_of_a_run_has_the_state_of_each_server(one_world: World) -> None:
    configure(one_world, good="plain", lost="broken")
    one_world.script([Say("Hello.")])
    ran = one_world.ask("go", "--output-format", "stream-json")
    (line,) = ran.of("init")
    good, lost = line["mcp_servers"]
    assert good == {"name": "good", "status": "connected"}
    assert (lost["name"], lost["status"]) == ("lost", "failed")
    assert lost["error"].startswith("It exited with code 4.")


def test_a_page_says_once_what_a_server_wrote(one_world: World) -> None:
    configure(one_world, lost="broken")
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("MCP server 'lost' cannot be reached: It exited with code 4.")
        terminal.line("/mcp")
        terminal.wait_text("no such database")
        assert terminal.text().count("Its last lines on stderr:") == 1
        assert "tools not known yet" not in terminal.text()


SHOWN = "MCP server lost failed: It exited with code 4."


def test_the_screen_says_at_once_and_after_the_next_prompt_that_a_server_failed(one_world: World) -> None:
    configure(one_world, lost="broken")
    one_world.script([Say("Hello.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("MCP server 'lost' cannot be reached: It exited with code 4.")
        assert "To see its states: /mcp." in terminal.text()
        terminal.send("go\r")
        terminal.wait_text("Hello.")
        terminal.wait_text(SHOWN)
        assert "cannot be reached" not in terminal.text()
    assert len(failed(one_world)) == 1


def test_plain_mode_says_at_the_next_prompt_that_a_server_failed(one_world: World) -> None:
    configure(one_world, lost="broken")
    one_world.script([Say("Hello.")])
    with PlainTerminal(one_world, "-m", one_world.model, "--plain") as terminal:
        terminal.type("go")
        terminal.wait_text("Hello.")
        assert SHOWN in terminal.text()


def test_doctor_reports_servers(one_world: World) -> None:
    configure(one_world, good="plain", lost="broken")
    out = one_world.run("doctor").out
    assert "mcp good" in out
    assert "works, 9 tools" in out
    assert "It exited with code 4. Its last lines on stderr: no such database" in out
    assert "Test it: holdfast mcp test lost." in out
