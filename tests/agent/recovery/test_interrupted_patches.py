"""A patch of several files that is cut off: each path is looked at, and has a line with what is there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.agent.recovery.evidence import edits, gather_evidence
from holdfast.agent.recovery.rewind import rewind_entry
from holdfast.agent.recovery.settle import settle
from holdfast.agent.stop_cause import StopCause
from holdfast.session.conversation.fold import Fold
from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    Entry,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
)
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.system.safe_paths import resolve
from holdfast.tool_calls import FileChange, FileCheck
from holdfast.tools.patches.apply_patch import ApplyPatchTool
from holdfast.tools.tool import Plan
from holdfast.tools.tool_choice import ALL_TOOLS
from holdfast.tools.toolbox import LocalToolbox
from holdfast.tools.workspace.atomic_write import delete_file, replace
from tool_harness import workspace

PATCH = """*** Begin Patch
*** Update File: a.txt
@@
-one
+two
*** Add File: c.txt
+new
*** Delete File: b.txt
*** End Patch"""
AFTER = {"a.txt": "two\n", "c.txt": "new\n"}
SAID = {
    "after": "landed: it is exactly as intended.",
    "before": "not landed: it is as it was before.",
    "other": "unknown: it is neither as it was before nor as intended.",
}


def left(plan: Plan) -> list[Entry]:
    """Return the journal of a process that died while the patch was applied."""
    call = CallPart(id="A", name="apply_patch", arguments=json.dumps({"input": PATCH}))
    return [
        PromptAccepted(turn=1, text="patch it"),
        RequestStarted(step=1, attempt=1, model="m"),
        ResponseEnded(step=1, model="m", parts=(call,), usage=Usage()),
        CallStarted(call="A", effect="write", changes=plan.changes),
    ]


def make(root: Path, change: FileChange) -> None:
    """Do one change as the tool does it."""
    place = resolve(root, change.path)
    if change.after is None:
        delete_file(place, change)
    else:
        replace(place, change, AFTER[change.path].encode(), call="A")


def settled(journal: Sequence[Entry], toolbox: LocalToolbox) -> CallEnded:
    """Return the outcome that recovery gives the call."""
    fold = Fold(journal)
    (call,) = fold.conversation().open_calls
    assert call.started is not None
    known = gather_evidence([call.started], toolbox, seconds={}, began={}, ended={}, gap=False)
    ended, _ = settle(fold.conversation(), StopCause("crash"), known=known)
    assert isinstance(ended, CallEnded)
    return ended


@pytest.mark.parametrize("done", range(4))
@pytest.mark.parametrize("touched", ["", "a.txt", "c.txt"])
def test_each_file_has_its_line_wherever_it_stopped(tmp_path: Path, done: int, touched: str) -> None:
    space = workspace(tmp_path)
    (space.root / "a.txt").write_text("one\n")
    (space.root / "b.txt").write_text("gone\n")
    (tmp_path / "session").mkdir()
    plan = ApplyPatchTool(space).plan("A", json.dumps({"input": PATCH}))
    expected: dict[str, FileCheck] = {}
    for number, change in enumerate(plan.changes):
        if number < done:
            make(space.root, change)
        expected[change.path] = "after" if number < done else "before"
    if touched:
        (space.root / touched).write_text("someone else's\n")
        expected[touched] = "other"
    toolbox = LocalToolbox(space.root, tmp_path / "session", declared=ALL_TOOLS - {"edit", "search"})
    journal = left(plan)
    ended = settled(journal, toolbox)
    assert ended.outcome == "interrupted"
    head, *lines = ended.text.splitlines()
    assert head.endswith("Each of its files was looked at afterwards:")
    assert lines == [f"{path}: {SAID[check]}" for path, check in expected.items()]
    landed = [path for path, check in expected.items() if check == "after"]
    assert [seen.path for seen in ended.snapshots] == landed
    fold = Fold([*journal, ended])
    assert set(fold.files) == set(landed)
    assert rewind_entry(fold.conversation(), journal, 1)[0].note.count(".txt") == 3


def test_what_it_left_half_written_is_swept(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    (space.root / "a.txt").write_text("one\n")
    (space.root / "b.txt").write_text("gone\n")
    (tmp_path / "session").mkdir()
    plan = ApplyPatchTool(space).plan("A", json.dumps({"input": PATCH}))
    (space.root / ".holdfast-A").write_text("half")
    toolbox = LocalToolbox(space.root, tmp_path / "session", declared=ALL_TOOLS - {"edit", "search"})
    toolbox.sweep(edits(Fold(left(plan)).conversation().open_calls))
    assert not (space.root / ".holdfast-A").exists()
