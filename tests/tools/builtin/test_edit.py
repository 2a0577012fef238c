from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import ToolFailed
from holdfast.tools.builtin.edit import EditTool
from holdfast.tools.builtin.read_write import WriteTool, check_change
from holdfast.tools.tool import Workspace
from holdfast.tools.workspace import atomic_write
from holdfast.tools.workspace.atomic_write import file_diff
from tool_harness import called, planned, ran, workspace

CODE = """\
def one():
    value = compute(1)
    return value


def two():
    value = compute(2)
    return value
"""


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    found = workspace(tmp_path)
    (found.root / "app.py").write_text(CODE)
    return found


def failure(space: Workspace, old: str, new: str = "new", path: str = "app.py") -> str:
    with pytest.raises(ToolFailed) as raised:
        planned(EditTool(space), path=path, old=old, new=new)
    return str(raised.value)


def test_an_edit_is_planned_shown_and_done(space: Workspace) -> None:
    plan = planned(
        EditTool(space), path="app.py", old="compute(2)\n    return value", new="3\n    return 4\n    # done"
    )
    assert (plan.effect, plan.title, plan.outside) == ("write", "edit app.py", None)
    assert plan.detail == (
        "--- app.py\n+++ app.py\n@@ -4,5 +4,6 @@\n \n \n def two():\n"
        "-    value = compute(2)\n-    return value\n+    value = 3\n+    return 4\n+    # done\n"
    )
    (change,) = plan.changes
    assert change.before == hashlib.sha256(CODE.encode()).hexdigest()
    assert (space.root / "app.py").read_text() == CODE
    assert ran(plan).text == "Edited app.py: 1 replacement at line 7 (+3 -2 lines)."
    assert check_change(space.root, change) == "after"
    assert (space.root / "app.py").read_text().endswith("def two():\n    value = 3\n    return 4\n    # done\n")


def test_all_replaces_every_occurrence(space: Workspace) -> None:
    out = called(EditTool(space), path="app.py", old="value", new="v", all=True)
    assert out.text == "Edited app.py: 4 replacements, the first at line 2 (+4 -4 lines)."
    assert (space.root / "app.py").read_text() == CODE.replace("value", "v")


def test_ambiguous_names_every_line(space: Workspace) -> None:
    assert "occurs more than once in 'app.py', at lines 3, 8 (expected once)" in failure(space, "return value")
    (space.root / "many").write_text("x\n" * 100)
    assert "19, 20 and more (expected once)" in failure(space, "x", path="many")
    (space.root / "aaa").write_text("aaa")
    assert "at lines 1, 1 (expected once)" in failure(space, "aa", path="aaa"), "overlapping matches are two places"


def test_absent_shows_the_lines_most_like_it(space: Workspace) -> None:
    message = failure(space, "    value = compute(3)\n")
    assert "does not occur in 'app.py'" in message
    assert "2\t    value = compute(1)\n7\t    value = compute(2)" in message
    assert "No line is similar to 'something quite different'" in failure(space, "something quite different")
    assert "It is only white space" in failure(space, "\t\t \n")


@pytest.mark.parametrize(
    "old", ["def two():\n value = compute(2)\n  return value", "\tvalue =  compute(2)\n", "compute(2)  \n"]
)
def test_absent_says_if_only_white_space_differs(space: Workspace, old: str) -> None:
    message = failure(space, old)
    assert "differ only in white space or line endings" in message
    assert "7\t    value = compute(2)" in message


def test_absent_stays_quick_and_short_in_a_large_file(space: Workspace) -> None:
    (space.root / "large").write_text("".join(f"{'ab' * 200} line {n}\n" for n in range(20_000)))
    assert len(failure(space, "ab" * 200 + " lime 7", path="large")) < 4000


def test_arguments_that_make_no_edit(space: Workspace) -> None:
    assert "Argument 'old' is empty" in failure(space, "")
    assert "are the same" in failure(space, "value", "value")
    assert "'apps.py' does not exist. Similar names in its folder: 'app.py'" in failure(space, "a", path="apps.py")
    (space.root / "b").write_bytes(b"a\0b")
    assert "is binary" in failure(space, "a", path="b")
    with (space.root / "large").open("wb") as file:
        file.truncate(64_000_001)
    assert "is too large: 64,000,001 bytes (at most 64,000,000, because" in failure(space, "a", path="large")


