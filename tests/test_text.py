from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text import literal, printable, valid_unicode

any_text = st.text(st.characters(exclude_categories=[]))


@given(any_text)
def test_valid_text_can_be_encoded_by_everyone_and_is_valid_already(text: str) -> None:
    valid = valid_unicode(text)
    valid.encode("utf-8")
    json.dumps(valid, ensure_ascii=False).encode("utf-8")
    assert "\x00" not in valid
    assert valid_unicode(valid) == valid


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_what_is_valid_is_left_alone(text: str) -> None:
    assert valid_unicode(text) == text


def test_two_halves_that_meet_are_one_character() -> None:
    assert valid_unicode("\ud83d" + "\ude00") == "😀"
    assert valid_unicode("a\ud83d") == "a\ufffd"


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b]52;c;ZXZpbA==\x07",  # clipboard
        "\x1b]0;title\x1b\\",
        "\x1b]8;;http://evil\x07click\x1b]8;;\x07",
        "\x1bP+q544e\x1b\\",
        "\x1b[6n",
        "\x1b[2J\x1b[H",
        "\x1b[?1049h",
        "\x9b31m",
        "\x9d0;title\x9c",
        "\x1bc",
        "\u202egnp.exe",
        "a\u200bb",
        "\U000e0041\U000e0042",
        "safe\rforged",
        "\x1b]52;c;never ended",
        "\x1b",
        "\x07\x08\x0c",
    ],
)
def test_nothing_a_terminal_acts_on_is_left(hostile: str) -> None:
    shown = printable(f"before {hostile} after")
    for left in ("\x1b", "\x9b", "\x9d", "\x07", "\x08", "\r", "\u202e", "\u200b", "\U000e0041"):
        assert left not in shown
    assert shown.startswith("before")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("harmless # \x1b]\necho OWNED > ran", "harmless # \necho OWNED > ran"),
        ("a \x1b]0;the rest of it", "a 0;the rest of it"),
        ("a \x1bPq\nthe rest\x1b\\", "a q\nthe rest"),
        ("a \x1b]0;first\nsecond\x07", "a 0;first\nsecond"),
        ("a \x1b]" + "x" * 5000 + "\x07", "a " + "x" * 5000),
        ("a \x1b[12;" + "3" * 100, "a 12;" + "3" * 100),
    ],
)
def test_a_sequence_without_an_end_hides_nothing(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.sampled_from("a;/ [\n\x07\\]P\x1b")))
def test_the_end_of_a_line_always_stays(text: str) -> None:
    assert printable(text).count("\n") == text.count("\n")


@pytest.mark.parametrize("hidden", ["\x1b]; rm -rf ~ #\x07", "\x1b[; ./x", "\x1bP; rm -rf ~ \x1b\\", "\u202e; rm"])
def test_what_is_decided_on_is_shown_whole(hidden: str) -> None:
    shown = literal(f"echo {hidden}\n\tdone")
    assert shown.startswith("echo \\")
    assert shown.endswith("\n\tdone")
    assert hidden[1:-2] in shown
    assert printable(shown) == shown


@given(any_text)
def test_only_tabs_and_newlines_of_the_controls_are_left(text: str) -> None:
    assert {char for char in printable(text) if ord(char) < 32} <= {"\t", "\n"}


def test_plain_text_is_shown_as_it_is() -> None:
    text = "def f():\n\treturn 'ünïcode 🌊 ok'\n"
    assert printable(text) == text
