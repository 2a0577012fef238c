"""What a model reads of a command's output has nothing that a terminal acts on, and everything else."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.tools.printed_text import FEWEST, printed_text
from laws import law

ANYTHING = st.text(st.sampled_from("ab \n\r\b\x1b[]0;31mKGAJF78Hc2\x07\t\x00é"), max_size=60)
PLAIN = st.text(st.characters(exclude_categories=("Cc", "Cs"), include_characters="\n\t"), max_size=80)


@law()
@given(ANYTHING)
@example("\x1b[31mred\x1b[0m\r\n")
@example("\x1b")
@example("a\x1bcb\x1bcc\x1bc\x1b[Hd")
@example("a\n\x1b[Ab\n\x1b[A\x1b[J")
def test_nothing_is_left_that_a_terminal_acts_on(text: str) -> None:
    shown = printed_text(text)
    assert re.findall(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]", shown) == []
    assert shown.count("\n") <= text.count("\n")
    assert shown.count("\x00") <= text.count("\x00")


@law()
@given(PLAIN)
def test_plain_text_stays_as_it_is(text: str) -> None:
    lines = text.split("\n")
    runs = any(len(set(lines[at : at + FEWEST])) == 1 and lines[at].strip() for at in range(len(lines) - FEWEST + 1))
    assert (printed_text(text) == text) or runs
