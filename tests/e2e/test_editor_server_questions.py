"""Questions of MCP servers in an editor: as forms, as an address, as permissions, and one that a kill has left open."""

from __future__ import annotations

import json
from typing import Any

from editor_client import Editor, judge_by
from launching import World
from test_mcp import configure, outcomes
from test_mcp_questions import ANN, kinds, notes

from holdfast.testing.script import Call, Say

FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
PAGES: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}


def asked_by(world: World, era: str, tool: str, **capabilities: Any) -> tuple[Editor, str, dict[str, Any]]:
    """Return an editor whose turn calls a tool of a server of that era, its session, and the prompt's request."""
    configure(world, era)
    assert world.run("mcp", "test", "srv").code == 0
    world.script([Call(f"mcp__srv__{tool}", {})], [Say("Done.")], [Say("On.")])
    editor = Editor(world, "--yolo", cold=False)
    session = editor.opened(**capabilities)
    return editor, session, editor.prompt(session, "go")


def fields(form: dict[str, Any]) -> dict[str, Any]:
    return form["params"]["requestedSchema"]["properties"]


def fill(editor: Editor, first: int) -> None:
    """Fill in the server's form, whose first field is the form of this number; one answer is not taken."""
    name = editor.form(first)
    assert name["params"]["message"].startswith("MCP server srv asks:\n\nWho travels?\n\n**Your name**")
    assert fields(name)["own_words"]["title"] == "Your answer"
    editor.fill(name, own_words="ann")
    seat = editor.form(first + 1)
    assert [each["title"] for each in fields(seat)["answer"]["oneOf"]] == [
        "aisle",
        "window",
        "Decline: answer none of it",
    ]
    assert "own_words" not in fields(seat)  # its values are all there are
    editor.fill(seat, answer="option2")
    editor.fill(editor.form(first + 2), own_words="7")
    again = editor.form(first + 3)
    assert "Not taken: It must be 18 or more" in again["params"]["message"]
    editor.fill(again, own_words="30")


def test_a_form_whose_answers_a_kill_took_is_asked_again(one_world: World) -> None:
    editor, session, _ = asked_by(one_world, "modern", "book", **FORMS)
    editor.fill(editor.form(), own_words="ann")
    editor.form(2)  # the first answer was taken, and no answer has reached the server
    editor.killed()
    assert kinds(one_world) == ["call-started", "call-waits"]
    again = Editor(one_world, "--yolo", cold=False)
    assert "result" in again.load(session, **FORMS)
    (card,) = again.updates("tool_call")
    assert card["status"] in ("pending", "in_progress")
    request = again.prompt(session, "/continue")
    fill(again, 1)
    assert again.answer(request)["result"]["stopReason"] == "end_turn"
    again.leave()
    ((outcome, text),) = outcomes(one_world)
    assert (outcome, json.loads(text)) == ("ok", ANN)
    assert notes(one_world).split("\n")[:-1] == ["asked book", "did book"]
    assert kinds(one_world) == ["call-started", "call-waits", "call-answered", "call-ended"]


def test_a_server_that_waits_is_answered_by_forms_declined_or_stopped(one_world: World) -> None:
    editor, session, request = asked_by(one_world, "asking", "book", **FORMS)
    one_world.script([Call("mcp__srv__book", {})], [Say("Two.")], [Call("mcp__srv__book", {})])
    fill(editor, 1)
    assert editor.answer(request)["result"]["stopReason"] == "end_turn"
    editor.answer(editor.prompt(session, "an answer that is not asked for"))
    request = editor.prompt(session, "again")
    editor.send({"id": editor.form(5)["id"], "result": {"action": "decline"}})
    assert editor.answer(request)["result"]["stopReason"] == "end_turn"
    request = editor.prompt(session, "and again")
    form = editor.form(6)
    editor.cancel(session)
    assert editor.answer(request)["result"]["stopReason"] == "cancelled"
    editor.until(lambda line: line.get("params") == {"requestId": form["id"]})
    editor.leave()
    answers = [
        json.loads(line.removeprefix("answered ")) for line in notes(one_world).splitlines() if "answered" in line
    ]
    assert answers == [ANN, {"action": "decline"}, {"action": "cancel"}]
    assert len(outcomes(one_world)) == 3


def test_a_page_is_shown_with_its_address_by_a_client_that_can(one_world: World) -> None:
    editor, session, request = asked_by(one_world, "modern", "open", **PAGES)
    one_world.script([Call("mcp__srv__open", {})], [Say("Two.")])
    page = editor.form()["params"]
    assert (page["mode"], page["url"]) == ("url", "https://pay.example.com/42")
    assert page["message"].startswith("MCP server srv asks:\n\nPlease pay.")
    accepted = {"action": "accept"}
    judge_by("CreateElicitationResponse", accepted)
    editor.send({"id": editor.form()["id"], "result": accepted})
    assert editor.answer(request)["result"]["stopReason"] == "end_turn"
    editor.answer(editor.prompt(session, "more"))
    request = editor.prompt(session, "again")
    editor.send({"id": editor.form(2)["id"], "result": {"action": "decline"}})
    assert editor.answer(request)["result"]["stopReason"] == "end_turn"
    editor.leave()
    assert [json.loads(text) for _, text in outcomes(one_world)] == [{"action": "accept"}, {"action": "decline"}]


def test_without_forms_a_page_is_a_permission_and_a_text_can_only_be_declined(one_world: World) -> None:
    editor, session, request = asked_by(one_world, "modern", "open")
    one_world.script([Call("mcp__srv__book", {})], [Say("Two.")])
    opens = editor.permission()
    assert "https://pay.example.com/42" in json.dumps(opens["params"]["toolCall"])
    names = {each["name"]: each["optionId"] for each in opens["params"]["options"]}
    editor.choose(opens, names["I open it myself"])
    assert editor.answer(request)["result"]["stopReason"] == "end_turn"
    editor.answer(editor.prompt(session, "more"))
    request = editor.prompt(session, "again")
    text = editor.permission(2)
    assert "Your name" in json.dumps(text["params"]["toolCall"])
    assert [each["name"] for each in text["params"]["options"]] == ["Decline: answer none of it"]
    editor.choose(text, text["params"]["options"][0]["optionId"])
    assert editor.answer(request)["result"]["stopReason"] == "end_turn"
    editor.leave()
    assert [outcome for outcome, _ in outcomes(one_world)] == ["ok", "ok"]
    assert [json.loads(text) for _, text in outcomes(one_world)] == [{"action": "accept"}, {"action": "decline"}]
