"""What an editor brings to a session and takes away: MCP servers, further folders, notices, deleted sessions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from editor_client import Editor, judge_by
from launching import World

from holdfast.session.journal.entries import CallEnded, SessionOpened
from holdfast.testing.script import Call, Fail, Hold, Say
from polling import eventually

SERVER = Path(__file__).parents[1] / "mcp_server.py"


def server(world: World, kind: str, name: str = "srv") -> dict[str, Any]:
    args = [str(SERVER), kind, str(world.folder / "marker")]
    return {"name": name, "command": sys.executable, "args": args, "env": [{"name": "SECRET", "value": "${hush}"}]}


def results(world: World) -> list[tuple[str, str]]:
    return [(entry.outcome, entry.text) for entry in world.entries() if isinstance(entry, CallEnded)]


def opened(world: World) -> SessionOpened:
    return next(entry for entry in world.entries() if isinstance(entry, SessionOpened))


def test_servers_of_the_editor_are_asked_and_their_secrets_are_not_journalled(one_world: World) -> None:
    world = one_world
    world.script(
        (Call("mcp_call", {"tool": "mcp__srv__environment", "arguments": {}}),),
        (Call("mcp_call", {"tool": "mcp__srv__echo", "arguments": {"text": "hi"}}),),
        (Say("Done."),),
        (Call("mcp_call", {"tool": "mcp__srv__echo", "arguments": {"text": "again"}}),),
        (Say("Done."),),
    )
    editor = Editor(world, "--yolo")
    session = editor.opened(servers=[server(world, "plain"), server(world, "broken", "other")])
    result = editor.answer(editor.prompt(session, "go"))["result"]
    assert (result["stopReason"], result["_meta"]["holdfast/receipt"]["turns"]) == ("end_turn", [1])
    editor.leave()
    (first, environment), echoed = results(world)
    assert first == "ok"
    assert environment.endswith("${hush}")
    assert echoed == ("ok", "echo hi")
    assert "hush" not in "".join(map(str, (opened(world), *world.entries()[:2])))
    loaded = Editor(world, "--yolo")
    loaded.ask("initialize", protocolVersion=1)
    servers = [server(world, "plain")]
    where = {"sessionId": session, "cwd": str(world.folder), "mcpServers": servers}
    judge_by("LoadSessionRequest", where)
    assert "result" in loaded.ask("session/load", **where)
    loaded.answer(loaded.prompt(session, "again"))
    loaded.leave()
    assert results(world)[-1] == ("ok", "echo again")
    eventually(lambda: not [each for each in Path("/proc").iterdir() if each.name.isdigit() and _serves(world, each)])


def _serves(world: World, process: Path) -> bool:
    try:
        return str(world.folder / "marker").encode() in (process / "cmdline").read_bytes()
    except OSError:
        return False


def test_servers_that_cannot_be_used_are_refused_before_there_is_a_session(one_world: World) -> None:
    world = one_world
    editor = Editor(world)
    editor.ask("initialize", protocolVersion=1)
    bad: Any
    outdated = {"type": "sse", "name": "old", "url": "http://127.0.0.1:1/", "headers": list[object]()}
    bad: Any
    for bad in (outdated, {"name": "nameless"}, "text"):
        error = editor.ask("session/new", cwd=str(world.folder), mcpServers=[bad])["error"]
        assert error["code"] == -32602
        assert "MCP server" in error["message"]
    where = {"cwd": str(world.folder), "mcpServers": [], "additionalDirectories": ["relative"]}
    assert editor.ask("session/new", **where)["error"]["code"] == -32602
    editor.leave()
    assert not (world.home / "sessions").exists()


def test_further_folders_are_read_without_asking_and_written_only_with_it(one_world: World, tmp_path: Path) -> None:
    world = one_world
    more = tmp_path / "more"
    more.mkdir()
    (more / "a.txt").write_text("further\n")
    world.script(
        (Call("read", {"path": str(more / "a.txt")}),),
        (Call("write", {"path": str(more / "b.txt"), "content": "x"}),),
        (Say("Done."),),
    )
    editor = Editor(world, "--permission-mode", "accept-edits")
    editor.ask("initialize", protocolVersion=1)
    where = {"cwd": str(world.folder), "mcpServers": [], "additionalDirectories": [str(more)]}
    session = str(editor.ask("session/new", **where)["result"]["sessionId"])
    request = editor.prompt(session, "go")
    permission = editor.permission()
    assert "b.txt" in permission["params"]["toolCall"]["title"]
    editor.choose(permission, "no")
    assert editor.answer(request)["result"]["stopReason"] == "end_turn"
    editor.leave()
    assert [outcome for outcome, _ in results(world)] == ["ok", "denied"]
    assert str(more) in opened(world).system


def test_a_session_is_moved_to_the_trash_also_while_it_runs(one_world: World) -> None:
    world = one_world
    world.one_past = False  # its session is gone in the end
    world.script((Say("half"), Hold("never")))
    editor = Editor(world)
    session = editor.opened()
    request = editor.prompt(session, "go")
    editor.until(lambda _: "half" in editor.text())
    other = Editor(world)
    other.ask("initialize", protocolVersion=1)
    assert other.ask("session/delete", sessionId=session)["error"]["data"]["busy"] is True
    assert editor.ask("session/delete", sessionId=session)["result"] == {}
    assert editor.answer(request)["result"]["stopReason"] == "cancelled"
    assert editor.ask("session/delete", sessionId=session)["error"]["code"] == -32002
    assert editor.ask("session/list")["result"]["sessions"] == []
    assert other.leave().code == editor.leave().code == 0
    assert [each.name for each in (world.home / "trash").iterdir()] == [session]


def test_notices_go_to_a_client_that_draws_them_and_are_no_part_of_a_replay(one_world: World) -> None:
    world = one_world
    world.script((Fail(503, "busy"),), (Say("Done."),))
    editor = Editor(world)
    session = editor.opened(session={"notices": {}, "compaction": {}})
    editor.answer(editor.prompt(session, "go"))
    (notice,) = editor.updates("notice")
    assert notice["severity"] == "warning"
    assert "retrying" in notice["title"]
    assert editor.text("agent_thought_chunk") == ""
    editor.leave()
    again = Editor(world)
    again.load(session, session={"notices": {}})
    assert again.updates("notice") == []
    again.leave()


def test_a_list_that_is_cancelled_is_answered_once(one_world: World) -> None:
    editor = Editor(one_world)
    editor.ask("initialize", protocolVersion=1)
    listed = editor.request("session/list")
    editor.send(listed, {"method": "$/cancel_request", "params": {"requestId": listed["id"]}})
    assert editor.answer(listed)["error"]["code"] == -32800
    assert editor.ask("session/list")["result"] == {"sessions": []}
    editor.leave()
