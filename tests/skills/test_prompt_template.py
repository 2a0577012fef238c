"""What a body says once its arguments are in it, and that no argument becomes a command."""

from __future__ import annotations

import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.skills.prompt_template import CommandPiece, body_commands, filled
from laws import law


def text(body: str, arguments: str, names: tuple[str, ...] = ()) -> str:
    return filled(body, arguments, names=names, variables={"CLAUDE_SKILL_DIR": "/s/x"}).text([])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Fix $ARGUMENTS now", "Fix a 'b c' d now"),
        ("Fix $1 and $2.", "Fix a and b c."),
        ("Fix $0 and $1.", "Fix a and b c."),
        ("Fix $ARGUMENTS[1]!", "Fix b c!"),
        ("Fix $issue of $base", "Fix a of b c"),
        ("Fix $9 here", "Fix  here"),
        ("Costs \\$1 and $12x, $HOME", "Costs $1 and $12x, $HOME\n\nARGUMENTS: a 'b c' d"),
        ("In ${CLAUDE_SKILL_DIR}, ${OTHER}", "In /s/x, ${OTHER}\n\nARGUMENTS: a 'b c' d"),
        ("Nothing", "Nothing\n\nARGUMENTS: a 'b c' d"),
    ],
)
def test_places(body: str, expected: str) -> None:
    assert text(body, "a 'b c' d", ("issue", "base")) == expected


def test_without_arguments_nothing_is_added() -> None:
    assert text("Nothing", "") == "Nothing"
    assert text("Fix $ARGUMENTS", "") == "Fix"


BODY = "Now: !`date +%Y` and !`log $0 $ARGUMENTS`.\n```!\ngit status\ngit diff\n```\nNo command: x!`y` and `!z`.\n"


def test_commands_are_found_and_their_arguments_quoted() -> None:
    template = filled(BODY, "a;b 'c d'", names=(), variables={})
    assert body_commands(BODY) == ("date +%Y", "log $0 $ARGUMENTS", "git status\ngit diff")
    assert template.commands == ("date +%Y", "log 'a;b' 'a;b' 'c d'", "git status\ngit diff")
    assert template.text(["2026", "L", "S"]) == "Now: 2026 and L.\nS\nNo command: x!`y` and `!z`."
    assert "!`date +%Y`" in template.unrun()


DEFINED = re.compile(r"^```![ \t]*\n(.*?)\n```[ \t]*$|(?:(?<=\s)|^)!`([^`\n]+)`", re.MULTILINE | re.DOTALL)


@law(300)
@given(pieces=st.lists(st.sampled_from(("```!", "```", "\n", "\n", "a", " ", "!`b`", "!`")), max_size=14))
def test_commands_are_those_of_the_definition(pieces: list[str]) -> None:
    body = "".join(pieces)
    defined = tuple((found[1] or found[2] or "").strip() for found in DEFINED.finditer(body))
    assert body_commands(body) == defined


def test_openings_without_an_end_are_read_once() -> None:
    body = "```!\n" * 100_000
    assert body_commands(body) == ()


@law(100)
@given(arguments=st.text(st.sampled_from("ab `!$();|&'\"\\\n0"), max_size=30))
def test_no_argument_becomes_a_command(arguments: str) -> None:
    template = filled("!`printf %s $0`\n$ARGUMENTS", arguments, names=(), variables={})
    (command,) = template.commands
    assert [type(each) for each in template.pieces] == [str, CommandPiece, str]
    ran = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True)
    from holdfast.skills.prompt_template import argument_words

    words = argument_words(arguments)
    assert ran.stdout == (words[0] if words else "")
