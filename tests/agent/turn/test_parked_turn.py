"""A turn that waits for the user is parked without an end, and resumed elsewhere when they answer."""

from __future__ import annotations

import asyncio

from agent_harness import Rig, says, waits
from holdfast.agent.turn.parked_turn import park
from holdfast.questions import ApprovalAnswer, Question
from holdfast.session.journal.entries import ApprovalAsked, CallEnded, TurnEnded
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tools.tool import Plan


class SilentUser:
    """Never answers."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()

    async def __call__(self, question: Question, plan: Plan) -> ApprovalAnswer:
        del question, plan
        self.reached.set()
        await asyncio.Event().wait()
        raise AssertionError


async def yes(question: Question, plan: Plan) -> ApprovalAnswer:
    del question, plan
    return ApprovalAnswer("once")


async def test_a_parked_turn_has_no_end_and_resumes_when_the_user_answers() -> None:
    user = SilentUser()
    first = Rig(ScriptedModel([[Call("act", "{}")]]), [says("act", effect="execute")], mode="ask", ask=user)
    turn = asyncio.create_task(first.agent.run("do it"))
    assert not park(first.agent), "nothing is asked yet"
    await user.reached.wait()
    assert park(first.agent)
    await first.agent.close()
    await turn
    assert isinstance(first.entries[-1], ApprovalAsked)
    assert not any(isinstance(entry, TurnEnded | CallEnded) for entry in first.entries)

    store = MemoryStore()
    store.append(first.entries, expected=0)
    again = Rig(ScriptedModel([[Say("all done")]]), [says("act", effect="execute")], mode="ask", ask=yes, store=store)
    ended = await again.agent.resume_turn()
    assert ended is not None
    assert ended.cause == "finished"
    assert [entry.outcome for entry in again.entries if isinstance(entry, CallEnded)] == ["ok"]


async def test_a_turn_in_which_a_call_runs_is_not_parked() -> None:
    started = asyncio.Event()
    rig = Rig(ScriptedModel([[Call("wait", "{}")], [Say("stopped")]]), [waits("wait", started=started)])
    turn = asyncio.create_task(rig.agent.run("do it"))
    await started.wait()
    assert not park(rig.agent)
    rig.agent.stop()
    assert (await turn).cause == "user"
