"""A whole session in an editor: the real program over pipes, every line judged by the protocol's schema."""

from __future__ import annotations

import base64
import json
import re
import signal
from pathlib import Path
from typing import Any

import jsonschema  # pyright: ignore[reportMissingTypeStubs] - it has none
import pytest
from editor_client import Editor, cancelled, judge_by
from launching import World, bash

from holdfast.session.journal.entries import CallEnded, PromptAccepted, TurnEnded
from holdfast.testing.script import Call, Fail, Hold, Say, Think
from polling import eventually
from shown_images import png


def ends(world: World) -> list[str]:
    return [entry.cause for entry in world.entries() if isinstance(entry, TurnEnded)]


def outcomes(world: World) -> list[str]:
    return [entry.outcome for entry in world.entries() if isinstance(entry, CallEnded)]


def test_a_turn_with_a_question_an_edit_and_an_answer(world: World) -> None:
    world.script(
        (Say("I look. "), Call("write", {"path": "a.txt", "content": "one\n"})),
        (Call("edit", {"path": "a.txt", "old": "one", "new": "two"}), bash("echo out; touch ran")),
        (Say("Done."),),
    )
    editor = Editor(world)
    session = editor.opened()
    request = editor.prompt(session, "do it")
    first = editor.permission()
    assert first["params"]["options"][0]["kind"] == "allow_once"
    assert first["params"]["options"][-1]["kind"] == "reject_once"
    assert not (world.folder / "a.txt").exists()
    editor.choose(first, "edits")
    second = editor.permission(2)
    assert second["params"]["toolCall"]["kind"] == "execute"
    editor.choose(second, "once")
    assert editor.answer(request)["result"]["stopReason"] == "end_turn"
    assert editor.text() == "I look. Done."
    calls = editor.updates("tool_call")
    assert [each["kind"] for each in calls] == ["edit", "edit", "execute"]
    ended = {each["toolCallId"]: each["status"] for each in editor.updates("tool_call_update")}
    assert ended == {each["toolCallId"]: "completed" for each in calls}
    diffs = [
        each["content"][0]
        for each in editor.updates("tool_call_update")
        if each["status"] == "in_progress" and each.get("content") and each["content"][0]["type"] == "diff"
    ]
    path = str(world.folder / "a.txt")
    assert diffs == [
        {"type": "diff", "path": path, "oldText": None, "newText": "one\n"},
        {"type": "diff", "path": path, "oldText": "one", "newText": "two"},
    ]
    assert editor.updates("current_mode_update")[-1]["currentModeId"] == "accept-edits"
    assert editor.updates("usage_update")[-1]["used"] > 0
    assert editor.updates("session_info_update")[0]["title"] == "do it"
    ran = editor.leave()
    assert ran.code == 0, ran.err
    assert outcomes(world) == ["ok", "ok", "ok"]


def test_a_refused_call_and_a_closed_question(world: World) -> None:
    world.script((bash("touch a"),), (bash("touch b"),))
    editor = Editor(world)
    session = editor.opened()
    request = editor.prompt(session, "go")
    editor.choose(editor.permission(), "no")
    question = editor.permission(2)
    editor.send({"id": question["id"], "result": {"outcome": {"outcome": "cancelled"}}})
    assert editor.answer(request)["result"]["stopReason"] == "cancelled"
    assert editor.leave().code == 0
    assert outcomes(world) == ["denied", "not_started"]
    assert ends(world) == ["user"]
    assert not list(world.folder.iterdir())


def test_an_answer_that_is_none_is_asked_for_once_more_and_then_denied(one_world: World) -> None:
    world = one_world
    world.script((bash("touch a"),), (Say("ok"),))
    editor = Editor(world)
    request = editor.prompt(editor.opened(), "go")
    editor.send({"id": editor.permission()["id"], "result": {"outcome": {"outcome": "selected", "optionId": "tea"}}})
    editor.send({"id": editor.permission(2)["id"], "error": {"code": -32601, "message": "no"}})
    assert editor.answer(request)["result"]["stopReason"] == "end_turn"
    assert outcomes(world) == ["denied"]
    editor.leave()