def test_crlf_is_matched_and_kept(space: Workspace) -> None:
    path = space.root / "dos.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
    called(EditTool(space), path="dos.txt", old="one\ntwo", new="1\n2\n2b")
    assert path.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n2b\r\nthree\r\n"
    called(EditTool(space), path="dos.txt", old="three", new="3\r\n4\n5")
    assert path.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n2b\r\n3\r\n4\r\n5\r\n"
    assert "has CRLF line endings" in failure(space, "1\n2", "1\r\n2", path="dos.txt")


def test_mixed_line_endings_stay_mixed(space: Workspace) -> None:
    path = space.root / "mixed.txt"
    path.write_bytes(b"a\nb\r\nc\nd\r\n")
    called(EditTool(space), path="mixed.txt", old="c\n", new="C\nC\n")
    called(EditTool(space), path="mixed.txt", old="b\nC", new="B\nC")
    assert path.read_bytes() == b"a\nB\r\nC\nC\nd\r\n"


def test_bytes_that_are_not_utf8_stay(space: Workspace) -> None:
    path = space.root / "latin.txt"
    path.write_bytes(b"sch\xf6n\nalt\n")
    plan = planned(EditTool(space), path="latin.txt", old="alt", new="neu")
    ran(plan)
    assert path.read_bytes() == b"sch\xf6n\nneu\n"
    assert "sch\ufffdn" in plan.detail


def test_a_missing_last_newline_is_shown(space: Workspace) -> None:
    (space.root / "a").write_text("one\ntwo")
    plan = planned(EditTool(space), path="a", old="two", new="two\n")
    assert plan.detail.endswith("@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+two\n")


def test_a_very_large_difference_is_shown_without_being_compared(space: Workspace) -> None:
    (space.root / "a").write_text("".join(f"{n}\n" for n in range(5000)))
    plan = planned(EditTool(space), path="a", old="\n", new=";\n", all=True)
    lines = plan.detail.splitlines()
    assert lines[:4] == ["--- a", "+++ a", "@@ -1,5000 +1,5000 @@", "-0"]
    assert (lines[5002:5004], lines[-1], len(lines)) == (["-4999", "+0;"], "+4999;", 10_003)
    assert ran(plan).text == "Edited a: 5000 replacements, the first at line 1 (+5000 -5000 lines)."


def test_an_edit_outside_tells_nothing_before_it_is_allowed(space: Workspace) -> None:
    edit = EditTool(space)
    for old in ("secret", "no such words"):
        assert planned(edit, path="../secret.txt", old=old, new="x").outside
    wrong = planned(edit, path="../secret.txt", old="the  secret", new="x")
    assert (wrong.changes, wrong.detail) == ((), "")
    with pytest.raises(ToolFailed, match="the secret"):
        ran(wrong)


@given(st.text("ab\n", max_size=30), st.text("ab\n", min_size=1, max_size=4), st.text("ab\n", max_size=4))
def test_an_edit_is_what_str_replace_does_or_nothing(
    tmp_path_factory: pytest.TempPathFactory, text: str, old: str, new: str
) -> None:
    found = workspace(tmp_path_factory.mktemp("edit"))
    path = found.root / "f"
    path.write_text(text)
    try:
        called(EditTool(found), path="f", old=old, new=new)
    except ToolFailed:
        assert path.read_text() == text
        assert old == new or text.count(old) != 1 or text.find(old) != text.rfind(old)
    else:
        assert path.read_text() == text.replace(old, new) or old not in text  # found with other white space


def test_holdfasts_own_files_are_refused_wherever_they_lie(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "config.toml").write_text("permission_mode = 'ask'\n")
    workspace = Workspace(root=tmp_path, spool=tmp_path, private=(state,))
    with pytest.raises(ToolFailed, match="belongs to holdfast itself"):
        EditTool(workspace).plan("c", '{"path": "state/config.toml", "old": "ask", "new": "yolo"}')
    with pytest.raises(ToolFailed, match="belongs to holdfast itself"):
        WriteTool(workspace).plan("c", '{"path": "state/sessions/x/session.db", "content": ""}')


