"""Colours of an output, as data: what they are, and that their text is what anyone reads, without a control."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.tools.printed_text import printed_text
from holdfast.ui.view.coloured_output import UNSTYLED, Appearance, output_lines
from laws import law

RED = Appearance(colour=1)


@pytest.mark.parametrize(
    ("codes", "look"),
    [
        ("31", RED),
        ("0;31", RED),
        ("91", Appearance(colour=9)),
        ("44", Appearance(ground=4)),
        ("107", Appearance(ground=15)),
        ("38;5;208", Appearance(colour=208)),
        ("48;5;208", Appearance(ground=208)),
        ("38;2;1;2;3", Appearance(colour=(1, 2, 3))),
        ("38:2:1:2:3", Appearance(colour=(1, 2, 3))),
        ("38:2::1:2:3", Appearance(colour=(1, 2, 3))),
        ("38:5:9", Appearance(colour=9)),
        ("1;4;31", Appearance(colour=1, bold=True, underline=True)),
        ("4:3", Appearance(underline=True)),
        ("2;3;7;9", Appearance(dim=True, italic=True, reverse=True, strike=True)),
        ("31;39", UNSTYLED),
        ("1;22", UNSTYLED),
        ("31;0", UNSTYLED),
        ("31;", UNSTYLED),
        ("5;8;51;73;999", UNSTYLED),
        ("38;5;999", UNSTYLED),
        ("38;5", UNSTYLED),
        ("38", UNSTYLED),
        ("38;2;1;2", UNSTYLED),
        ("38;7;1", UNSTYLED),
        ("30;40", UNSTYLED),
    ],
    ids=repr,
)
def test_what_a_code_means(codes: str, look: Appearance) -> None:
    assert output_lines(f"\x1b[{codes}mtext") == ((("text", look),),)


def test_a_colour_goes_on_over_lines_until_it_ends() -> None:
    assert output_lines("a\x1b[31mb\nc\x1b[md\n") == ((("a", UNSTYLED), ("b", RED)), (("c", RED), ("d", UNSTYLED)), ())


def test_of_frames_the_last_has_its_colours() -> None:
    assert output_lines("\x1b[32m 10 %\r\x1b[31m 99 %\n") == (((" 99 %", RED),), ())
    assert output_lines("a\n\x1b[1A\x1b[2K\x1b[31mb\x1b[0m\n") == ((("b", RED),), ())


ANYTHING = st.text(st.sampled_from("ab \n\r\b\x1b[]0;:31m5KGAJ\x07\t\x00é\x9b\u202e"), max_size=60)


@law()
@given(ANYTHING)
@example("\x1b[31mred\x1b[0m\r\n")
@example("\x1b[\x1b[31mm")
@example("a\x1b[31m\b")
def test_its_text_is_what_anyone_reads(text: str) -> None:
    lines = output_lines(text)
    assert "\n".join("".join(part for part, _ in line) for line in lines).replace("\x1b", "") == printed_text(text)
    assert "\x1b" not in "".join(part for line in lines for part, _ in line)