def test_a_cancel_is_answered_with_cancelled_wherever_it_comes(world: World) -> None:
    world.script(
        (Say("half of it"), Hold("never")), (bash("touch asked"),), (bash("touch ran; sleep 600"),), (Say("x"),)
    )
    editor = Editor(world, "--allow-yolo")
    session = editor.opened()
    streamed = editor.prompt(session, "one")
    editor.until(lambda _: "half of it" in editor.text())
    editor.cancel(session)
    assert editor.answer(streamed)["result"]["stopReason"] == "cancelled"
    request = editor.prompt(session, "two")
    question = editor.permission()
    editor.cancel(session)  # and the question is never answered in time
    assert editor.answer(request)["result"]["stopReason"] == "cancelled"
    editor.until(lambda line: line.get("params") == {"requestId": question["id"]})
    editor.choose(question, "once")  # too late
    editor.ask("session/set_mode", sessionId=session, modeId="yolo")
    running = editor.prompt(session, "three")
    eventually((world.folder / "ran").exists)
    editor.send({"method": "$/cancel_request", "params": {"requestId": running["id"]}})
    assert editor.answer(running)["result"]["stopReason"] == "cancelled"
    both = editor.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "four"}])
    editor.send(both, cancelled(session), cancelled(session))
    assert editor.answer(both)["result"]["stopReason"] == "cancelled"
    editor.cancel(session)  # nothing runs
    last = editor.prompt(session, "five")
    assert editor.answer(last)["result"]["stopReason"] == "end_turn"
    assert editor.leave().code == 0
    assert outcomes(world) == ["not_started", "interrupted"]
    assert ends(world) == ["user"] * 4 + ["finished"]
    assert [entry.text for entry in world.entries() if isinstance(entry, PromptAccepted)][3] == "four"
    assert not (world.folder / "asked").exists()


def test_a_second_prompt_stops_the_first(world: World) -> None:
    world.script((Say("half of it"), Hold("never")), (Say("second"),))
    editor = Editor(world)
    session = editor.opened()
    first = editor.prompt(session, "one")
    editor.until(lambda _: "half of it" in editor.text())
    second = editor.prompt(session, "two")
    assert editor.answer(first)["result"]["stopReason"] == "cancelled"
    assert editor.answer(second)["result"]["stopReason"] == "end_turn"
    assert editor.text().endswith("second")
    editor.leave()


def test_loaded_in_a_new_process_the_history_is_replayed_the_same_each_time(world: World) -> None:
    world.script(
        (Think("hm"), Say("I run it. "), bash("echo out")),
        (Say("Done."),),
        (Say("Again."),),
    )
    editor = Editor(world, "--yolo")
    session = editor.opened()
    editor.answer(editor.prompt(session, "do it"))
    shown = [each["toolCallId"] for each in editor.updates("tool_call")]
    editor.leave()
    replays: list[list[dict[str, Any]]] = []
    again = Editor(world, "--yolo")
    for _ in range(2):
        again.ask("initialize", protocolVersion=1)
        listed = again.ask("session/list", cwd=str(world.folder))["result"]["sessions"]
        assert [(each["sessionId"], each["title"]) for each in listed] == [(session, "do it")]
        answer = again.ask("session/load", sessionId=session, cwd=str(world.folder), mcpServers=[])
        assert [each["id"] for each in answer["result"]["configOptions"]] == ["mode", "model", "thinking"]
        assert again.text("user_message_chunk") == "do it"
        assert again.text() == "I run it. Done."
        assert again.text("agent_thought_chunk") == "hm"
        assert [each["toolCallId"] for each in again.updates("tool_call")] == shown
        assert again.updates("tool_call_update")[-1]["status"] == "completed"
        replays.append([line for line in again.lines if line.get("method") == "session/update"])
        if len(replays) == 1:
            again.vanish()
            again = Editor(world, "--yolo")
    assert replays[0] == replays[1]
    assert again.answer(again.prompt(session, "more"))["result"]["stopReason"] == "end_turn"
    again.leave()
    other = Editor(world)
    other.ask("initialize", protocolVersion=1)
    other.ask("session/resume", sessionId=session, cwd=str(world.folder))
    assert other.text("user_message_chunk") == ""
    other.leave()


