"""The tool `apply_patch`: all hunks are checked first, then each file is changed, and what was done is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import ToolFailed
from holdfast.tools.approval.decision import Allow, Ask, Policy, decide
from holdfast.tools.builtin.read_write import check_change
from holdfast.tools.patches.apply_patch import ApplyPatchTool
from holdfast.tools.tool import Plan, Workspace
from tool_harness import planned, ran, workspace

WHOLE = """\
*** Begin Patch
*** Update File: a.py
@@
-x = 1
+x = 2
*** Add File: new/b.py
+b
*** Delete File: c.py
*** Update File: d.py
*** Move to: e.py
@@
-d
+e
*** End Patch
"""


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    found = workspace(tmp_path)
    for name, text in {"a.py": "x = 1\n", "c.py": "c\n", "d.py": "d\n"}.items():
        (found.root / name).write_text(text)
    return found


def patched(space: Workspace, body: str) -> Plan:
    return planned(ApplyPatchTool(space), input=f"*** Begin Patch\n{body}\n*** End Patch")


def present(space: Workspace) -> dict[str, str]:
    return {str(path.relative_to(space.root)): path.read_text() for path in space.root.rglob("*") if path.is_file()}


def test_a_patch_is_planned_as_a_whole_and_done(space: Workspace) -> None:
    before = present(space)
    plan = planned(ApplyPatchTool(space), input=WHOLE)
    assert present(space) == before
    assert (plan.effect, plan.title) == ("write", "patch a.py, new/b.py and 3 more")
    assert [change.path for change in plan.changes] == ["a.py", "new/b.py", "e.py", "c.py", "d.py"]
    assert {check_change(space.root, change) for change in plan.changes} == {"before"}
    out = ran(plan)
    assert out.text.splitlines() == [
        "a.py: changed (+1 -1 lines)",
        "new/b.py: created (+1 -0 lines)",
        "e.py: created (+1 -0 lines)",
        "c.py: deleted (+0 -1 lines)",
        "d.py: deleted (+0 -1 lines)",
    ]
    assert present(space) == {"a.py": "x = 2\n", "new/b.py": "b\n", "e.py": "e\n"}
    assert {check_change(space.root, change) for change in plan.changes} == {"after"}
    known = {seen.path: seen.size for seen in out.snapshots}
    assert known == {"a.py": 6, "new/b.py": 2, "e.py": 2, "c.py": None, "d.py": None}


def test_one_hunk_that_does_not_fit_stops_all(space: Workspace) -> None:
    before = present(space)
    with pytest.raises(ToolFailed, match=r"The hunk for 'd\.py' was not found"):
        planned(ApplyPatchTool(space), input=WHOLE.replace("-d\n", "-none\n"))
    assert present(space) == before


def test_a_file_that_changed_in_between_stops_there_and_both_are_said(space: Workspace) -> None:
    plan = planned(ApplyPatchTool(space), input=WHOLE)
    (space.root / "c.py").write_text("other\n")
    out = ran(plan)
    assert not out.ok
    assert out.text.startswith("File 'c.py' changed since this call was planned.")
    assert "a.py: changed" in out.text
    assert out.text.endswith("Not done: c.py, d.py.")
    assert present(space) == {"a.py": "x = 2\n", "new/b.py": "b\n", "e.py": "e\n", "c.py": "other\n", "d.py": "d\n"}


def test_one_file_is_a_change_like_an_edit(space: Workspace) -> None:
    plan = patched(space, "*** Update File: a.py\n@@\n-x = 1\n+x = 2\n@@\n+y")
    assert len(plan.changes) == 1
    assert ran(plan).text == "a.py: changed (+2 -1 lines)"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("*** Add File: a.py\n+x", "exists already"),
        ("*** Update File: none.py\n@@\n-x\n+y", "none.py"),
        ("*** Delete File: none.py", "none.py"),
        ("*** Update File: d.py\n*** Move to: a.py\n@@\n-d\n+e", "exists already"),
        ("*** Delete File: c.py\n*** Update File: c.py\n@@\n-c\n+e", "earlier in this patch"),
        ("*** Update File: .git/config\n@@\n-c\n+e", "internal to git"),
        ("*** Update File: a.py\n@@\n-x = 1\n+x = 1", "changes nothing"),
        ("nothing", r"Patch line 2 is 'nothing' \(expected"),
        ("", "names no file"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is(space: Workspace, body: str, message: str) -> None:
    before = present(space)
    with pytest.raises(ToolFailed, match=message):
        patched(space, body)
    assert present(space) == before


def test_several_files_may_run_only_if_each_may(space: Workspace) -> None:
    free = Policy("accept-edits")
    assert decide(planned(ApplyPatchTool(space), input=WHOLE), free) == Allow()
    assert isinstance(decide(planned(ApplyPatchTool(space), input=WHOLE), Policy("ask")), Ask)
    hook = patched(space, "*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** Add File: .husky/pre-commit\n+x")
    assert isinstance(decide(hook, free), Ask)
    outside = patched(space, "*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** Add File: ../x\n+x")
    assert isinstance(decide(outside, free), Ask)


def test_a_patch_outside_says_nothing_before_it_is_allowed(space: Workspace) -> None:
    plan = patched(space, "*** Update File: ../secret.txt\n@@\n-guess\n+x")
    assert plan.outside
    assert (plan.detail, plan.changes) == ("", ())
    with pytest.raises(ToolFailed, match="was not found"):
        ran(plan)


def test_a_new_file_has_the_line_ends_of_its_project(space: Workspace) -> None:
    (space.root / ".editorconfig").write_text("[*.bat]\nend_of_line = crlf\n")
    out = ran(patched(space, "*** Add File: new.bat\n+one\n+two\n*** Add File: new.py\n+one\n+two"))
    assert (space.root / "new.bat").read_bytes() == b"one\r\ntwo\r\n"
    assert (space.root / "new.py").read_bytes() == b"one\ntwo\n"
    assert out.text.splitlines()[:2] == [
        "new.bat: created (+2 -0 lines), line ends: CRLF, as .editorconfig says",
        "new.py: created (+2 -0 lines)",
    ]
