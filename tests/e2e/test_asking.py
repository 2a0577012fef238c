"""A question of the model in a real terminal: killed while it waits, asked again, answered; and without a user."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.session.journal.entries import ApprovalAnswered, ApprovalAsked, CallEnded
from holdfast.testing.script import Call, Say

QUESTION: dict[str, object] = {
    "question": "Which database should the service use?",
    "options": [
        {"label": "SQLite", "description": "One file, no server. Enough for one process that writes."},
        {"label": "Postgres", "description": "A server of its own: several writers, and backups while it runs."},
    ],
}


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (120, 40)])
def test_a_question_survives_a_kill_and_its_answer_is_the_result(one_world: World, columns: int, lines: int) -> None:
    one_world.script([Call("AskUserQuestion", {"questions": [QUESTION]})], [Say("Postgres it is.")])
    with screen(one_world, "-m", one_world.model, columns=columns, lines=lines) as terminal:
        terminal.wait_text("ask · shift")
        terminal.line("build the service")
        terminal.wait_text(r"(?s)Which database.*1  SQLite.*2  Postgres.*3  Answer in your own words")
        _show(terminal.settle(), f"question-{columns}")
        terminal.kill(signal.SIGKILL)
        terminal.wait()
    with screen(one_world, "-c", columns=columns, lines=lines) as terminal:
        terminal.wait_text(r"(?s)1  SQLite.*2  Postgres")
        terminal.wait_text("waiting for your answer")
        terminal.wait_text("Answer needed")
        terminal.send("2")
        terminal.wait_text(r"Postgres it is\.")
        terminal.wait_absent("esc to interrupt")
        terminal.wait_text("The user chose: Postgres")
        _show(terminal.settle(), f"answered-{columns}")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    entries = one_world.entries()
    assert sum(isinstance(entry, ApprovalAsked) for entry in entries) == 1
    assert [entry.chosen for entry in entries if isinstance(entry, ApprovalAnswered)] == [("Postgres",)]
    assert one_world.results[0].startswith("The user chose: Postgres")
    one_world.verify()


def test_escape_ends_the_turn_and_nothing_is_chosen(one_world: World) -> None:
    one_world.script([Call("ask_user", QUESTION)], [Say("As you like.")])
    with screen(one_world, "-m", one_world.model, "-y") as terminal:
        terminal.wait_text(r"yolo\s+· not confined")
        terminal.line("build the service")
        terminal.wait_text(r"1  SQLite")
        terminal.send(Key.ESC)
        terminal.wait_absent("1  SQLite")
        terminal.wait_absent("esc to interrupt")
        terminal.line("decide yourself")
        terminal.wait_text(r"As you like\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    (ended,) = [entry for entry in one_world.entries() if isinstance(entry, CallEnded)]
    assert ended.outcome == "not_started"
    assert ended.text.startswith("Not answered: the user stopped the turn")
    assert one_world.results == [ended.text]


def test_without_a_user_the_question_is_an_event_and_the_model_decides(one_world: World) -> None:
    one_world.script([Call("ask_user", QUESTION)], [Say("I assumed SQLite.")])
    ran = one_world.ask("build the service", "--output-format", "stream-json")
    assert ran.code == 0
    asked = [each["question"] for each in ran.of("approval")]
    assert [each["text"] for each in asked] == ["Which database should the service use?"]
    (result,) = ran.of("tool_result")
    assert result["outcome"] == "denied"
    assert result["content"].startswith("Not answered: no user can be asked in this run. Decide yourself")
    (denied,) = ran.of("result")[0]["denied"]
    assert denied["allow_with"] is None, "no option answers it"
    assert ran.of("result")[0]["result"] == "I assumed SQLite."


def test_the_text_of_a_run_does_not_name_an_option_that_would_not_help(one_world: World) -> None:
    one_world.script([Call("ask_user", QUESTION)], [Say("I assumed SQLite.")])
    ran = one_world.ask("build the service")
    assert ran.code == 0
    assert "denied: ask_user Which database should the service use?" in ran.err
    assert "-y" not in ran.err.replace(one_world.sessions[0].name, "")


def _show(text: str, name: str) -> None:
    """Write the screen to a file for a reader, if HOLDFAST_KEEP_SCREENS names a folder."""
    if folder := os.environ.get("HOLDFAST_KEEP_SCREENS"):
        (Path(folder) / f"{name}.txt").write_text(text)


def test_a_session_begun_without_a_user_can_ask_on_a_screen(one_world: World) -> None:
    """`holdfast -p` declares no question, for no user could answer; the same session on a screen does."""
    one_world.script([Say("Begun.")], [Call("ask_user", {"questions": [QUESTION]})], [Say("Postgres it is.")])
    one_world.run("-m", one_world.model, "-p", "begin")
    with screen(one_world, "-c") as terminal:
        terminal.wait_text("Begun")
        terminal.line("go on")
        terminal.wait_text(r"(?s)1  SQLite.*2  Postgres")
        terminal.send("2")
        terminal.wait_text("Postgres it is")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert [b'"ask_user"' in each.raw for each in one_world.provider.requests[:2]] == [False, True]
