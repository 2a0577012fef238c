"""The laws of hunks: a patch made from two texts turns the first into the second, and keeps what it keeps."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.errors import ToolFailed
from holdfast.tools.patches.hunks import apply_hunks
from holdfast.tools.patches.patch_text import Hunk, Sign, parse_patch
from laws import law

_lines = st.lists(st.text(st.sampled_from("abc {"), max_size=4), max_size=12)


def signed(sign: Sign, lines: list[str]) -> list[tuple[Sign, str]]:
    """Return the lines with their sign."""
    return [(sign, line) for line in lines]


def hunks_between(before: list[str], after: list[str], *, context: int = 3) -> tuple[Hunk, ...]:
    """Return the hunks that a model with three lines of context would write."""
    hunks: list[Hunk] = []
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(context):
        lines: list[tuple[Sign, str]] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += signed(" ", before[i1:i2])
                continue
            lines += [*signed("-", before[i1:i2]), *signed("+", after[j1:j2])]
        hunks.append(Hunk(lines=tuple(lines), at_end=group[-1][2] == len(before)))
    return tuple(hunks)


def numbered(lines: list[str]) -> list[str]:
    """Return the lines, each of which occurs once."""
    return [f"{number} {line}" for number, line in enumerate(lines)]


@law(200)
@given(before=_lines, data=st.data())
def test_a_patch_made_from_two_texts_turns_one_into_the_other(before: list[str], data: st.DataObject) -> None:
    before = numbered(before)
    after = [line for line in before if data.draw(st.booleans())]
    for _ in range(data.draw(st.integers(0, 3))):
        after.insert(data.draw(st.integers(0, len(after))), data.draw(st.sampled_from(["new", "  new", ""])))
    assume(before and after)
    hunks = hunks_between(before, after)
    assert apply_hunks("\n".join(before) + "\n", hunks, "f").text == "\n".join(after) + "\n"


@law(100)
@given(before=_lines, at=st.integers(0, 11), blanks=st.sampled_from(["", " ", "\t", "\r"]))
def test_lines_that_are_kept_stay_byte_for_byte(before: list[str], at: int, blanks: str) -> None:
    before = numbered(before)
    assume(at < len(before))
    after = [*before[:at], "new", *before[at + 1 :]]
    there = [f"{line}{blanks}" for line in before]
    done = apply_hunks("\n".join(there), hunks_between(before, after), "f").text.split("\n")
    assert [line for i, line in enumerate(done) if i != at] == [line for i, line in enumerate(there) if i != at]
    assert done[at].rstrip() == "new"


@law(100)
@given(text=st.text(st.sampled_from("*@+- aB:\n"), max_size=60))
def test_whatever_is_between_the_marks_is_parsed_or_refused_with_its_line(text: str) -> None:
    try:
        files = parse_patch(f"*** Begin Patch\n*** Update File: f\n{text}\n*** End Patch")
    except ToolFailed as failed:
        assert "Nothing was done" in str(failed)  # noqa: PT017 - either is right
    else:
        assert all(any(sign != " " for sign, _ in hunk.lines) for file in files for hunk in file.hunks)


@pytest.mark.parametrize(
    ("text", "patch", "after"),
    [
        ("class A:\n    x\nclass B:\n    x\n", "@@ class B:\n-    x\n+    y", "class A:\n    x\nclass B:\n    y\n"),
        ("class A:\n  def f\n    x\nclass B:\n  def f\n    x\n", "@@ class B\n@@ def f\n-    x\n+    y", None),
        ("a\nb\na\n", "@@\n-a\n+c\n*** End of File", "a\nb\nc\n"),
        ("a\nb\n", "@@\n+c", "a\nb\nc\n"),
        ("a\nb\n", "@@ a\n+c", "a\nc\nb\n"),
        ("a\n    b\nc\n", "@@\n-b\n+d", "a\n    d\nc\n"),
        ("x = \u2018a\u2019\n", "@@\n-x = 'a'\n+x = 'b'", "x = 'b'\n"),
        ("a\r\nb\r\n", "@@\n a\n-b\n+c", "a\r\nc\r\n"),
        ("a\nb", "@@\n a\n-b\n+c", "a\nc"),
        ("a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+c\n b", "c\nb\n"),
        ("a\nb\n", "-a\n+c", "c\nb\n"),
        ("a\n\nb\n", "@@\n a\n\n-b\n+c", "a\n\nc\n"),
    ],
)
def test_a_hunk_is_found_as_models_write_it(text: str, patch: str, after: str | None) -> None:
    (file,) = parse_patch(f"*** Begin Patch\n*** Update File: f\n{patch}\n*** End Patch")
    expected = after or "class A:\n  def f\n    x\nclass B:\n  def f\n    y\n"
    assert apply_hunks(text, file.hunks, "f").text == expected


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ("@@\n-x\n+y", "The hunk for 'f' was not found"),
        ("@@ none\n-a\n+y", "no line behind line 0 contains 'none'"),
        ("@@\n-c\n+d\n@@\n-a\n+y", r"Hunk 2 of 2.*They are at line 1: give the hunks in the order of the file"),
        ("@@\n a\n-c\n+d", r"'a' is at line 1. Read around it"),
    ],
)
def test_why_a_hunk_does_not_fit_is_said(patch: str, message: str) -> None:
    (file,) = parse_patch(f"*** Begin Patch\n*** Update File: f\n{patch}\n*** End Patch")
    with pytest.raises(ToolFailed, match=f"(?s){message}") as failed:
        apply_hunks("a\nb\nc\n", file.hunks, "f")
    assert "Nothing was written" in str(failed.value)
