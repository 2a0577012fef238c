"""The laws of path patterns: what they match is what their definition says, in steps that can be counted."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from fnmatch import fnmatchcase

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.errors import ToolFailed
from holdfast.tools.workspace.globs import LONGEST_PATTERN, Glob, globs, matches_any

names = st.text(st.sampled_from("ab."), min_size=1, max_size=4)
paths = st.lists(names, min_size=1, max_size=6)
pieces = st.one_of(st.just("**"), st.text(st.sampled_from("ab.*?[]!"), min_size=1, max_size=4))
patterns = st.lists(pieces, min_size=1, max_size=6)


def defined(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a path matches, by the definition of a pattern and nothing else."""
    if not pattern or not parts:
        return not parts and all(part == "**" for part in pattern)
    if pattern[0] == "**":
        return defined(parts, pattern[1:]) or defined(parts[1:], pattern)
    return fnmatchcase(parts[0], pattern[0]) and defined(parts[1:], pattern[1:])


@given(parts=paths, pattern=patterns)
@example(parts=["a", "b", "a", "b", "b"], pattern=["**", "a", "b", "**", "b"])
@example(parts=["a", "c", "b"], pattern=["**", "a", "**", "b"])
@example(parts=["a"], pattern=["a", "**"])
@example(parts=["a", "b"], pattern=["**", "**", "b", "**"])
def test_a_pattern_matches_what_its_definition_says(parts: list[str], pattern: list[str]) -> None:
    (glob,) = globs("/".join(pattern))
    assert glob.matches(parts) == defined(parts, pattern)
    assert glob.deep == ("**" in pattern)


@given(stars=st.integers(1, 30), deep=st.integers(1, 60))
def test_a_match_takes_no_more_steps_than_both_lengths_multiplied(stars: int, deep: int) -> None:
    steps = 0

    def is_a(name: str) -> bool:
        nonlocal steps
        steps += 1
        return name == "a"

    glob = Glob("", (*(None, is_a) * stars, lambda _: False))
    assert not glob.matches(["a"] * deep)
    assert steps <= (2 * stars + 1) * (deep + 1)


def test_nothing_is_matched_after_a_stop() -> None:
    stop = threading.Event()
    names: list[str] = []

    def stops(name: str) -> bool:
        names.append(name)
        stop.set()
        return False

    assert matches_any(globs("{b,a}"), ["a"], stop)
    assert not matches_any((Glob("", (stops,)), *globs("a")), ["a"], stop)
    assert not matches_any((Glob("", (stops,)),), ["a"], stop)
    assert names == ["a"]


def test_alternatives_are_of_the_whole_pattern() -> None:
    assert [glob.text for glob in globs("{a,b/c}.{x,y}")] == ["a.x", "a.y", "b/c.x", "b/c.y"]
    assert [glob.text for glob in globs("{a,b/c}", anywhere=True)] == ["**/a", "b/c"]
    assert [glob.text for glob in globs("{a")] == ["{a"]


@pytest.mark.parametrize(
    "pattern",
    [
        "{a,b}" * 10,
        "a" * (LONGEST_PATTERN + 1),
        "{" * 1_000_000,
        "{,{},a,b,c,d}" * 9,
        "{a}" * 1_300,
        "{" + "," * 1_000 + "}",
    ],
)
def test_what_would_take_too_long_is_refused(pattern: str) -> None:
    with pytest.raises(ToolFailed, match=r"too long|more than 1000 alternatives|more than 100 braces"):
        globs(pattern)
    assert len(globs("{a,b}" * 9)) == 512
