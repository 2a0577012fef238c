"""A step before a call may give it other arguments: planned, judged and journalled again, and told to the model."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent_harness import Rig
from holdfast.agent.seam import MOST_CALL_CHANGES, CallJudgement, OtherArguments, PlannedCall, Seam
from holdfast.agent.stop_cause import StopCause
from holdfast.questions import ApprovalAnswer, Question
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool
from holdfast.tool_calls import Effect
from holdfast.tools.approval.decision import Allow, Ask, Deny
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

SAFE = json.dumps({"of": "safe"})


def model() -> ScriptedModel:
    return ScriptedModel([[Call("act", {"of": "risky"})], [Say("done")]])


def act(ran: list[str], effect: Effect = "read") -> FunctionTool:
    async def run(values: dict[str, object], context: ToolContext) -> ToolOutput:
        del context
        ran.append(str(values["of"]))
        return ToolOutput(text=f"did {values['of']}")

    return FunctionTool("act", effect, run)


def safer(planned: PlannedCall) -> CallJudgement:
    del planned
    return OtherArguments(SAFE, "the test")


async def yes(question: Question, plan: Plan) -> ApprovalAnswer:
    del plan
    return ApprovalAnswer(next(each.name for each in question.choices if each.allows))


def result(rig: Rig) -> str:
    """Return what the model reads of its call."""
    (text,) = (
        each.text
        for message in rig.agent.conversation.messages
        if isinstance(message, UserMessage)
        for each in message.results
    )
    return text


async def test_it_runs_with_the_other_arguments_and_journal_and_model_have_them() -> None:
    ran: list[str] = []
    rig = Rig(model(), [act(ran)], seam=Seam(before_call=(safer,)))
    await rig.agent.run("go")
    assert ran == ["safe"]
    (started,) = (each for each in rig.entries if isinstance(each, e.CallStarted))
    assert (started.arguments, started.changed_by) == (SAFE, "the test")
    (ended,) = (each for each in rig.entries if isinstance(each, e.CallEnded))
    assert ended.text == "did safe"
    note = f"[Note from holdfast: the test changed this call before it ran. It ran with: {SAFE}]"
    assert result(rig) == f"did safe\n{note}"
    assert '"risky"' in repr(rig.agent.conversation.messages), "what the model said is sent on as it was"


async def test_the_steps_and_the_rules_judge_the_plan_that_runs() -> None:
    judged: list[str] = []

    def rules(planned: PlannedCall) -> CallJudgement:
        judged.append(planned.call.arguments)
        return Deny("not this one") if planned.call.arguments == SAFE else Allow()

    ran: list[str] = []
    rig = Rig(model(), [act(ran)], seam=Seam(before_call=(safer, rules)))
    await rig.agent.run("go")
    assert judged == [SAFE], "what came before the change is not asked about what will not run"
    assert (ran, rig.outcomes) == ([], {"act": "denied"})


async def test_the_user_is_asked_about_what_will_run() -> None:
    asked: list[str] = []

    async def ask(question: Question, plan: Plan) -> ApprovalAnswer:
        asked.append(plan.title)
        return await yes(question, plan)

    ran: list[str] = []
    seam = Seam(before_call=(safer, lambda _: Ask("Sure?")))
    rig = Rig(model(), [act(ran, "execute")], ask=ask, seam=seam)
    await rig.agent.run("go")
    assert (ran, len(asked)) == (["safe"], 1)
    kinds = [type(each) for each in rig.entries if isinstance(each, e.ApprovalAsked | e.CallStarted | e.CallEnded)]
    assert kinds == [e.ApprovalAsked, e.CallStarted, e.CallEnded]


async def test_a_change_behind_the_answer_of_the_user_runs_nothing() -> None:
    answered = asyncio.Event()

    async def ask(question: Question, plan: Plan) -> ApprovalAnswer:
        answered.set()
        return await yes(question, plan)

    def late(planned: PlannedCall) -> CallJudgement:
        return safer(planned) if answered.is_set() else Ask("Sure?")

    ran: list[str] = []
    rig = Rig(model(), [act(ran)], ask=ask, seam=Seam(before_call=(late,)))
    await rig.agent.run("go")
    assert (ran, rig.outcomes) == ([], {"act": "denied"})
    assert "the test changed the call after the user had answered. It was not run." in result(rig)


async def test_a_call_that_is_changed_again_and_again_is_denied() -> None:
    rounds: list[str] = []

    def restless(planned: PlannedCall) -> CallJudgement:
        rounds.append(planned.call.arguments)
        return OtherArguments(json.dumps({"of": str(len(rounds))}), "the test")

    ran: list[str] = []
    rig = Rig(model(), [act(ran)], seam=Seam(before_call=(restless,)))
    await rig.agent.run("go")
    assert len(rounds) == MOST_CALL_CHANGES + 1
    assert (ran, rig.outcomes) == ([], {"act": "denied"})


async def test_arguments_that_cannot_be_planned_fail_the_call_and_nothing_starts() -> None:
    ran: list[str] = []
    seam = Seam(before_call=(lambda _: OtherArguments("not JSON", "the test"),))
    rig = Rig(model(), [act(ran)], seam=seam)
    await rig.agent.run("go")
    assert (ran, rig.outcomes) == ([], {"act": "failed"})
    assert [each for each in rig.entries if isinstance(each, e.CallStarted)] == []


async def test_the_same_arguments_are_no_change() -> None:
    ran: list[str] = []
    seam = Seam(before_call=(lambda planned: OtherArguments(planned.call.arguments, "the test"),))
    rig = Rig(model(), [act(ran)], seam=seam)
    await rig.agent.run("go")
    (started,) = (each for each in rig.entries if isinstance(each, e.CallStarted))
    assert (ran, started.changed_by) == (["risky"], "")


async def test_a_stop_in_the_middle_says_what_it_ran_with() -> None:
    started = asyncio.Event()

    async def run(values: dict[str, object], context: ToolContext) -> ToolOutput:
        del values
        started.set()
        await context.stop.wait()
        return ToolOutput(text="", interrupted=True)

    rig = Rig(model(), [FunctionTool("act", "execute", run)], mode="yolo", seam=Seam(before_call=(safer,)))
    turn = asyncio.ensure_future(rig.agent.run("go"))
    await started.wait()
    rig.agent.stop(StopCause("user"))
    await turn
    assert result(rig).startswith("Interrupted: the user stopped the turn while this call was running.")
    assert result(rig).endswith(f"It ran with: {SAFE}]")


@pytest.mark.parametrize("kept", range(3, 6))
async def test_every_beginning_of_its_journal_says_what_ran(kept: int) -> None:
    """As a kill at each entry leaves it: nothing is said of a change before the call has started."""
    rig = Rig(model(), [act([])], seam=Seam(before_call=(safer,)))
    await rig.agent.run("go")
    entries = rig.entries[: kept + 1]
    has_started = any(isinstance(each, e.CallStarted) for each in entries)
    texts = [
        each.text for message in fold(entries).messages if isinstance(message, UserMessage) for each in message.results
    ]
    assert all(("It ran with:" in text) == has_started for text in texts)
    assert len(texts) == 1
