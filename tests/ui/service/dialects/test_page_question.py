"""The question of the page: all that an answer allows is shown."""

from __future__ import annotations

import json

import pytest

from holdfast.questions import ALL_ANSWERS, AnswerChoice, Question, older_question
from holdfast.session.journal.approvals import ApprovalAsked
from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import Leaving
from holdfast.tools.approval.question import PLAN_CHOICES
from holdfast.ui.service.dialects.page_blocks import page_question


def older(name: str, arguments: str, *, level: Leaving = "", notice: str = "") -> Question:
    """Return what the page shows of a question of an older journal, which did not store it."""
    question = older_question("c1", "it asks.", level=level, hosts=("a.example", "b.example"))
    asked = ApprovalAsked(call="c1", question=question, notice=notice)
    return page_question(CallPart(id="c1", name=name, arguments=arguments), asked, mode="ask", rules=ALL_ANSWERS)


def title(name: str, arguments: str) -> str:
    return older(name, arguments).detail


def test_the_end_of_a_long_command_is_shown() -> None:
    command = f"echo {'x' * 5_000}\n\ttrue;   rm -rf important"
    assert title("bash", json.dumps({"command": command})) == command


def test_the_other_arguments_of_a_command_are_shown() -> None:
    shown = title("bash", json.dumps({"command": "make", "cwd": "/elsewhere", "background": True}))
    assert shown.splitlines()[0] == "make"
    assert json.loads(shown.splitlines()[1]) == {"cwd": "/elsewhere", "background": True}


@pytest.mark.parametrize("name", ["write", "mcp__tracker__close"])
def test_all_arguments_of_another_call_are_shown(name: str) -> None:
    arguments = json.dumps({"path": "a", "content": "y" * 3_000 + " the end"})
    shown = title(name, arguments)
    assert shown.startswith(name)
    assert shown.count("y") == 3_000 + name.count("y")
    assert "the end" in shown


@pytest.mark.parametrize("arguments", ["{", "[1]", "", '{"command": "a' + "\x00"])
def test_invalid_arguments_are_shown_as_they_are(arguments: str) -> None:
    assert title("bash", arguments).startswith("bash")


def test_signs_that_hide_text_are_written_out() -> None:
    shown = title("bash", json.dumps({"command": "ls \u202egnp.evil\u200b \x1b[8m; rm x\r"}))
    assert shown == "ls \\u202egnp.evil\\u200b \\x1b[8m; rm x\\r"


@pytest.mark.parametrize(
    ("level", "levels", "first"),
    [
        ("", ["", ""], "Allow once"),
        ("workspace", ["workspace", "outside", ""], "Allow once, in the sandbox: no network"),
        ("network", ["network", "outside", ""], "Allow once, reaching `a.example, b.example`"),
        ("outside", ["workspace", "outside", ""], "Allow once, but in the sandbox"),
    ],
)
def test_each_choice_carries_its_level(level: Leaving, levels: list[str], first: str) -> None:
    choices = older("bash", '{"command": "make"}', level=level).choices
    assert [each.level for each in choices] == levels
    assert choices[0].text == first
    assert not choices[-1].allows


def test_the_page_says_that_nothing_is_confined() -> None:
    shown = older("bash", '{"command": "make"}', notice="Commands are not confined: no bubblewrap.")
    assert shown.warnings == ("Commands are not confined: no bubblewrap.",)


def test_a_plan_of_an_older_journal_has_its_answers_and_a_question_its_options() -> None:
    assert older("present_plan", '{"plan": "1. Do it"}').choices == PLAN_CHOICES
    asked = '{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}'
    assert [each.option for each in older("ask_user", asked).choices] == ["A", "B", ""]
    assert older("ask_user", "{").choices == ()


def test_the_question_of_the_journal_is_shown_as_it_is_with_hidden_signs_written_out() -> None:
    choice = AnswerChoice(name="option1", label="{}", subject="a\u202eb", option="a\u202eb", note="\u200b")
    question = Question(id="c1", call="c1", text="What?", why="\x1b[8m", detail="rm \u202e", choices=(choice,))
    part = CallPart(id="c1", name="ask_user", arguments="{}")
    shown = page_question(part, ApprovalAsked(call="c1", question=question), mode="ask", rules=ALL_ANSWERS)
    assert (shown.why, shown.detail) == ("\\x1b[8m", "rm \\u202e")
    assert (shown.choices[0].subject, shown.choices[0].name) == ("a\\u202eb", "option1")
    plain = Question(id="c1", call="c1", text="What?", choices=())
    assert page_question(part, ApprovalAsked(call="c1", question=plain), mode="ask", rules=ALL_ANSWERS) == plain
