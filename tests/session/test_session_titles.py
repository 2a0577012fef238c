"""The title of a session that the user did not name."""

from __future__ import annotations

import pytest

from holdfast.session.titles import TITLE_LENGTH, prompt_title


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("  Fix the bug\nin the parser", "Fix the bug"),
        ("", ""),
        (" \n---\n", ""),
        ("# Heading\n\ntext", "Heading"),
        ("- first\n- second", "first"),
        ("```py\nx = 1\n```\nWhat does this do?", "What does this do?"),
        ("```\nonly code\n```", "only code"),
        ("why   so \t wide", "why so wide"),
        ("-m is what?", "-m is what?"),
        ("2 + 2", "2 + 2"),
    ],
)
def test_the_first_line_that_says_something(prompt: str, title: str) -> None:
    assert prompt_title(prompt) == title


def test_a_long_line_is_cut_between_words() -> None:
    assert prompt_title("look at all the tests, " * 10) == f"{'look at all the tests, ' * 3}look at…"


def test_a_long_word_is_cut_anywhere() -> None:
    assert prompt_title("x" * 500) == "x" * (TITLE_LENGTH - 1) + "…"
