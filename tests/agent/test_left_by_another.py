"""What an earlier process left is looked for before anything is said of it: its processes, and edits that landed."""

from __future__ import annotations

from collections.abc import Mapping

from agent_harness import Rig, opened
from holdfast.agent.recovery.evidence import MAY_RUN
from holdfast.session.journal.entries import CallEnded, CallStarted, Entry, PromptAccepted, Repaired, ResponseEnded
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.journal.store import Finding, MemoryStore, Reading
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tool_calls import FileChange, FileSeen, ProcessId
from holdfast.tools.tool import ToolContext, ToolOutput

LANDED = FileChange(path="a.py", before="a" * 64, after="b" * 64)
NEXT = FileChange(path="a.py", before="b" * 64, after="c" * 64)


def journal(started: CallStarted) -> MemoryStore:
    """Return that of a process which died while a call ran."""
    entries: list[Entry] = [
        opened(),
        PromptAccepted(turn=1, text="do it"),
        ResponseEnded(step=1, model="m", parts=(CallPart(id="A", name="edit", arguments="{}"),), usage=Usage()),
        started,
    ]
    store = MemoryStore()
    store.append(entries, expected=0)
    return store


class Restless(FunctionToolbox):
    """A toolbox that still has a process of before, and does not see the others go."""

    async def wait_for_exit(self, commands: Mapping[str, ProcessId | None]) -> bool:
        return "A.out" not in commands

    async def reap(self, calls: Mapping[str, ProcessId | None]) -> str:
        return "1 process was ended" if "A" in calls else ""


async def test_the_processes_of_an_earlier_one_are_looked_for_and_told() -> None:
    store = journal(CallStarted(call="A", effect="execute", spool="A.out"))
    rig = Rig(ScriptedModel(), store=store, toolbox=Restless(()))
    await rig.agent.recover()
    (ended,) = [entry for entry in rig.entries if isinstance(entry, CallEnded)]
    assert "1 process was ended" in ended.text
    assert MAY_RUN in ended.text


async def test_an_edit_that_landed_before_a_crash_is_known_and_may_be_gone_on_from() -> None:
    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        return ToolOutput(text="edited")

    seen = FileSeen(path="a.py", size=3, sha256="b" * 64)
    toolbox = FunctionToolbox(
        [FunctionTool("edit", "write", run, change=NEXT)], file_checks={"a.py": "after"}, files={"a.py": seen}
    )
    store = journal(CallStarted(call="A", effect="write", changes=(LANDED,)))
    rig = Rig(ScriptedModel([[Call("edit", {})], [Say("done")]]), store=store, toolbox=toolbox)
    await rig.agent.recover()
    assert rig.agent.journal.fold.files["a.py"] == (seen,)
    await rig.agent.run("go on")
    assert [entry.outcome for entry in rig.entries if isinstance(entry, CallEnded)] == ["interrupted", "ok"]


class Damaged(MemoryStore):
    """A journal of which something could not be read."""

    def read(self) -> Reading:
        return Reading(super().read().records, (Finding(seq=2, what="Entry 2 is missing."),))


async def test_damage_is_reported_once_however_often_the_session_is_opened() -> None:
    rig = Rig(ScriptedModel(), store=Damaged())
    for _ in range(3):
        await rig.new_agent().recover()
    findings = [entry.findings for entry in rig.entries if isinstance(entry, Repaired)]
    assert findings == [("Entry 2 is missing.",)]
