"""An edit tells what is in a file, by its failure and by a move: of a file with secrets only after a question."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_harness import Rig
from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionToolbox
from holdfast.tool_calls import Mode
from holdfast.tools.approval.decision import Deny, Policy, decide, may_tell
from holdfast.tools.builtin.edit import EditTool
from holdfast.tools.builtin.read_write import ReadTool, WriteTool
from holdfast.tools.patches.apply_patch import ApplyPatchTool
from holdfast.tools.permission_rules.permission_rule import RuleVerdict, permission_rule
from holdfast.tools.permission_rules.rule_set import RuleSet
from holdfast.tools.tool import TellingFailure
from tool_harness import planned, workspace

SECRET = "s3cr3t"
NEAR: dict[str, object] = {"path": "credentials.json", "old": '{"token": "guess"}', "new": "x"}
MOVE: dict[str, object] = {
    "input": "*** Begin Patch\n*** Update File: credentials.json\n*** Move to: notes.txt\n*** End Patch\n"
}
UNFIT: dict[str, object] = {
    "input": "*** Begin Patch\n*** Update File: credentials.json\n@@\n-guess\n+x\n*** End Patch\n"
}
CONTENT = f'{{"token": "{SECRET}"}}\n'
SAME: dict[str, object] = {"path": "credentials.json", "content": CONTENT}
CALLS = [Call("edit", NEAR), Call("apply_patch", MOVE), Call("apply_patch", UNFIT), Call("write", SAME)]
NAMES = ["near", "move", "unfit", "same"]


def rig(folder: Path, *calls: Call, mode: Mode) -> Rig:
    space = workspace(folder)
    (space.root / "credentials.json").write_text(CONTENT)
    tools = [EditTool(space), WriteTool(space), ReadTool(space), ApplyPatchTool(space)]
    script = [*([each] for each in calls), [Say("ok")]]
    return Rig(ScriptedModel(script), mode=mode, on_approval="deny", toolbox=FunctionToolbox(tools))


@pytest.mark.parametrize("call", CALLS, ids=NAMES)
@pytest.mark.parametrize("mode", ["ask", "plan", "accept-edits"])
async def test_a_call_that_changes_a_secret_tells_nothing_unasked(tmp_path: Path, call: Call, mode: Mode) -> None:
    made = rig(tmp_path, call, Call("read", {"path": "notes.txt"}), mode=mode)
    await made.agent.run("go")
    ended = [entry for entry in made.entries if isinstance(entry, e.CallEnded)]
    assert [each.outcome for each in ended] == ["denied", "failed"]
    assert not any(SECRET in each.text or "already has" in each.text for each in ended)
    asked = [entry.question.why for entry in made.entries if isinstance(entry, e.ApprovalAsked)]
    assert [each.endswith("credentials.json', which holds secrets.") for each in asked] == [True] * (mode != "plan")


@pytest.mark.parametrize("call", [CALLS[0], CALLS[2], CALLS[3]], ids=[NAMES[0], *NAMES[2:]])
async def test_what_was_allowed_fails_with_its_reason(tmp_path: Path, call: Call) -> None:
    made = rig(tmp_path, call, mode="yolo")
    await made.agent.run("go")
    (ended,) = [entry for entry in made.entries if isinstance(entry, e.CallEnded)]
    assert ended.outcome == "failed"
    assert any(words in ended.text for words in (SECRET, "was not found", "already has"))


@pytest.mark.parametrize("mode", ["ask", "plan", "accept-edits"])
async def test_an_edit_of_another_file_fails_with_its_reason_unasked(tmp_path: Path, mode: Mode) -> None:
    made = rig(tmp_path, Call("edit", NEAR | {"path": "app.json"}), mode=mode)
    (tmp_path / "work" / "app.json").write_text('{"token": "public"}\n')
    await made.agent.run("go")
    (ended,) = [entry for entry in made.entries if isinstance(entry, e.CallEnded)]
    assert (ended.outcome, "public" in ended.text) == ("failed", True)


@pytest.mark.parametrize(
    ("verdict", "mode", "told"),
    [
        ("deny", "ask", False),
        ("ask", "ask", False),
        ("deny", "yolo", False),
        ("ask", "yolo", True),
        ("allow", "ask", True),
    ],
)
def test_a_rule_about_reading_holds_for_edits(tmp_path: Path, verdict: RuleVerdict, mode: Mode, told: bool) -> None:  # noqa: FBT001 - a parameter of the test
    space = workspace(tmp_path)
    name = "server.key" if verdict == "allow" else "private.json"
    (space.root / name).write_text(CONTENT)
    rules = RuleSet(rules=(permission_rule(f"Read({name})", verdict, source="test"),), root=str(space.root))
    policy = Policy(mode, rules=rules)
    with pytest.raises(TellingFailure) as failed:
        planned(EditTool(space), **NEAR | {"path": name})
    assert may_tell(failed.value.plan, policy) is told
    fitting = planned(EditTool(space), path=name, old=SECRET, new="x")
    assert isinstance(decide(fitting, policy, tool="edit"), Deny) == (verdict == "deny")
