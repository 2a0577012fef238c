"""The same skill and the same command have the same effect on every surface, and are asked about in the same way."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from editor_client import Editor
from launching import World
from page_server import Served
from terminal import Key
from test_inline import InlineTerminal
from test_plain import PlainTerminal
from test_skills import bring
from test_terminal import screen

from holdfast.session.journal.entries import Entry, PromptAccepted, ShellEnded, ShellStarted, TurnEnded
from holdfast.skills.trusted_texts import judge_texts
from holdfast.testing.script import Say
from polling import eventually
from process_leaks import linux_only
from tiers import sampled

pytestmark = linux_only

STEPS = ("/greet ann", "/look src")


def journal(world: World) -> list[Entry]:
    """Return the journal of the only session, [] as long as there is none."""
    return world.entries() if world.sessions else []


def of(world: World, kind: type) -> list[Entry]:
    return [each for each in journal(world) if isinstance(each, kind)]


def turns(world: World, count: int) -> Callable[[], bool]:
    return lambda: len(of(world, TurnEnded)) == count


def on_the_screen(world: World) -> None:
    with screen(world, "-m", world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        for number, step in enumerate(STEPS, 1):
            terminal.line(step)
            eventually(turns(world, number))
            terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0


def inline(world: World) -> None:
    with InlineTerminal(world, "-m", world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        for number, step in enumerate(STEPS, 1):
            terminal.line(step)
            eventually(turns(world, number))
            terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0


def in_plain_mode(world: World) -> None:
    with PlainTerminal(world, "--plain", "-m", world.model) as terminal:
        terminal.wait_text("Plain mode")
        for number, step in enumerate(STEPS, 1):
            terminal.type(step)
            eventually(turns(world, number))
        terminal.type("/quit")
        assert terminal.wait() == 0


def printed(world: World) -> None:
    for step, more in zip(STEPS, ((), ("-c",)), strict=True):
        ran = world.run("-p", step, "-m", world.model, *more)
        assert ran.code == 0, ran.err


def streamed(world: World) -> None:
    lines = [
        json.dumps({"type": "user", "message": {"role": "user", "content": step}, "id": f"m{number}"})
        for number, step in enumerate(STEPS)
    ]
    formats = ("--input-format", "stream-json", "--output-format", "stream-json")
    ran = world.run("-p", "-m", world.model, *formats, stdin="\n".join((*lines, "")).encode())
    assert ran.code == 0, ran.err + ran.out


def in_editor(world: World) -> None:
    editor = Editor(world)
    session = editor.opened()
    for step in STEPS:
        assert editor.answer(editor.prompt(session, step))["result"]["stopReason"] == "end_turn"
    listed = [
        command["name"]
        for update in editor.updates("available_commands_update")
        for command in update["availableCommands"]
    ]
    assert {"greet", "look", "init", "skills"} <= set(listed)
    assert editor.leave().code == 0


def on_the_page(world: World) -> None:
    served = Served(world)
    session = served.begin(STEPS[0])
    eventually(turns(world, 1))
    served.finished(session)
    served.ask(session, "prompt", text=STEPS[1])
    eventually(turns(world, 2))
    served.stop()


SURFACES = (on_the_screen, inline, in_plain_mode, printed, streamed, in_editor, on_the_page)


@pytest.mark.parametrize("play", sampled(SURFACES, 7), ids=lambda each: each.__name__)
def test_a_skill_and_a_command_are_the_same_prompt(one_world: World, play: Callable[[World], None]) -> None:
    world = one_world
    world.one_past = False
    bring(world)
    judge_texts(world.environ(), world.folder, trusted=True)
    world.script([Say("Hello Ann")], [Say("Looked.")])
    play(world)
    prompts = [(each.typed, each.text) for each in journal(world) if isinstance(each, PromptAccepted)]
    folder = world.folder.resolve() / ".claude" / "skills" / "greet"
    text = f"Say hello to ann in two words.\n\nSkill directory: {folder}"
    assert prompts == [
        ("/greet ann", f'<skill_content name="greet">\n{text}\n</skill_content>'),
        (
            "/look src",
            (
                "The state is: clean @other.txt\nLook at src and @notes.txt.\n\n"
                '<file path="notes.txt">\ntwo birds\n</file>'
            ),
        ),
    ]
    (started,) = (each for each in journal(world) if isinstance(each, ShellStarted))
    (ended,) = (each for each in journal(world) if isinstance(each, ShellEnded))
    assert (started.command, started.shared, ended.outcome, ended.note) == ("echo clean @other.txt", False, "ok", "")
    places = [type(each) for each in journal(world)]
    assert places.index(ShellEnded) < len(places) - places[::-1].index(PromptAccepted) - 1


def test_an_untrusted_command_is_asked_about_once_for_its_text_in_plain_mode(one_world: World) -> None:
    world = one_world
    bring(world)
    world.script([Say("First.")], [Say("Second.")])
    with PlainTerminal(world, "--plain", "-m", world.model) as terminal:
        terminal.wait_text("Plain mode")
        terminal.type("/look a")
        terminal.wait_text("whose text you have not trusted yet")
        terminal.wait_text("Type a number from 1 to|1\\. Allow once")
        assert not of(world, PromptAccepted)
        terminal.type("no")
        terminal.wait_text("Tell the model why")
        terminal.type("")
        terminal.wait_text("was not run to its end: You did not allow it")
        assert not of(world, ShellStarted)
        terminal.type("/look b")
        eventually(lambda: terminal.text().count("Type a number from 1 to") >= 2)
        terminal.type("yes")
        eventually(turns(world, 1))
        terminal.type("/look c")
        eventually(turns(world, 2))
        terminal.type("/quit")
        assert terminal.wait() == 0
    typed = [each.typed for each in journal(world) if isinstance(each, PromptAccepted)]
    assert typed == ["/look b", "/look c"]


def test_an_editor_is_asked_before_the_prompt_exists(one_world: World) -> None:
    world = one_world
    bring(world)
    world.script([Say("Looked.")])
    editor = Editor(world)
    session = editor.opened()
    asking = editor.prompt(session, "/look src")
    question = editor.permission()
    assert not of(world, PromptAccepted)
    editor.choose(question, "once")
    assert editor.answer(asking)["result"]["stopReason"] == "end_turn"
    assert editor.leave().code == 0
    assert len(of(world, ShellEnded)) == len(of(world, PromptAccepted)) == 1


def test_the_screen_asks_and_gives_back_what_was_typed(one_world: World) -> None:
    world = one_world
    bring(world)
    world.script([Say("Looked.")])
    with screen(world, "-m", world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("/look src")
        terminal.wait_text(r"Run this command\?(.|\n)*echo clean(.|\n)*1  Allow once")
        terminal.send("n")
        terminal.wait_text("Tell the model why")
        terminal.send(Key.ENTER)
        terminal.wait_text("You did not allow it")
        terminal.wait_text("/look src")
        assert not of(world, PromptAccepted)
        terminal.send(Key.ENTER)
        terminal.wait_text(r"Run this command\?(.|\n)*echo clean(.|\n)*1  Allow once")
        terminal.send("y")
        eventually(turns(world, 1))
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
