"""The terminal's background: read from its answer however the bytes come, and no byte of it is typed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ui.tui.environment.background_colour import TerminalReplies, light_by_environment, light_by_reply


@pytest.mark.parametrize(
    ("value", "light"),
    [("0;15", True), ("15;0", False), ("0;default;15", True), ("0;7", True), ("7;8", False), ("", None), ("0;x", None),
     ("0;default", None), ("0;99", None)],
)  # fmt: skip
def test_what_the_environment_says(value: str, light: bool | None) -> None:  # noqa: FBT001 - a row of the table
    assert light_by_environment({"COLORFGBG": value}) is light
    assert light_by_environment({}) is None


@pytest.mark.parametrize(
    ("reply", "light"),
    [("rgb:ffff/ffff/ffff", True), ("rgb:1010/1515/1717", False), ("rgb:f/f/f", True), ("rgba:00/00/00/ff", False),
     ("rgb:0000/0000/ffff", False), ("?", None), ("", None), ("rgb:/0/0", None)],
)  # fmt: skip
def test_what_an_answer_says(reply: str, light: bool | None) -> None:  # noqa: FBT001 - a row of the table
    assert light_by_reply(reply) is light


TYPED = st.lists(st.sampled_from(["a", "\x1b[A", "é", "\x1b]", "\x1b", "]11;", "\x1b[200~x\x1b[201~"]), max_size=6)


@given(TYPED, TYPED, st.sampled_from(["\x07", "\x1b\\"]), st.lists(st.integers(0, 60), max_size=5))
def test_an_answer_is_found_in_any_pieces_and_all_else_is_typed(
    before: list[str], after: list[str], end: str, cuts: list[int]
) -> None:
    first, last = "".join(before), "".join(after)
    text = f"{first}\x1b]11;rgb:ffff/0/0{end}{last}"
    if "\x1b]11;" in first + last:
        return
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    replies = TerminalReplies()
    replies.expecting = True
    pieces = [text[at:to] for at, to in itertools.pairwise(places)]
    typed = "".join(replies.take(piece) for piece in pieces) + replies.flush()
    assert replies.found == ["rgb:ffff/0/0"]
    assert typed == first + last


def test_a_key_is_not_held_for_ever() -> None:
    replies = TerminalReplies()
    assert replies.take("\x1b") == "\x1b"
    assert replies.take("x\x1b]") == "x"
    assert replies.flush() == "\x1b]"
    assert replies.take("\x1b]11;rgb") == ""
    assert replies.flush() == ""
    assert replies.take(":0/0/0\x07y") == "y"
    assert replies.found == ["rgb:0/0/0"]