def test_killed_anywhere_it_loads_with_true_words(world: World) -> None:
    world.script((Say("I run it. "), bash("touch ran; sleep 600")), (Say("Whole."),))
    editor = Editor(world, "--yolo")
    session = editor.opened()
    editor.prompt(session, "do it")
    eventually((world.folder / "ran").exists)
    editor.until(lambda _: any(each["status"] == "in_progress" for each in editor.updates("tool_call_update")))
    editor.killed()
    again = Editor(world, "--yolo")
    again.ask("initialize", protocolVersion=1)
    again.ask("session/load", sessionId=session, cwd=str(world.folder), mcpServers=[])
    assert [e["toolCallId"] for e in again.updates("tool_call")] == [
        e["toolCallId"] for e in editor.updates("tool_call")
    ]
    last = again.updates("tool_call_update")[-1]
    assert last["status"] == "failed"
    assert "nterrupted" in last["content"][0]["content"]["text"]
    assert again.answer(again.prompt(session, "go on"))["result"]["stopReason"] == "end_turn"
    again.leave()
    assert outcomes(world) == ["interrupted"]


def test_an_editor_that_goes_away_leaves_a_settled_turn_and_no_process(world: World) -> None:
    world.script((bash("echo $$ > pid; sleep 600"),), (Say("half"), Hold("never")))
    session = ""
    for number, wait in enumerate((lambda: bool(world.lines("pid")), lambda: world.checkpointed() == "half")):
        editor = Editor(world, "--yolo")
        session = session or editor.opened()
        if number:
            editor.ask("session/resume", sessionId=session, cwd=str(world.folder))
        editor.prompt(session, "go")
        eventually(wait)
        ran = editor.vanish() if number == 0 else editor.leave()
        assert ran.code == 0, ran.err
    eventually(lambda: not Path("/proc", world.lines("pid")[0]).exists())
    assert ends(world) == ["output", "output"]
    assert outcomes(world) == ["interrupted"]


def test_a_turn_that_fails_is_an_error_and_the_next_prompt_works(one_world: World) -> None:
    world = one_world
    world.script((Fail(400, "no"),), (Say("two"),))
    editor = Editor(world)
    session = editor.opened()
    error = editor.answer(editor.prompt(session, "one"))["error"]
    assert error["code"] == -32603
    assert error["data"] == {"cause": "provider", "retryable": False}
    assert "choose another model" in error["message"]
    assert editor.answer(editor.prompt(session, "two"))["result"]["stopReason"] == "end_turn"
    editor.leave()


def test_what_is_no_message_costs_nothing(one_world: World) -> None:
    world = one_world
    world.script((Say("one"),), (Say("two"),))
    editor = Editor(world)
    session = editor.opened()
    editor.send(b"garbage\n", b"[1]\n", b"\xff\n", b"\n", b'{"jsonrpc":"2.0"}\n', b"[" * 100_000 + b"\n")
    editor.send({"id": "a", "method": "tea/make"}, {"method": "tea/made"}, {"id": 99, "result": {}})
    request = editor.request("session/prompt", sessionId="nope", prompt=[{"type": "text", "text": "x"}])
    editor.send(request)
    assert editor.answer(request)["error"]["code"] == -32002
    for blocks in ([], [{"type": "audio", "data": "", "mimeType": "audio/wav"}], [{"type": "tea"}]):
        assert editor.ask("session/prompt", sessionId=session, prompt=blocks)["error"]["code"] == -32602
    assert editor.ask("session/new", cwd="relative", mcpServers=[])["error"]["code"] == -32602
    codes = [line["error"]["code"] for line in editor.lines if "error" in line]
    assert codes[:6] == [-32700, -32600, -32700, -32600, -32700, -32601]
    half = editor.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "HERE"}])
    editor.send(json.dumps({"jsonrpc": "2.0", **half}).replace("HERE", "a \\ud800 b").encode() + b"\n")
    assert editor.answer(half)["result"]["stopReason"] == "end_turn"
    assert world.user_texts == ["a \ufffd b"]
    editor.leave()


