"""MCP servers through the real program: declared, called, stopped and killed."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.session.journal.entries import CallEnded, CallStarted, PromptAccepted, SessionOpened, ToolsChanged
from holdfast.testing.script import Call, Say
from polling import eventually, expect_within

SERVER = Path(__file__).parents[1] / "mcp_server.py"


def configure(world: World, kind: str, *, name: str = "srv") -> None:
    entry = {"command": sys.executable, "args": [str(SERVER), kind, str(world.folder / "marker")]}
    (world.home / "mcp.json").write_text(json.dumps({"mcpServers": {name: entry}}))


def declared(world: World) -> list[str]:
    opened = next(entry for entry in world.entries() if isinstance(entry, SessionOpened))
    return [tool.name for tool in opened.tools if tool.name.startswith("mcp_")]


def outcomes(world: World) -> list[tuple[str, str]]:
    return [(entry.outcome, entry.text) for entry in world.entries() if isinstance(entry, CallEnded)]


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may end while it is read
        return False


def test_a_tool_is_declared_and_called_and_the_prefix_stays(world: World) -> None:
    configure(world, "plain")
    world.script([Call("mcp__srv__echo", {"text": "hi"})], [Say("Done.")], [Say("On.")])
    ran = world.ask("go")
    assert (ran.code, ran.out.strip()) == (0, "Done."), ran.err
    assert "mcp__srv__echo" in declared(world)
    assert outcomes(world) == [("ok", "echo hi")]
    (world.home / "mcp.json").unlink()  # the session keeps what it declared
    world.go_on()
    world.verify()


def test_a_server_that_is_gone_at_resume_fails_its_calls_only(one_world: World) -> None:
    configure(one_world, "plain")
    one_world.script([Say("Hello.")])
    assert one_world.ask("go").code == 0
    configure(one_world, "broken")
    one_world.script([Call("mcp__srv__echo", {})], [Say("Sad.")])
    one_world.go_on()
    ((outcome, text),) = outcomes(one_world)
    assert outcome == "failed"
    assert "no such database" in text
    assert text.endswith("Nothing was sent.")
    one_world.verify()


def test_tools_change_only_between_turns_and_by_an_entry(one_world: World) -> None:
    configure(one_world, "changing")
    one_world.script(
        [Call("mcp__srv__echo", {})],  # the server has other tools by now
        [Say("1")],
        [Call("mcp__srv__other", {"text": "new"})],
        [Say("2")],
    )
    assert one_world.ask("go").code == 0
    assert declared(one_world) == ["mcp__srv__echo"]
    one_world.go_on()
    changes = [entry for entry in one_world.entries() if isinstance(entry, ToolsChanged)]
    assert [[tool.name for tool in each.tools if tool.name.startswith("mcp_")] for each in changes] == [
        ["mcp__srv__other"]
    ]
    assert "New: mcp__srv__other; not offered any more: mcp__srv__echo" in changes[0].note
    kinds = [type(entry) for entry in one_world.entries()]
    assert kinds[kinds.index(ToolsChanged) + 1] is PromptAccepted
    (_, refusal), (outcome, text) = outcomes(one_world)
    assert "does not offer 'mcp__srv__echo'" in refusal
    assert (outcome, text) == ("ok", "echo new")
    one_world.verify()


def test_many_tools_are_found_on_demand(one_world: World) -> None:
    configure(one_world, "many")
    one_world.script(
        [Call("mcp_find", {"query": "tool007"})],
        [Call("mcp_call", {"tool": "mcp__srv__tool007", "arguments": {"text": "x"}})],
        [Say("Done.")],
    )
    assert one_world.ask("go").code == 0
    assert declared(one_world) == ["mcp_find", "mcp_call", "mcp_read"]
    (_, found), (outcome, text) = outcomes(one_world)
    assert "mcp__srv__tool007: Does tool007." in found
    assert (outcome, text) == ("ok", "echo x")
    one_world.verify()


def test_rules_and_plan_mode_count(one_world: World) -> None:
    configure(one_world, "plain")
    one_world.script([Call("mcp__srv__echo", {})], [Say("1")])
    assert one_world.run("-m", one_world.model, "-p", "a", "--allow", "mcp__srv__*").code == 0
    one_world.script([Call("mcp__srv__echo", {})], [Say("2")])
    assert one_world.run("-c", "-p", "b").code == 0
    one_world.script([Call("mcp__srv__echo", {})], [Say("3")])
    assert one_world.run("-c", "-p", "c", "--permission-mode", "plan", "--allow", "mcp__srv").code == 0
    one_world.script([Call("mcp__srv__echo", {})], [Say("4")])
    assert one_world.run("-c", "-p", "d", "--yolo", "--deny", "mcp__srv__echo").code == 0
    assert [outcome for outcome, _ in outcomes(one_world)] == ["ok", "denied", "denied", "denied"]


def test_a_tool_that_only_reads_runs_in_plan_mode_if_its_server_is_trusted(one_world: World) -> None:
    entry = [sys.executable, str(SERVER), "hinted", str(one_world.folder / "marker")]
    (one_world.home / "config.toml").write_text(
        f"[mcp.servers.srv]\ncommand = {entry[0]!r}\nargs = {entry[1:]!r}\ntrust_hints = true\n"
    )
    echo = Call("mcp__srv__echo", {"text": "x"})
    one_world.script([echo, echo, Call("mcp__srv__fail", {})], [Say("Done.")])
    assert one_world.run("-m", one_world.model, "-p", "a", "--permission-mode", "plan").code == 0
    assert [outcome for outcome, _ in outcomes(one_world)] == ["ok", "ok", "denied"]
    started = [entry for entry in one_world.entries() if isinstance(entry, CallStarted)]
    assert [(each.effect, each.remote.tool if each.remote else "") for each in started] == [("read", "echo")] * 2
    one_world.verify()


def test_servers_of_a_project_need_trust(one_world: World) -> None:
    entry = {"command": sys.executable, "args": [str(SERVER), "plain", str(one_world.folder / "marker")]}
    (one_world.folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"srv": entry}}))
    one_world.script([Say("1")], [Say("2")])
    ran = one_world.ask("go")
    assert "Ignoring the untrusted MCP servers of" in ran.err
    assert declared(one_world) == []
    assert one_world.ask("go", "--trust-project").code == 0
    opened = [next(e for e in one_world.entries(s) if isinstance(e, SessionOpened)) for s in one_world.sessions]
    assert sorted("mcp__srv__echo" in {tool.name for tool in each.tools} for each in opened) == [False, True]


def above(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


VICTIMS = ("agent", "relay", "supervisor", "watchdog")
ALONE = [("agent",), ("supervisor",), ("watchdog",), ("relay",)]
TOGETHER = [("agent", "supervisor"), ("agent", "supervisor", "watchdog")]


@pytest.mark.parametrize("victims", [*ALONE, *TOGETHER], ids="-".join)
def test_a_kill_leaves_no_process_and_one_outcome(one_world: World, victims: tuple[str, ...]) -> None:
    configure(one_world, "stubborn")
    one_world.script([Call("mcp__srv__echo", {})], [Call("mcp__srv__slow", {})], [Say("Done.")])
    agent = one_world.start("-m", one_world.model, "--yolo", "-p", "go")
    calls = one_world.folder / "marker.calls"
    eventually(lambda: calls.exists() and "slow" in calls.read_text())
    pids = [int(each) for each in (one_world.folder / "marker").read_text().split()]
    assert all(map(lives, pids))
    relay = above(pids[0])
    supervisor = above(relay)
    known = {"relay": relay, "supervisor": supervisor, "watchdog": above(supervisor), "agent": agent.pid}
    assert len({*known.values(), *pids}) == 6
    for victim in reversed(VICTIMS):  # the outermost first: none has time to end what is below it
        if victim in victims:
            os.kill(known[victim], signal.SIGKILL)
    killed = time.monotonic()
    eventually(lambda: not any(map(lives, pids)))
    expect_within(1.0, killed)
    if "agent" in victims:
        agent.kill()
        one_world.script([Say("On.")])
        one_world.go_on()
    else:
        assert agent.wait().code == 0
    eventually(lambda: not any(map(lives, known.values())))
    assert [outcome for outcome, _ in outcomes(one_world)] == ["ok", "interrupted"]
    assert calls.read_text().split().count("slow") == 1
    assert sum(isinstance(entry, CallStarted) for entry in one_world.entries()) == 2
    one_world.verify()


def test_escape_during_a_call_gives_the_prompt_back(one_world: World) -> None:
    configure(one_world, "stubborn")
    assert one_world.run("mcp", "test", "srv").code == 0  # its tools are known when the session begins
    one_world.script([Call("mcp__srv__slow", {"text": "this"})])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("shift")
        terminal.line("go")
        terminal.wait_text(r"(?s)Ask srv: slow\?.*this.*Always allow calls of mcp__srv__slow")
        terminal.send("1")
        calls = one_world.folder / "marker.calls"
        eventually(lambda: calls.exists() and "slow" in calls.read_text())
        terminal.send(Key.ESC)
        terminal.wait_absent("esc to interrupt")
        terminal.line("/mcp")
        terminal.wait_text(r"(?s)MCP servers.*srv +9 tools, declared.*srv: connected, stubborn 1\.0")
        terminal.send(Key.ESC)
        terminal.wait_absent("9 tools, declared")
        before = (one_world.folder / "marker").read_text()
        terminal.line("/mcp restart srv")
        terminal.wait_text(r"(?s)MCP server srv.*command +.*mcp_server\.py stubborn.*srv: connected, stubborn 1\.0")
        assert (one_world.folder / "marker").read_text() != before
        assert not any(map(lives, map(int, before.split())))
        terminal.send(Key.ESC)
        terminal.wait_absent("srv: connected")
        terminal.line("/mcp other")
        terminal.wait_text("Unknown MCP server 'other'")
        terminal.send(Key.CTRL_C)
        terminal.wait_absent("▌ /mcp other")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    ((outcome, text),) = outcomes(one_world)
    assert outcome == "interrupted"
    assert "was asked to stop. Whether it acted is unknown" in text
    pids = [int(each) for each in (one_world.folder / "marker").read_text().split()]
    eventually(lambda: not any(map(lives, pids)))


def test_the_command_manages_servers(one_world: World) -> None:
    marker = str(one_world.folder / "marker")
    added = one_world.run("mcp", "add", "-e", "SECRET=x", "srv", "--", sys.executable, str(SERVER), "plain", marker)
    assert added.code == 0, added.err
    assert "tools not known yet" in one_world.run("mcp", "list").out
    tested = one_world.run("mcp", "test", "srv")
    assert tested.code == 0, tested.err
    assert "srv: plain 1.0, protocol 2025-11-25" in tested.out
    assert "mcp__srv__echo  Does echo." in tested.out
    assert "9 tools, declared" in one_world.run("mcp", "list").out
    assert "env      SECRET\n" in one_world.run("mcp", "get", "srv").out
    assert one_world.run("mcp", "add-json", "web", '{"type": "http", "url": "http://127.0.0.1:9/mcp"}').code == 0
    failed = one_world.run("mcp", "test", "web")
    assert failed.code == 1
    assert "MCP server 'web' cannot be reached" in failed.err
    assert one_world.run("mcp", "add-json", "old", '{"type": "sse", "url": "http://127.0.0.1:9"}').code == 2
    assert one_world.run("mcp", "remove", "web").code == 0
    assert one_world.run("mcp", "remove", "web").code == 2
    config = one_world.home / "config.toml"
    config.write_text(f"[mcp.servers.own]\ncommand = {sys.executable!r}\nargs = [{str(SERVER)!r}, 'plain']\n")
    assert "own: plain 1.0" in one_world.run("mcp", "test", "own").out
    assert (
        f"MCP server 'own' is in {str(config)!r}. Remove [mcp.servers.own]" in one_world.run("mcp", "remove", "own").err
    )
