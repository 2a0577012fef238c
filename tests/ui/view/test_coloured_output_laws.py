"""Colours of an output, as data: what they are, and that their text is what anyone reads, without a control."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.tools.printed_text import printed_text
from holdfast.ui.view.coloured_output import PLAIN, Look, coloured_lines, has_colours
from laws import law

RED = Look(colour=1)


@pytest.mark.parametrize(
    ("codes", "look"),
    [
        ("31", RED),
        ("0;31", RED),
        ("91", Look(colour=9)),
        ("44", Look(ground=4)),
        ("107", Look(ground=15)),
        ("38;5;208", Look(colour=208)),
        ("48;5;208", Look(ground=208)),
        ("38;2;1;2;3", Look(colour=(1, 2, 3))),
        ("38:2:1:2:3", Look(colour=(1, 2, 3))),
        ("38:2::1:2:3", Look(colour=(1, 2, 3))),
        ("38:5:9", Look(colour=9)),
        ("1;4;31", Look(colour=1, bold=True, underline=True)),
        ("4:3", Look(underline=True)),
        ("2;3;7;9", Look(dim=True, italic=True, reverse=True, strike=True)),
        ("31;39", PLAIN),
        ("1;22", PLAIN),
        ("31;0", PLAIN),
        ("31;", PLAIN),
        ("5;8;51;73;999", PLAIN),
        ("38;5;999", PLAIN),
        ("38;5", PLAIN),
        ("38", PLAIN),
        ("38;2;1;2", PLAIN),
        ("38;7;1", PLAIN),
        ("30;40", PLAIN),
    ],
    ids=repr,
)
def test_what_a_code_means(codes: str, look: Look) -> None:
    assert coloured_lines(f"\x1b[{codes}mtext") == ((("text", look),),)


def test_a_colour_goes_on_over_lines_until_it_ends() -> None:
    assert coloured_lines("a\x1b[31mb\nc\x1b[md\n") == ((("a", PLAIN), ("b", RED)), (("c", RED), ("d", PLAIN)), ())


def test_of_frames_the_last_has_its_colours() -> None:
    assert coloured_lines("\x1b[32m 10 %\r\x1b[31m 99 %\n") == (((" 99 %", RED),), ())
    assert coloured_lines("a\n\x1b[1A\x1b[2K\x1b[31mb\x1b[0m\n") == ((("b", RED),), ())


ANYTHING = st.text(st.sampled_from("ab \n\r\b\x1b[]0;:31m5KGAJ\x07\t\x00é\x9b\u202e"), max_size=60)


@law()
@given(ANYTHING)
@example("\x1b[31mred\x1b[0m\r\n")
@example("\x1b[\x1b[31mm")
@example("a\x1b[31m\b")
def test_its_text_is_what_anyone_reads(text: str) -> None:
    lines = coloured_lines(text)
    assert "\n".join("".join(part for part, _ in line) for line in lines).replace("\x1b", "") == printed_text(text)
    assert "\x1b" not in "".join(part for line in lines for part, _ in line)
    assert has_colours(text) or all(look == PLAIN for line in lines for _, look in line)  # may be empty: no lines
