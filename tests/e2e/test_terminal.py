"""The full screen, driven through a real pseudo-terminal: what the user types, sees, stops, kills and resumes."""

from __future__ import annotations

import signal
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

import pytest
from launching import World
from terminal import Key, Terminal

from holdfast.session.journal.entries import CallEnded, PromptAccepted, Steered, TurnEnded
from holdfast.testing.script import Call, Hold, Say
from polling import HANGS, eventually, expect_within

LONG = "A long answer that goes on. "


def screen(
    world: World, *arguments: str, columns: int = 100, lines: int = 30, cold: bool = False, **more: str
) -> Terminal:
    """Return a terminal that shows the world's folder."""
    environ = world.environ(**more)
    command = (sys.executable, "-m", "holdfast", *arguments) if cold else arguments
    return Terminal(command, env=environ, cwd=world.folder, columns=columns, lines=lines, warm=not cold)


def sleeper(world: World) -> bool:
    """Return whether the command that never ends by itself still runs."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"31415" in path.read_bytes() and str(world.folder) in str((path.parent / "cwd").resolve()):
                return True
        except OSError:
            continue
    return False


def twice(terminal: Terminal, key: bytes, shows: str) -> None:
    """Press a key twice within the second in which that counts: again, where a busy machine took longer."""
    for _ in range(5):
        terminal.send(key)
        terminal.settle()
        terminal.send(key)
        with suppress(TimeoutError):
            terminal.wait_text(shows, timeout=HANGS / 10)
            return
    terminal.wait_text(shows, timeout=0)


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_session_with_accidents(world: World, how: str) -> None:  # noqa: PLR0915 - one story, told once
    """Stop or kill in the middle of a stream and of a tool, refuse a call, quit, resume: all of it is still there."""
    world.script(
        [Say(LONG * 3), Hold("stream"), Say("never said")],
        [
            Call("read", {"path": "notes.txt"}),
            Call("read", {"path": "more.txt"}),
            Call("bash", {"command": "touch made; echo begun; sleep 31415"}),
        ],
        [Call("bash", {"command": "rm -rf precious"})],
        [Say("Then I leave it.")],
        [Say("All of it.")],
    )
    (world.folder / "notes.txt").write_text("the notes\n")
    (world.folder / "more.txt").write_text("and more\n")
    arguments = ["-m", world.model]
    terminal = screen(world, *arguments)

    def accident(wait: str) -> None:
        nonlocal terminal
        if how == "stopped":
            terminal.send(Key.ESC)
            terminal.wait_absent("esc to interrupt")
        else:
            terminal.kill(signal.SIGKILL)
            terminal.wait()
            terminal.__exit__(None, None, None)
            terminal = screen(world, "-c")
            terminal.wait_text(wait)
        assert terminal.wait_text("Ask holdfast to do something")

    with terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("first words")
        terminal.wait_text("A long answer")
        world.provider.wait_for("stream")
        eventually(lambda: LONG in world.checkpointed())
        accident("first words")

        terminal.line("second words")
        terminal.wait_text(r"Run this command\?")
        terminal.send("1")
        terminal.wait_text("begun")
        eventually(lambda: sleeper(world))
        accident("second words")
        since = time.monotonic()
        eventually(lambda: not sleeper(world))
        expect_within(2, since)

        terminal.line("third words")
        terminal.wait_text("Reject with feedback")
        terminal.send("n")
        terminal.wait_text("Tell the model why")
        terminal.send("that is all I have")
        terminal.send(Key.ENTER)
        terminal.wait_text("Then I leave it")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
        terminal.__exit__(None, None, None)

        terminal = screen(world, "-c")
        terminal.wait_text("Then I leave it")
        terminal.line("what is there?")
        terminal.wait_text(r"All of it\.")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    sent = "\n".join(world.user_texts)
    assert all(words in sent for words in ("first words", "second words", "third words", "what is there?"))
    outcomes = [entry.outcome for entry in world.entries() if isinstance(entry, CallEnded)]
    assert outcomes == ["ok", "ok", "interrupted", "denied"]
    assert "the notes" in world.results[0]
    assert "that is all I have" in world.results[3]
    causes = [entry.cause for entry in world.entries() if isinstance(entry, TurnEnded)]
    first = "user" if how == "stopped" else "crash"
    assert causes == [first, first, "finished", "finished"]


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGKILL]
)
def test_the_terminal_is_given_back(one_world: World, number: signal.Signals) -> None:
    """Whatever ends it, the terminal is as it was: its modes, the alternate screen, the mouse, the cursor."""
    with screen(one_world, "-m", one_world.model) as terminal:
        before = terminal.settings
        terminal.wait_text("Ask holdfast to do something")
        assert termios.tcgetattr(terminal.descriptor)[3] != before[3]
        terminal.kill(number)
        assert terminal.wait() == -number
        eventually(lambda: termios.tcgetattr(terminal.descriptor) == before)
        eventually(lambda: b"\x1b[?1049l" in terminal.raw and b"\x1b[?25h" in terminal.raw[-200:])


def test_ctrl_c_stops_clears_and_quits(one_world: World) -> None:
    """While a turn runs Ctrl+C is ESC; idle it clears, and twice on nothing it quits."""
    one_world.script([Say("I begin."), Hold("on"), Say("never")], [Say("Still here.")])
    with screen(one_world, "-m", one_world.model) as terminal:

        def left() -> bool:
            return b"\x1b[?1049l" in terminal.raw

        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text("I begin")
        terminal.send(Key.CTRL_C)
        terminal.wait_absent("esc to interrupt")
        terminal.line("are you there?")
        terminal.wait_text("Still here")
        terminal.wait_absent("esc to interrupt")
        terminal.send("half a thought")
        terminal.wait_text("half a thought")
        terminal.send(Key.CTRL_C)
        terminal.wait_absent("half a thought")
        for _ in range(5):  # the second counts within a second of the first, and a busy machine may take longer
            terminal.send(Key.CTRL_C)
            terminal.wait_text("Ctrl\\+C again")
            terminal.send(Key.CTRL_C)
            terminal.wait_for(
                lambda: left() or "Ctrl+C again" not in terminal.text(), "its end, or that it is too late"
            )
            if left():
                break
        assert terminal.wait() == 0


def test_a_question_survives_a_kill(one_world: World) -> None:
    """SIGKILL at the dialog: the call is asked about again, once, and the turn goes on."""
    one_world.script([Call("bash", {"command": "touch allowed"})], [Say("It ran.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text(r"Run this command\?")
        terminal.kill(signal.SIGKILL)
        terminal.wait()
    with screen(one_world, "-c") as terminal:
        terminal.wait_text(r"Run this command\?")
        terminal.send("y")
        terminal.wait_text(r"It ran\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    entries = one_world.entries()
    assert [entry.outcome for entry in entries if isinstance(entry, CallEnded)] == ["ok"]
    assert [entry.turn for entry in entries if isinstance(entry, PromptAccepted)] == [1]


def test_words_while_a_turn_runs(one_world: World) -> None:
    """Enter steers at the next safe point, Tab keeps for the next turn, ↑ takes back; a stop gives them back."""
    one_world.script(
        [Call("read", {"path": "notes.txt"}), Say("Looking."), Hold("first")],
        [Say("Steered.")],
        [Say("The next turn."), Hold("second")],
    )
    (one_world.folder / "notes.txt").write_text("the notes\n")
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text("Looking")
        terminal.line("mind the gap")
        terminal.wait_text("1 queued")
        terminal.send("and then this")
        terminal.wait_text("and then this")
        terminal.send(Key.TAB)
        terminal.wait_text("2 queued")
        one_world.provider.release("first")
        terminal.wait_text(r"The next turn\.")
        terminal.line("too late")
        terminal.wait_text("1 queued")
        terminal.send(Key.UP)
        terminal.wait_absent("1 queued")
        terminal.wait_text("too late")
        terminal.send(Key.ENTER)
        terminal.wait_text("1 queued")
        terminal.send(Key.ESC)
        terminal.wait_absent("esc to interrupt")
        terminal.wait_text("too late")
        terminal.send(Key.CTRL_C)
        terminal.wait_absent("too late")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    entries = one_world.entries()
    assert [entry.text for entry in entries if isinstance(entry, PromptAccepted)] == ["go", "and then this"]
    assert [entry.text for entry in entries if isinstance(entry, Steered)] == ["mind the gap"]


def test_going_back(one_world: World) -> None:
    """ESC ESC on an empty prompt: an earlier prompt comes back to be edited, and what followed it is not sent."""
    one_world.script([Say("One.")], [Say("Two.")], [Say("Other two.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        for prompt, answer in (("first words", r"One\."), ("second words", r"Two\.")):
            terminal.line(prompt)
            terminal.wait_text(answer)
            terminal.wait_absent("esc to interrupt")
        twice(terminal, Key.ESC, "Rewind to before")
        terminal.send(Key.ENTER)
        terminal.wait_text("Rewound to before turn 2")
        terminal.send(", edited")
        terminal.wait_text("second words, edited")
        terminal.send(Key.ENTER)
        terminal.wait_text(r"Other two\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    sent = "\n".join(one_world.user_texts)
    assert "first words" in sent
    assert "second words, edited" in sent
    assert not any(block.text == "Two." for block in one_world.last)
    one_world.one_past = False


def test_a_session_in_use_is_offered_as_a_copy_or_to_read(one_world: World) -> None:
    """The second to open it may read it or go on in a copy; the first is not disturbed."""
    one_world.script([Say("First."), Hold("on"), Say(" Done.")], [Say("In the copy.")])
    one_world.one_past = False
    with screen(one_world, "-m", one_world.model) as first:
        first.wait_text("Ask holdfast to do something")
        first.line("go")
        first.wait_text(r"First\.")
        with screen(one_world, "-c") as second:
            second.wait_text("Continue in a copy")
            second.send(Key.DOWN)
            second.send(Key.ENTER)
            second.wait_text("Read-only: this session")
            second.line("/fork")
            second.wait_absent("Read-only: this session")
            second.line("and you?")
            second.wait_text(r"In the copy\.")
            second.wait_absent("esc to interrupt")
            second.send(Key.CTRL_D)
            assert second.wait() == 0
        one_world.provider.release("on")
        first.wait_text(r"First\. Done\.")
        first.wait_absent("esc to interrupt")
        first.send(Key.CTRL_D)
        assert first.wait() == 0
    assert len(one_world.sessions) == 2


def test_what_is_remembered_is_not_asked_again(one_world: World) -> None:
    """For the session, then for the folder, in the next session too; a command with more in it still asks."""
    one_world.script(
        [Call("bash", {"command": "touch one"})],
        [Call("bash", {"command": "touch one"}), Call("bash", {"command": "touch one; mkdir two"})],
        [Say("Both.")],
        [Call("bash", {"command": "touch one"})],
        [Say("Again.")],
    )
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text(r"Always allow running touch \* \(this folder\)")
        terminal.send("3")
        terminal.wait_text(r"touch one; mkdir two(.|\n)*1  Allow once")
        assert "running touch * (this folder)" not in terminal.text()
        terminal.send("y")
        terminal.wait_text(r"Both\.")
        terminal.wait_absent("esc to interrupt")
        terminal.line("/new")
        terminal.wait_absent("Both")
        terminal.line("once more")
        terminal.wait_text(r"Again\.")
        terminal.wait_absent("esc to interrupt")
        terminal.line("/permissions")
        terminal.wait_text(r"ask again about touch \*")
        terminal.send(Key.ESC)
        terminal.wait_absent("ask again about")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    one_world.one_past = False


def test_the_mode_is_cycled_and_planning_cannot_write(one_world: World) -> None:
    """Shift+Tab: in plan mode a write is denied though the model asks, and the status line says the mode."""
    one_world.script([Call("write", {"path": "a.txt", "content": "x"})], [Say("I may not.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("ask · shift")
        terminal.send(Key.SHIFT_TAB)
        terminal.wait_text("accept-edits · shift")
        terminal.send(Key.SHIFT_TAB)
        terminal.wait_text("plan · shift")
        terminal.line("write it")
        terminal.wait_text(r"I may not\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.SHIFT_TAB)
        terminal.wait_text("ask · shift")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert not (one_world.folder / "a.txt").exists()
    assert [entry.outcome for entry in one_world.entries() if isinstance(entry, CallEnded)] == ["denied"]


def test_sessions_are_renamed_chosen_and_thrown_away(one_world: World) -> None:
    """`-r` without an ID offers them by title; Ctrl+X moves one to the trash, and the rest stays."""
    one_world.one_past = False
    one_world.script([Say("One.")], [Say("Two.")], [Say("More of one.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("about apples")
        terminal.wait_text(r"One\.")
        terminal.wait_absent("esc to interrupt")
        terminal.line("/rename The orchard")
        terminal.wait_text("Renamed to .The orchard")
        terminal.line("/new")
        terminal.wait_absent("about apples")
        terminal.line("about pears")
        terminal.wait_text(r"Two\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert len(one_world.sessions) == 2
    with screen(one_world, "-r") as terminal:
        terminal.wait_text("about pears(.|\n)*The orchard")
        terminal.send("pears")
        terminal.wait_absent("orchard")
        terminal.send(b"\x18")
        terminal.wait_absent(r"Resume(.|\n)*about pears")
        terminal.send(b"\x7f" * 5)
        terminal.wait_text(r"Resume(.|\n)*The orchard")  # the welcome above the list names it too
        terminal.send(Key.ENTER)
        terminal.wait_absent("type to search")
        terminal.wait_text("about apples")
        terminal.line("go on")
        terminal.wait_text(r"More of one\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert len(one_world.sessions) == 1


def test_commands_of_ones_own(one_world: World) -> None:
    """`!` is not told the model, `!!` is; ESC ends one that does not end, and all it started."""
    one_world.script([Say("I see.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("!echo for me $((20 + 1))")
        terminal.wait_text("for me 21")
        terminal.wait_absent("esc to interrupt")
        terminal.line("!!echo for both $((20 + 2))")
        terminal.wait_text("for both 22")
        terminal.wait_absent("esc to interrupt")
        terminal.line("!sleep 31415")
        eventually(lambda: sleeper(one_world))
        terminal.send(Key.ESC)
        terminal.wait_absent("esc to interrupt")
        since = time.monotonic()
        eventually(lambda: not sleeper(one_world))
        expect_within(2, since)
        terminal.line("well?")
        terminal.wait_text(r"I see\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    sent = "\n".join(one_world.user_texts)
    assert "for both 22" in sent
    assert "for me" not in sent


def test_what_waits_goes_on_waiting_when_the_screen_is_closed(one_world: World) -> None:
    """SIGTERM while words are queued: they are not given to a screen that is gone, and ↑ takes them back later."""
    one_world.script([Say("I begin."), Hold("on")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text("I begin")
        terminal.line("not forgotten")
        terminal.wait_text("1 queued")
        terminal.kill(signal.SIGTERM)
        assert terminal.wait() == -signal.SIGTERM
    with screen(one_world, "-c") as terminal:
        terminal.wait_text("1 queued · ↑ to edit")
        terminal.send(Key.UP)
        terminal.wait_absent("1 queued")
        terminal.wait_text("▌ not forgotten")
        terminal.send(Key.CTRL_C)
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0


def test_a_key_pressed_twice_answers_one_question(one_world: World) -> None:
    """The second y is not taken for the next question, which waits until the user has read it."""
    one_world.script([Call("bash", {"command": "touch one"}), Call("bash", {"command": "touch two"})], [Say("Done.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text(r"touch one\n(.|\n)*1  Allow once")
        terminal.send("yy")
        terminal.wait_text(r"Run this command\?\n(.*\n){1,3}.*touch two")
        terminal.settle()
        assert not (one_world.folder / "two").exists()
        terminal.send("y")
        terminal.wait_text(r"Done\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert (one_world.folder / "two").exists()


def test_a_question_does_not_take_the_keyboard_from_who_writes(one_world: World) -> None:
    """Words go on into the composer; Tab goes to the question."""
    one_world.script([Say("Wait."), Hold("on"), Call("bash", {"command": "touch one"})], [Say("Done.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text(r"Wait\.")
        terminal.send("yes,")
        terminal.wait_text("yes,")
        one_world.provider.release("on")
        terminal.wait_text("1  Allow once")
        terminal.send("yyy11")
        terminal.wait_text("yes,yyy11")
        assert not (one_world.folder / "one").exists()
        terminal.send(Key.TAB)
        terminal.settle()
        terminal.send("y")
        terminal.wait_text(r"Done\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_C)
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0


def test_a_new_session_while_a_turn_runs(one_world: World) -> None:
    """What is left of the old turn is not shown in the new one, and what cannot be opened changes nothing."""
    one_world.one_past = False
    one_world.script([Say("Old words."), Hold("on")], [Say("New words.")], [Say("More.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text(r"Old words\.")
        terminal.line("/new")
        terminal.wait_absent("Old words")
        terminal.line("fresh")
        terminal.wait_text(r"New words\.")
        terminal.wait_absent("esc to interrupt")
        assert "you stopped" not in terminal.settle()
        terminal.line("/resume nonsense")
        terminal.wait_text("does not exist")
        terminal.send(Key.CTRL_C)
        terminal.line("go on")
        terminal.wait_text(r"More\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert len(one_world.sessions) == 2
