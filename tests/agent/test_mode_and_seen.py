"""What holds at the moment it counts: the mode when an answer comes, and a file as an edit left it before a crash."""

from __future__ import annotations

import pytest

from agent_harness import Rig, opened, says
from evidence_journals import SEEN, edits, notes, reads
from holdfast.questions import ApprovalAnswer, Question
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    CallEnded,
    CallStarted,
    Entry,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
)
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionToolbox
from holdfast.tool_calls import FileChange, FileSeen, Mode, Remember
from holdfast.tools.tool import Plan


@pytest.mark.parametrize(
    ("mode", "outcome"), [("plan", "denied"), ("ask", "ok"), ("accept-edits", "ok"), ("yolo", "ok")]
)
@pytest.mark.parametrize("effect", ["write", "execute"])
@pytest.mark.parametrize("remember", ["", "session"])
async def test_a_yes_is_judged_by_the_mode_that_holds_when_it_is_given(
    mode: Mode, outcome: str, effect: str, remember: Remember
) -> None:
    async def ask(question: Question, plan: Plan) -> ApprovalAnswer:
        del plan
        rig.agent.mode = mode
        return (question.choice(remember) or question.choices[0]).answer()

    rig = Rig(
        ScriptedModel([[Call("act", {}), Call("act", {})], [Say("ok")]]),
        [says("act", effect=effect)],
        mode="ask",
        ask=ask,
    )
    await rig.agent.run("go")
    ended = [entry for entry in rig.entries if isinstance(entry, CallEnded)]
    assert [each.outcome for each in ended] == [outcome] * 2
    assert [each.allowed for each in rig.entries if isinstance(each, ApprovalAnswered)][:1] == [True]
    assert any(isinstance(entry, CallStarted) for entry in rig.entries) == (outcome == "ok")
    if outcome == "denied":
        assert ended[0].text.startswith("Plan mode allows only reading: ")


async def test_an_answer_sets_the_mode_of_the_session_once_it_is_journalled() -> None:
    async def ask(question: Question, plan: Plan) -> ApprovalAnswer:
        del question, plan
        assert rig.agent.mode == "ask"
        return ApprovalAnswer("edits")

    edit = edits(FileChange(path="b.py", before=None, after="d" * 64))
    rig = Rig(ScriptedModel([[Call("edits", {}), Call("edits", {})], [Say("ok")]]), [edit], mode="ask", ask=ask)
    await rig.agent.run("go")
    (answered,) = [entry for entry in rig.entries if isinstance(entry, ApprovalAnswered)]
    assert (answered.allowed, answered.mode) == (True, "accept-edits")
    assert (rig.agent.mode, rig.agent.conversation.mode) == ("accept-edits", "accept-edits")
    ended = [entry.outcome for entry in rig.entries if isinstance(entry, CallEnded)]
    assert ended == ["ok", "ok"], "the second edit is not asked about"


LANDED = FileChange(path="a.py", before=SEEN.sha256, after="c" * 64)
AFTER = FileSeen(path="a.py", size=9, modified=5, sha256=LANDED.after or "")


def crashed_in_an_edit() -> MemoryStore:
    """Return a session that died between an edit of a file that its model had read and the record of it."""
    read, edit = (CallPart(id=f"dead0000{n}", name=name, arguments="{}") for n, name in enumerate(("reads", "edits")))
    entries: list[Entry] = [opened(), PromptAccepted(turn=0, text="edit it")]
    for step, call in enumerate((read, edit)):
        entries.append(RequestStarted(step=step, attempt=1, model="openai-chat:scripted"))
        entries.append(
            ResponseEnded(step=step, model="openai-chat:scripted", parts=(call,), usage=Usage(), finish="calls")
        )
        if call is read:
            entries.append(CallStarted(call=read.id, effect="read"))
            entries.append(CallEnded(call=read.id, outcome="ok", text="1\tone", snapshots=(SEEN,)))
    entries.append(CallStarted(call=edit.id, effect="write", changes=(LANDED,)))
    store = MemoryStore()
    store.append(entries, expected=0)
    return store


@pytest.mark.parametrize(("check", "seen"), [("after", AFTER), ("before", None), ("other", None)])
async def test_an_edit_that_landed_before_a_crash_is_known_as_seen(check: str, seen: FileSeen | None) -> None:
    further = FileChange(path="a.py", before=LANDED.after, after="d" * 64)
    rig = Rig(ScriptedModel([[Call("edits", {})], [Say("done")]]), store=crashed_in_an_edit())
    rig.toolbox = FunctionToolbox(
        [reads(SEEN), edits(further)],
        file_checks={"a.py": check},  # pyright: ignore[reportArgumentType] - one of the four
        files={"a.py": AFTER if check == "after" else SEEN},
    )
    rig.agent = rig.new_agent()
    await rig.agent.run("go on")
    (settled,) = [entry for entry in rig.entries if isinstance(entry, CallEnded) and entry.call == "dead00001"]
    assert (settled.outcome, settled.snapshots) == ("interrupted", () if seen is None else (seen,))
    assert notes(rig) == [], "nobody changed it behind the model's back"
    last = [entry.outcome for entry in rig.entries if isinstance(entry, CallEnded)][-1]
    assert last == ("ok" if check == "after" else "failed"), "an edit on top of what landed is one of what was seen"
