"""A run where no user can be asked: calls that need approval are denied, and the turn goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from agent_harness import Rig, says
from holdfast.questions import ApprovalAnswer
from holdfast.session.journal.entries import ApprovalAnswered, ApprovalAsked, CallEnded, CallStarted, Entry
from holdfast.session.journal.parts import CallPart
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tool_calls import Mode
from holdfast.tools.tool import Plan
from laws import law


def rig(script: Sequence[Sequence[Call | Say]], *, mode: Mode = "ask", store: MemoryStore | None = None) -> Rig:
    tools = [says("look"), says("act", effect="execute")]
    return Rig(ScriptedModel(script), tools, mode, on_approval="deny", store=store or MemoryStore())


async def test_a_call_that_needs_approval_is_denied_with_its_reason_and_the_turn_goes_on() -> None:
    unattended = rig([[Call("look", {}), Call("act", {}), Call("look", {})], [Say("done without it")]])
    ended = await unattended.agent.run("do it")
    assert ended.cause == "finished"
    assert unattended.agent.conversation.answer == "done without it"
    denied = unattended.results()["act"]
    assert denied.outcome == "denied"
    assert denied.text.startswith("Denied: The call 'act' runs a command. It needs the user's approval, and no user")
    assert "had no effect" in denied.text
    assert [entry.call for entry in unattended.entries if isinstance(entry, CallStarted)] == [
        entry.call for entry in unattended.entries if isinstance(entry, CallEnded) and entry.outcome == "ok"
    ]


async def test_question_and_denial_are_one_append_so_that_a_crash_leaves_no_question() -> None:
    class Counting(MemoryStore):
        def __init__(self) -> None:
            super().__init__()
            self.appends: list[list[type]] = []

        def append(self, entries: Sequence[Entry], *, expected: int) -> int:
            self.appends.append([type(entry) for entry in entries])
            return super().append(entries, expected=expected)

    store = Counting()
    await rig([[Call("act", {})], [Say("so be it")]], store=store).agent.run("do it")
    assert [ApprovalAsked, CallEnded] in store.appends


async def test_what_the_user_allowed_before_runs_and_what_the_mode_allows_too() -> None:
    async def yes(call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del call, plan, why
        return ApprovalAnswer(allowed=True)

    attended = Rig(ScriptedModel([[Call("act", {})], [Say("done")]]), [says("act", effect="execute")], "ask", yes)
    attended.on_approval = "deny"
    attended.agent = attended.new_agent()
    await attended.agent.run("do it")
    assert attended.outcomes == {"act": "ok"}
    free = rig([[Call("act", {})], [Say("done")]], mode="yolo")
    await free.agent.run("do it")
    assert free.outcomes == {"act": "ok"}


@law()
@given(st.lists(st.lists(st.sampled_from(["look", "act"]), min_size=1, max_size=4), max_size=4))
def test_no_call_that_needs_approval_starts_and_the_turn_ends_by_itself(steps: list[list[str]]) -> None:
    asyncio.run(_denies(steps))


async def _denies(steps: list[list[str]]) -> None:
    calls = [
        [Call(name, {"at": (step, place)}) for place, name in enumerate(names)] for step, names in enumerate(steps)
    ]
    unattended = rig([*calls, [Say("done")]])
    assert (await unattended.agent.run("do it")).cause == "finished"
    called = [name for names in steps for name in names]
    fates = [entry.outcome for entry in unattended.entries if isinstance(entry, CallEnded)]
    assert sorted(fates) == sorted("ok" if name == "look" else "denied" for name in called)
    assert len([entry for entry in unattended.entries if isinstance(entry, ApprovalAsked)]) == called.count("act")
    assert not any(isinstance(entry, ApprovalAnswered) for entry in unattended.entries)
