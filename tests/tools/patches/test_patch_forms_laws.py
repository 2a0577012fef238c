"""Patches without their ends, and unified diffs, do what the whole patch does, or are refused by the parser."""

from __future__ import annotations

import difflib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from holdfast.errors import ToolFailed
from holdfast.tools.patches.apply_patch import ApplyPatchTool
from holdfast.tools.patches.hunks import apply_hunks
from holdfast.tools.patches.patch_forms import complete_patch
from holdfast.tools.patches.patch_text import parse_patch
from laws import law
from tool_harness import called, workspace

_lines = st.lists(st.sampled_from(["a", "b", "", "-- c", "++ d", "@@ e", "*** f", "    g"]), max_size=8)


@law(200)
@given(before=_lines, after=_lines)
@example(before=["-- c", "a"], after=["++ d", "a"])
def test_a_unified_diff_turns_the_one_text_into_the_other(before: list[str], after: list[str]) -> None:
    assume(before != after and before)
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    diff = "".join(difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), "a/x", "b/x"))
    text, note = complete_patch(diff)
    assert "unified diff" in note
    (patch,) = parse_patch(text)
    assert (patch.kind, patch.path) == ("update", "x")
    assert apply_hunks(old, patch.hunks, "x").text == new


@law(100)
@given(
    cut=st.sets(st.sampled_from(["*** Begin Patch", "*** End Patch"]), min_size=1), fence=st.sampled_from(["", "```"])
)
def test_ends_that_are_missing_are_added_and_told(cut: set[str], fence: str) -> None:
    complete = "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch"
    left = "\n".join(line for line in complete.split("\n") if line not in cut)
    text, note = complete_patch(f"{fence}\n{left}\n{fence}\n")
    assert parse_patch(text) == parse_patch(complete)
    assert all(repr(line) in note for line in cut)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "change a to b",
        "*** Begin Patch",
        "*** Begin Patch\n*** Update File: x\n@@ def f",
        "--- a/x\n+++ b/x\n",
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nand so on",
        "Here it is:\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
    ],
)
def test_what_is_no_patch_is_refused(text: str) -> None:
    with pytest.raises(ToolFailed, match="Nothing was done"):
        parse_patch(complete_patch(text)[0])


def test_a_whole_patch_is_left_as_it_is() -> None:
    complete = "*** Begin Patch\n*** Update File: x\n@@\n--- a/x\n++++ b/x\n*** End Patch\n"
    assert complete_patch(complete) == (complete, "")


def test_a_diff_makes_deletes_and_moves_files() -> None:
    with TemporaryDirectory() as name:
        place = workspace(Path(name))
        (place.root / "old").write_text("a\nb\n")
        (place.root / "gone").write_text("c\n")
        diff = (
            "diff --git a/old b/new\nsimilarity\n"
            "--- a/old\n+++ b/new\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n"
            "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n"
            "diff --git a/made b/made\nnew file mode 100644\n--- /dev/null\n+++ b/made\n@@ -0,0 +1 @@\n+d\n"
            "\\ No newline at end of file\n"
        ).replace("similarity\n", "index 1..2 100644\n")
        output = called(ApplyPatchTool(place), input=diff).text
        assert output.endswith("[The unified diff was read as a patch; its line numbers were not looked at.]")
        assert {path.name: path.read_text() for path in place.root.iterdir()} == {"new": "A\nb\n", "made": "d\n"}
