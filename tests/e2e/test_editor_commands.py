"""Commands of the user in an editor: listed and done by the host, as on the other surfaces."""

from __future__ import annotations

from editor_client import Editor
from launching import World

from holdfast.host.slash_commands import SESSION_COMMANDS
from holdfast.host.wake import WAKE_PROMPT
from holdfast.session.journal.entries import ModeChanged, PromptAccepted, ShellEnded, Titled, TurnEnded
from holdfast.testing.script import Call, Hold, Say
from polling import eventually


def test_the_listed_commands_are_those_of_the_host_and_each_is_answered(one_world: World) -> None:
    world = one_world
    world.script((Say("One."),), (Say("Tea."),))
    editor = Editor(world)
    session = editor.opened()
    editor.until(lambda _: bool(editor.updates("available_commands_update")))
    (listed,) = editor.updates("available_commands_update")
    names = [each["name"] for each in listed["availableCommands"]]
    assert names == [each for each in SESSION_COMMANDS if each not in ("new", "quit", "continue")]
    assert editor.answer(editor.prompt(session, "/status"))["result"]["stopReason"] == "end_turn"
    assert f"Session {session}, 0 turns." in editor.text()
    assert "closes its sessions" in editor.answer(editor.prompt(session, "/quit"))["error"]["message"]
    assert "Unknown mode 'yolo'" in editor.answer(editor.prompt(session, "/permissions yolo"))["error"]["message"]
    assert editor.answer(editor.prompt(session, "/permissions plan"))["result"]["stopReason"] == "end_turn"
    editor.until(lambda _: bool(editor.updates("current_mode_update")))
    assert editor.updates("current_mode_update")[-1]["currentModeId"] == "plan"
    assert editor.answer(editor.prompt(session, "/tea"))["result"]["stopReason"] == "end_turn"
    assert editor.leave().code == 0
    assert [entry.text for entry in world.entries() if isinstance(entry, PromptAccepted)] == ["/tea"]
    assert [entry.mode for entry in world.entries() if isinstance(entry, ModeChanged)] == ["plan"]


def test_a_command_of_the_users_own_is_shown_as_a_call_and_can_be_stopped(one_world: World) -> None:
    world = one_world
    editor = Editor(world)
    session = editor.opened()
    assert editor.answer(editor.prompt(session, "!echo mine"))["result"]["stopReason"] == "end_turn"
    (card,) = editor.updates("tool_call")
    assert (card["kind"], card["title"]) == ("execute", "! echo mine")
    (end,) = editor.updates("tool_call_update")
    assert end["toolCallId"] == card["toolCallId"]
    assert "mine" in end["content"][0]["content"]["text"]
    slow = editor.prompt(session, "!touch ran; sleep 600")
    eventually((world.folder / "ran").exists)
    editor.cancel(session)
    assert editor.answer(slow)["result"]["stopReason"] == "cancelled"
    assert editor.leave().code == 0
    assert [entry.outcome for entry in world.entries() if isinstance(entry, ShellEnded)] == ["ok", "interrupted"]


def test_an_ended_task_begins_a_turn_that_is_shown_and_that_a_prompt_stops(one_world: World) -> None:
    world = one_world
    world.one_past = False  # the second turn ends in the middle of its answer
    (world.home / "config.toml").write_text(f"wake = true\n{(world.home / 'config.toml').read_text()}")
    waits: dict[str, object] = {"command": "until [ -e go ]; do sleep 0.05; done", "background": True}
    world.script(
        (Call("bash", waits),),
        (Say("I wait for it."),),
        (Say("It was built. "), Hold("never")),
        (Say("Heard."),),
    )
    editor = Editor(world, "--yolo")
    session = editor.opened()
    assert editor.answer(editor.prompt(session, "build it"))["result"]["stopReason"] == "end_turn"
    (world.folder / "go").touch()
    editor.until(lambda _: "It was built." in editor.text())
    assert editor.answer(editor.prompt(session, "stop that"))["result"]["stopReason"] == "end_turn"
    assert editor.text().endswith("Heard.")
    assert editor.leave().code == 0
    prompts = [entry.text for entry in world.entries() if isinstance(entry, PromptAccepted)]
    assert prompts == ["build it", WAKE_PROMPT, "stop that"]
    assert [entry.cause for entry in world.entries() if isinstance(entry, TurnEnded)] == [
        "finished",
        "user",
        "finished",
    ]


def test_a_generated_title_is_shown_without_another_prompt(one_world: World) -> None:
    world = one_world
    world.one_past = False  # the request for the title has a system prompt that no journal has
    config = world.home / "config.toml"
    config.write_text(f'title_model = "openai-chat:gpt-5.5-mini"\n{config.read_text()}')
    world.script((Say("It leaks a lease."),), (Say("The flaky lease"),))
    editor = Editor(world)
    session = editor.opened()
    assert editor.answer(editor.prompt(session, "look at this"))["result"]["stopReason"] == "end_turn"
    editor.until(lambda _: len(editor.updates("session_info_update")) > 1)
    assert [each["title"] for each in editor.updates("session_info_update")] == ["look at this", "The flaky lease"]
    assert editor.leave().code == 0
    assert [entry.title for entry in world.entries() if isinstance(entry, Titled)] == ["The flaky lease"]
