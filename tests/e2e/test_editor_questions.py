"""Questions in an editor: of the model, as forms and as permissions, and one that a kill has left open."""

from __future__ import annotations

from typing import Any

from editor_client import Editor
from launching import World, bash

from holdfast.session.journal.entries import ApprovalAnswered, ApprovalAsked, CallEnded, TurnEnded
from holdfast.testing.script import Call, Say

SQLITE: dict[str, object] = {"label": "SQLite", "description": "One file."}
POSTGRES: dict[str, object] = {"label": "Postgres", "description": "A server."}
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}


def question(*, several: bool = False) -> Call:
    return Call("ask_user", {"question": "Which database?", "options": [SQLITE, POSTGRES], "several": several})


def answers(world: World) -> list[tuple[tuple[str, ...], str]]:
    return [(entry.chosen, entry.reason) for entry in world.entries() if isinstance(entry, ApprovalAnswered)]


def outcomes(world: World) -> list[str]:
    return [entry.outcome for entry in world.entries() if isinstance(entry, CallEnded)]


def test_a_question_of_the_model_is_a_form_with_own_words(one_world: World) -> None:
    world = one_world
    world.script((question(),), (question(several=True),), (question(),), (question(),), (Say("Done."),))
    editor = Editor(world)
    session = editor.opened(**FORMS)
    request = editor.prompt(session, "go")
    first = editor.form()
    assert first["params"]["message"] == "Which database?"
    assert first["params"]["toolCallId"] == editor.updates("tool_call")[0]["toolCallId"]
    fields = first["params"]["requestedSchema"]["properties"]
    assert [each["title"] for each in fields["answer"]["oneOf"]] == ["SQLite", "Postgres"]
    editor.fill(first, answer="option2", own_words="but not today")
    second = editor.form(2)
    assert second["params"]["requestedSchema"]["properties"]["answer"]["type"] == "array"
    editor.fill(second, answer=["option1", "option2"])
    editor.fill(editor.form(3))  # nothing is filled in: it is asked once more
    editor.fill(editor.form(4), own_words="neither")
    editor.send({"id": editor.form(5)["id"], "result": {"action": "decline"}})
    assert editor.answer(request)["result"]["stopReason"] == "end_turn"
    editor.leave()
    expected = [(("Postgres",), "but not today"), (("SQLite", "Postgres"), ""), ((), "neither"), ((), "")]
    assert answers(world) == expected
    assert outcomes(world) == ["ok", "ok", "ok", "denied"]


def test_a_closed_form_stops_the_turn_and_a_stop_withdraws_the_form(one_world: World) -> None:
    world = one_world
    world.script((question(),), (question(),))
    editor = Editor(world)
    session = editor.opened(**FORMS)
    request = editor.prompt(session, "go")
    editor.send({"id": editor.form()["id"], "result": {"action": "cancel"}})
    assert editor.answer(request)["result"]["stopReason"] == "cancelled"
    request = editor.prompt(session, "again")
    form = editor.form(2)
    editor.cancel(session)
    assert editor.answer(request)["result"]["stopReason"] == "cancelled"
    editor.until(lambda line: line.get("params") == {"requestId": form["id"]})
    editor.leave()
    assert outcomes(world) == ["not_started", "not_started"]


def test_without_forms_options_are_marked_one_by_one_and_own_words_are_the_next_prompt(one_world: World) -> None:
    world = one_world
    world.script((question(several=True),), (question(),), (Say("As you like."),))
    editor = Editor(world)
    session = editor.opened()
    request = editor.prompt(session, "go")
    names: list[list[str]] = []
    for number, choice in enumerate(("option1", "option2", "option1", "marked"), 1):
        permission = editor.permission(number)
        names.append([each["name"] for each in permission["params"]["options"]])
        editor.choose(permission, choice)
    assert names[0][:2] == ["☐ SQLite: One file.", "☐ Postgres: A server."]
    assert names[2][:2] == ["☒ SQLite: One file.", "☒ Postgres: A server."]
    assert [len(each) for each in names] == [3, 4, 4, 4]  # nothing marked: nothing to answer with
    editor.choose(editor.permission(5), "own")
    assert editor.answer(request)["result"]["stopReason"] == "cancelled"
    assert editor.answer(editor.prompt(session, "neither"))["result"]["stopReason"] == "end_turn"
    editor.leave()
    assert answers(world) == [(("Postgres",), "")]
    assert outcomes(world) == ["ok", "not_started"]


def left_open(world: World) -> tuple[Editor, str, str]:
    """Return a new editor in which a session is loaded whose process was killed while it asked, its id and the call."""
    editor = Editor(world)
    session = editor.opened()
    editor.prompt(session, "do it")
    question = editor.permission()
    editor.killed()
    again = Editor(world)
    assert "result" in again.load(session)
    (card,) = again.updates("tool_call")[-1:]
    assert card["toolCallId"] == question["params"]["toolCall"]["toolCallId"]
    assert card["status"] == "pending"
    assert card["toolCallId"] not in [each["toolCallId"] for each in again.updates("tool_call_update")]
    assert "/continue" in again.text("agent_thought_chunk")
    return again, session, card["toolCallId"]


def test_a_question_that_a_kill_left_open_is_asked_again_once(world: World) -> None:
    world.script((bash("touch ran"),), (Say("Whole."),), (Say("More."),))
    again, session, call = left_open(world)
    commands = [each["name"] for each in again.updates("available_commands_update")[-1]["availableCommands"]]
    assert "continue" in commands
    request = again.prompt(session, "/continue")
    permission = again.permission()
    assert permission["params"]["toolCall"]["toolCallId"] == call
    again.choose(permission, "once")
    assert again.answer(request)["result"]["stopReason"] == "end_turn"
    assert again.updates("tool_call_update")[-1]["status"] == "completed"
    assert again.text() == "Whole."
    again.until(lambda _: len(again.updates("available_commands_update")) > 1)
    assert "no question is open" in again.answer(again.prompt(session, "/continue"))["error"]["message"].lower()
    again.answer(again.prompt(session, "more"))
    again.leave()
    assert len(again.questions) == 1
    assert sum(isinstance(entry, ApprovalAsked) for entry in world.entries()) == 1
    assert outcomes(world) == ["ok"]
    assert (world.folder / "ran").exists()


def test_the_same_prompt_asks_again_and_can_be_cancelled_in_its_packet(one_world: World) -> None:
    world = one_world
    world.script((bash("touch ran"),))
    again, session, _ = left_open(world)
    both = again.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "do it"}])
    again.send(both, {"method": "session/cancel", "params": {"sessionId": session}})  # in one packet
    assert again.answer(both)["result"]["stopReason"] == "cancelled"
    assert again.questions == []
    again.leave()
    assert outcomes(world) == ["not_started"]


def test_other_words_leave_the_call_undone(one_world: World) -> None:
    world = one_world
    world.script((bash("touch ran"),), (Say("Whole."),))
    again, session, _ = left_open(world)
    assert again.answer(again.prompt(session, "something else"))["result"]["stopReason"] == "end_turn"
    again.leave()
    assert again.questions == []
    assert outcomes(world) == ["not_started"]
    assert [entry.cause for entry in world.entries() if isinstance(entry, TurnEnded)] == ["crash", "finished"]
    assert not (world.folder / "ran").exists()