def test_images_files_and_unsaved_files_of_a_prompt(one_world: World) -> None:
    world = one_world
    world.script((Say("I see"),))
    (world.folder / "a.txt").write_text("disk\n")
    editor = Editor(world)
    session = editor.opened()
    uri = (world.folder / "a.txt").as_uri()
    blocks = [
        {"type": "text", "text": "Compare"},
        {"type": "resource_link", "uri": uri, "name": "a.txt"},
        {"type": "text", "text": "with"},
        {"type": "resource", "resource": {"uri": uri, "text": "buffer\n"}},
        {"type": "image", "data": base64.b64encode(png()).decode(), "mimeType": "image/png"},
    ]
    assert editor.ask("session/prompt", sessionId=session, prompt=blocks)["result"]["stopReason"] == "end_turn"
    (prompt,) = [entry for entry in world.entries() if isinstance(entry, PromptAccepted)]
    assert [image.data for image in prompt.images] == [png()]
    assert prompt.text.startswith("Compare @a.txt with\n@a.txt\n```\nbuffer\n```\n")
    assert "unsaved changes" in prompt.text
    editor.leave()


def test_choices_commands_and_a_session_that_is_open_elsewhere(one_world: World) -> None:
    world = one_world
    world.script((Say("one"),))
    editor = Editor(world)
    session = editor.opened()
    editor.until(lambda _: bool(editor.updates("available_commands_update")))
    answer = editor.ask("session/set_config_option", sessionId=session, configId="thinking", value="high")
    assert [each["currentValue"] for each in answer["result"]["configOptions"]] == ["ask", world.model, "high"]
    assert editor.ask("session/set_mode", sessionId=session, modeId="plan")["result"] == {}
    for option, value in (("mode", "yolo"), ("model", "nope"), ("thinking", "tea"), ("tea", "x")):
        answer = editor.ask("session/set_config_option", sessionId=session, configId=option, value=value)
        assert answer["error"]["code"] in (-32602, -32603), answer
    assert editor.answer(editor.prompt(session, "/rename My work"))["result"]["stopReason"] == "end_turn"
    assert editor.updates("session_info_update")[-1]["title"] == "My work"
    other = Editor(world)
    other.ask("initialize", protocolVersion=1)
    busy = other.ask("session/load", sessionId=session, cwd=str(world.folder), mcpServers=[])["error"]
    assert busy["data"]["busy"] is True
    assert editor.ask("session/close", sessionId=session)["result"] == {}
    assert "result" in other.ask("session/load", sessionId=session, cwd=str(world.folder), mcpServers=[])
    assert other.ask("session/load", sessionId=session[:-1], cwd=str(world.folder), mcpServers=[])["error"]
    assert other.leave().code == 0
    assert editor.leave().code == 0
    assert len(world.sessions) == 1


def test_the_schema_judges() -> None:
    with pytest.raises(jsonschema.ValidationError, match="tea"):
        judge_by("PromptResponse", {"stopReason": "tea"})


def test_the_settings_in_the_how_to_page_start_an_agent(one_world: World) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "editors.md").read_text()
    blocks = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)]
    assert len(blocks) == 2
    for block in blocks:
        (server,) = block["agent_servers"].values()
        assert (server["command"], server["args"]) == ("holdfast", ["acp"])
    assert page.count('args = { "acp" }') == page.count(':command-params \'("acp")') == 1
    request = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 7}})
    ran = one_world.run(*blocks[0]["agent_servers"]["holdfast"]["args"], stdin=request.encode())
    assert (ran.code, ran.err) == (0, "")
    judge_by("InitializeResponse", ran.lines[0]["result"])
    assert ran.lines[0]["result"]["protocolVersion"] == 1


def test_a_signal_settles_both_sessions_of_one_editor(one_world: World) -> None:
    world = one_world
    world.one_past = False
    world.script((bash("touch a; sleep 600"),), (bash("touch asked"),))
    editor = Editor(world, "--allow-yolo")
    first = editor.opened()
    second = str(editor.ask("session/new", cwd=str(world.folder), mcpServers=[])["result"]["sessionId"])
    editor.ask("session/set_mode", sessionId=first, modeId="yolo")
    running = editor.prompt(first, "one")
    eventually((world.folder / "a").exists)
    waiting = editor.prompt(second, "two")
    editor.permission()
    editor.agent.send(signal.SIGTERM)
    ended = [editor.answer(each)["result"]["stopReason"] for each in (running, waiting)]
    assert ended == ["cancelled", "cancelled"]
    ran = editor.leave()
    assert ran.code == 0, ran.err
    for session in world.sessions:
        assert [entry.cause for entry in world.entries(session) if isinstance(entry, TurnEnded)] == ["signal"]
    assert not (world.folder / "asked").exists()
