"""The laws of loose matching: one place, nothing outside it changes, and only what was said differed."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.tools.patches.loose_match import alike, find_loosely
from laws import law

_lines = st.lists(st.text(st.sampled_from("ab \t'\u2019-"), max_size=5), min_size=1, max_size=6)
_texts = _lines.map("\n".join)


def _bare(text: str) -> list[str]:
    return [line.strip() for line in alike(text).split("\n") if line.strip()]


@law(300)
@given(text=_texts, old=_texts, new=_texts)
def test_what_is_found_is_what_was_written_but_for_white_space_and_punctuation(text: str, old: str, new: str) -> None:
    found = find_loosely(text, old, new)
    if found is not None:
        assert 0 <= found.start < found.end <= len(text)
        assert "".join(_bare(text[found.start : found.end])) == "".join(_bare(old))
        assert found.how


@law(200)
@given(before=_lines, there=_lines, after=_lines, more=st.sampled_from(["  ", "\t", "    "]))
def test_a_block_written_without_its_indentation_is_replaced_by_itself_alone(
    before: list[str], there: list[str], after: list[str], more: str
) -> None:
    assume(any(line.strip() for line in there))
    old = "\n".join(["a=", *there, "=b"])
    moved = "\n".join([more + line for line in ["a=", *there, "=b"]])
    text = "\n".join([*before, moved, *after])
    found = find_loosely(text, old, old + "\nnew")
    assert found is not None
    head, tail = "\n".join([*before, ""]), "\n".join(["", *after])
    assert text[: found.start] + found.new + text[found.end :] == f"{head}{moved}\n{more}new{tail}"


_STEPS = ["  ", "   ", "    ", "\t"]


@st.composite
def _depths(draw: st.DrawFn) -> list[int]:
    """Return how deep each line of a block is; two levels at least show what a step is."""
    depths = draw(st.lists(st.integers(0, 3), max_size=6))
    for depth in (0, 1):
        depths.insert(draw(st.integers(0, len(depths))), depth)
    return depths


@law(200)
@given(depths=_depths(), deeper=st.integers(1, 4), steps=st.permutations(_STEPS))
def test_a_block_written_with_other_steps_is_replaced_with_the_steps_of_the_file(
    depths: list[int], deeper: int, steps: list[str]
) -> None:
    here, written, *_ = steps
    more = (depths[-1] + deeper) % 5

    def block(step: str, depths: list[int]) -> str:
        return "\n".join(f"{step * depth}line {number}" for number, depth in enumerate(depths))

    old, new = block(written, depths), block(written, [*depths[:-1], more])
    text = block(here, depths)
    assume(old not in text)  # else it occurs exactly
    found = find_loosely(f"above\n{text}\nbelow\n", old, new)
    assert found is not None
    assert found.new == block(here, [*depths[:-1], more])


@pytest.mark.parametrize(
    ("text", "old", "new", "after", "how"),
    [
        ("a  \nb\n", "a\nb", "a\nc", "a  \nc\n", "line ends"),
        ("a\t\r\nb\r\n", "a\r\nb", "c\r\nb", "c\r\nb\r\n", "line ends"),
        ("def f():\n        x = 1\n        y\n", "x = 1\ny", "x = 2\nif y:\n    z", None, "indentation"),
        ("\tif a:\n\t\tb\n", "    if a:\n        b\n", "    if c:\n        b\n", "\tif c:\n\t\tb\n", "indentation"),
        ("say \u2018hi\u2019 \u2014 now\n", "say 'hi' - now", "say 'ho'", "say 'ho'\n", "alike"),
        ("f(1)\ng(2)\n", "1\tf(1)\n2\tg(2)", "1\tf(3)\n2\tg(2)", "f(3)\ng(2)\n", "line numbers"),
        ("f(1)\ng(2)\n", "f(1)\\ng(2)", "f(3)\\ng(2)", "f(3)\ng(2)\n", "escapes"),
        ("  a\n  b\nc", "a\nb\n", "", "c", "indentation"),
    ],
)
def test_a_place_is_found_and_the_rest_is_left(text: str, old: str, new: str, after: str | None, how: str) -> None:
    found = find_loosely(text, old, new)
    assert found is not None
    assert how in found.how
    done = text[: found.start] + found.new + text[found.end :]
    assert done == (after or "def f():\n        x = 2\n        if y:\n            z\n")


@pytest.mark.parametrize(
    ("text", "old"),
    [
        (" a\n  a\n", "a\t"),
        ("a \nb\na \nb\n", "a\nb"),
        ("  a\n   b\n", "a\nb"),
        ("if a:\n    b\nc\n", "if a:\n  b\n  c"),
        ("if a:\n    b\n    c\n", "if a:\n  b\n    c"),
        ("if a:\n    b\n\nif a:\n        b\n", "if a:\n  b"),
        ("a\n", "   "),
        ("a b\n", "a  b"),
    ],
)
def test_two_places_or_another_shape_are_not_taken(text: str, old: str) -> None:
    assert find_loosely(text, old, "c") is None
