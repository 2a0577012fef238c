"""A question of the model on the screen: its options, several of them, and the user's own words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_app import showing, start, until
from test_question_dialog import SIZES, ask, plan_of, read_through, visible

from holdfast.host.events import AskClosed
from holdfast.questions import ApprovalAnswer
from holdfast.tools.approval.question import question_of
from holdfast.tools.builtin.ask_user import AskUserTool
from holdfast.tools.tool import Plan
from tiers import sampled


def question(text: str = "Which database?", *, several: bool = False, note: str = "one file") -> Plan:
    options = [{"label": "SQLite", "description": note}, {"label": "Postgres"}, {"label": "MySQL"}]
    return AskUserTool().plan("c", json.dumps({"question": text, "options": options, "several": several}))


def test_its_choices_are_the_options_and_one_s_own_words() -> None:
    shown = question_of(question(), mode="yolo")
    assert shown.text == "Which database?"
    assert [(each.name, each.text, each.words) for each in shown.choices] == [
        ("option1", "`SQLite`", False),
        ("option2", "`Postgres`", False),
        ("option3", "`MySQL`", False),
        ("own", "Answer in your own words", True),
    ]
    assert shown.choices[1].answer() == ApprovalAnswer("option2")


@pytest.mark.parametrize(("columns", "lines"), sampled(SIZES, 2))
async def test_an_option_is_chosen_by_its_number(tmp_path: Path, columns: int, lines: int) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        await pilot.resize_terminal(columns, lines)
        answered = ask(screen, question())
        await pilot.pause()
        shown = visible(screen)
        assert "Which database?" in shown
        assert "1  SQLite" in shown
        assert "one file" in shown
        assert "Answer needed" in shown
        await pilot.press("2")
        await until(lambda: bool(answered))
        assert answered == [("c", ApprovalAnswer("option2"))]
        screen._receive(AskClosed("c"))
        assert not screen.controller.status.model_asks


async def test_several_options_are_marked_and_unmarked_before_they_are_sent(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        answered = ask(screen, question(several=True))
        await pilot.pause()
        assert "1  [ ] SQLite" in visible(screen)
        await pilot.press("enter", "down", "enter", "down", "enter", "up", "enter")
        await pilot.pause()
        shown = visible(screen)
        assert "1  [x] SQLite" in shown
        assert "2  [ ] Postgres" in shown
        assert "3  [x] MySQL" in shown
        assert answered == []
        await pilot.press("4")
        await until(lambda: bool(answered))
        assert answered == [("c", ApprovalAnswer("marked", marked=("option1", "option3")))]


async def test_own_words_go_with_what_is_marked_and_empty_ones_go_back(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        answered = ask(screen, question(several=True))
        await pilot.press("enter", "down", "down", "down", "down", "enter")
        await until(lambda: "Your answer, then Enter" in visible(screen))
        await pilot.press("enter")
        await until(lambda: "1  [x] SQLite" in visible(screen))
        assert answered == []
        await pilot.press("5")
        await until(lambda: "Your answer, then Enter" in visible(screen))
        await pilot.press(*"for now", "enter")
        await until(lambda: bool(answered))
        assert answered == [("c", ApprovalAnswer("own", "for now", ("option1",)))]


async def test_a_new_question_has_nothing_marked(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        ask(screen, question(several=True))
        await pilot.press("enter")
        await until(lambda: "1  [x] SQLite" in visible(screen))
        ask(screen, question(several=True))
        await pilot.pause()
        assert "1  [ ] SQLite" in visible(screen)


async def test_a_refusal_still_asks_why(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        ask(screen, question())
        await pilot.press("4")
        await until(lambda: "Your answer, then Enter" in visible(screen))
        answered = ask(screen, plan_of(tmp_path, "bash", command="make one"))
        await pilot.press("n")
        await until(lambda: "Tell the model why" in visible(screen))
        await pilot.press("enter")
        await until(lambda: answered == [("c", ApprovalAnswer("no"))])


@pytest.mark.parametrize(("columns", "lines"), sampled(SIZES, 2))
async def test_a_long_question_can_be_read_to_its_end(tmp_path: Path, columns: int, lines: int) -> None:
    long = "# Which?\n\n" + "\n".join(f"- reason number {number}" for number in range(1, 90))
    async with showing(start(tmp_path)) as (screen, pilot):
        await pilot.resize_terminal(columns, lines)
        ask(screen, question(long, note="words " * 40))
        await pilot.pause()
        shown = await read_through(screen, pilot)
        assert [number for number in range(1, 90) if f"reason number {number}" not in shown] == []
        assert "1  SQLite" in visible(screen)