def test_several_replacements_are_made_in_turn_or_none(space: Workspace) -> None:
    edits: list[dict[str, object]] = [
        {"old": "compute(1)", "new": "compute(3)"},
        {"old": "value", "new": "v", "all": True},
        {"old": "v = compute(3)", "new": "v = compute(4)"},
    ]
    plan = planned(EditTool(space), path="app.py", edits=edits)
    assert (space.root / "app.py").read_text() == CODE
    assert ran(plan).text == "Edited app.py: 6 replacements, the first at line 2 (+4 -4 lines)."
    after = CODE.replace("value", "v").replace("compute(1)", "compute(4)")
    assert (space.root / "app.py").read_text() == after
    with pytest.raises(ToolFailed, match=r"^Replacement 2 of 2: Argument 'old' does not occur .*Nothing was written"):
        planned(
            EditTool(space), path="app.py", edits=[{"old": "v = compute(4)", "new": "x"}, {"old": "none", "new": "y"}]
        )
    with pytest.raises(ToolFailed, match=r"^Replacement 1 of 2: Argument 'old' occurs more than once"):
        planned(EditTool(space), path="app.py", old="return", new="x", edits=[{"old": "one", "new": "y"}])
    with pytest.raises(ToolFailed, match="undo each other"):
        planned(EditTool(space), path="app.py", edits=[{"old": "one", "new": "1"}, {"old": "def 1", "new": "def one"}])
    assert (space.root / "app.py").read_text() == after


def test_a_place_found_loosely_is_said(space: Workspace) -> None:
    out = called(EditTool(space), path="app.py", old="value = compute(2)  \nreturn value", new="return 2")
    assert out.text == (
        "Edited app.py: 1 replacement at line 7 (+1 -2 lines). "
        "Argument 'old' was found loosely: indentation differed and was adapted."
    )
    assert (space.root / "app.py").read_text().endswith("def two():\n    return 2\n")


def test_a_large_file_is_edited_and_the_diff_has_the_lines_around(space: Workspace) -> None:
    path = space.root / "large"
    lines = [f"line {number} of a größere file {'x' * 60}" for number in range(150_000)]
    path.write_bytes("\n".join(lines).encode() + b"\n\xff no UTF-8, and no end")
    assert path.stat().st_size > 10_000_000
    assert "only exact text is found" in failure(space, "line 77 of  a", path="large")
    assert "more than once" in failure(space, "größere", path="large")
    plan = planned(EditTool(space), path="large", old="line 77000 of a größere", new="a\nlonger ü line")
    out = ran(plan)
    expected = [*lines[:77_000], "a", f"longer ü line{lines[77_000].removeprefix('line 77000 of a größere')}"]
    assert path.read_bytes() == "\n".join([*expected, *lines[77_001:]]).encode() + b"\n\xff no UTF-8, and no end"
    assert out.text.startswith("Edited large: 1 replacement at line 77001 (+2 -1 lines).")
    shown = plan.detail.split("\n")
    assert shown[2] == "@@ -76998,7 +76998,8 @@"
    assert [line[:1] for line in shown[3:]] == [" ", " ", " ", "-", "+", "+", " ", " ", " ", ""]
    assert shown[3] == f" {lines[76_997]}"
    plan = planned(EditTool(space), path="large", old="größere", new="große", all=True)
    assert plan.detail == "large is too large to show the changes."


def test_a_large_file_has_the_same_diff_as_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"line {number}\n" for number in range(40)]
    cases = [
        (at, cut, new) for at in (0, 1, 4, 20, 38, 39, 40) for cut in (0, 1, 2) for new in ("", "x\n", "line 3\n", "y")
    ]
    for at, cut, new in cases:
        old, now = "".join(lines).encode(), "".join([*lines[:at], new, *lines[at + cut :]]).encode()
        if old == now:
            continue
        small = file_diff("f", old, now)
        with monkeypatch.context() as patch:
            patch.setattr(atomic_write, "LARGEST_FILE", 200)  # of the 40 lines, fewer than ten are compared
            assert file_diff("f", old, now) == small, (at, cut, new)
