"""The question of the page: all that an answer allows is shown."""

from __future__ import annotations

import json

import pytest

from holdfast.session.journal.approvals import ApprovalAsked
from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import Leaving
from holdfast.ui.service.dialects.page_question import page_question


def title(name: str, arguments: str) -> str:
    part = CallPart(id="c1", name=name, arguments=arguments)
    return page_question(part, ApprovalAsked(call="c1", why="it asks"), mode="ask", project=True).title


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
    """The page has the journal alone: what it offers is what the terminal offers."""
    approval = ApprovalAsked(call="c1", why="it asks", level=level, hosts=("a.example", "b.example"))
    part = CallPart(id="c1", name="bash", arguments='{"command": "make"}')
    choices = page_question(part, approval, mode="ask", project=True).choices
    assert [each.level for each in choices] == levels
    assert choices[0].text == first
    assert not choices[-1].allows


def test_the_page_says_that_nothing_is_confined() -> None:
    approval = ApprovalAsked(call="c1", why="it asks.", notice="Commands are not confined: no bubblewrap.")
    part = CallPart(id="c1", name="bash", arguments='{"command": "make"}')
    assert "Commands are not confined" in page_question(part, approval, mode="ask", project=True).why
