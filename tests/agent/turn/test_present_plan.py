"""A plan that the model presents: the user always decides, and what they decided holds after a crash."""

from __future__ import annotations

import json

import pytest

from agent_harness import WITNESSES, Rig, opened
from holdfast.errors import ToolFailed
from holdfast.questions import ApprovalAnswer
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallStarted,
    Entry,
    ModeChanged,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
)
from holdfast.session.journal.mode_changes import resumed_mode
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionToolbox
from holdfast.tool_calls import Mode
from holdfast.tools.approval.decision import Ask, Policy, decide
from holdfast.tools.builtin.present_plan import PresentPlanTool
from holdfast.tools.tool import Plan

ALL: tuple[Mode, ...] = ("ask", "accept-edits", "plan", "yolo")
PLAN: dict[str, object] = {"plan": "# Fix it\n\n1. Change `a.py`."}
FREE = ApprovalAnswer(allowed=True, mode="accept-edits")


def planner() -> FunctionToolbox:
    return FunctionToolbox([PresentPlanTool()])


class User:
    """Answers, and keeps what was asked."""

    def __init__(self, *answers: ApprovalAnswer) -> None:
        self.answers = list(answers)
        self.calls: list[str] = []

    async def __call__(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del why
        assert plan.presents
        self.calls.append(call.id)
        return self.answers.pop(0)


def planning(mode: Mode, user: User | None, **more: object) -> Rig:
    model = ScriptedModel([[Call("present_plan", PLAN)], [Say("so be it")]])
    return Rig(model, mode=mode, ask=user, toolbox=planner(), **more)  # pyright: ignore[reportArgumentType] - a store


def ended_call(rig: Rig) -> CallEnded:
    (ended,) = [entry for entry in rig.entries if isinstance(entry, CallEnded)]
    return ended


@pytest.mark.parametrize("mode", ALL)
def test_a_plan_is_asked_about_in_every_mode(mode: Mode) -> None:
    plan = PresentPlanTool().plan("c", json.dumps(PLAN))
    assert plan.effect == "read"
    assert isinstance(decide(plan, Policy(mode)), Ask)


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("to", ["accept-edits", "ask"])
async def test_an_approved_plan_sets_the_mode_before_its_result(mode: Mode, to: Mode) -> None:
    user = User(ApprovalAnswer(allowed=True, mode=to))
    rig = planning(mode, user)
    await rig.agent.run("go")
    assert len(user.calls) == 1
    assert ended_call(rig).outcome == "ok"
    assert ended_call(rig).text.startswith(f"The user approved this plan. Mode: {to} (")
    kinds = [type(entry) for entry in rig.entries]
    assert kinds.index(ApprovalAnswered) + 1 == kinds.index(ModeChanged) < kinds.index(CallEnded)
    assert rig.agent.mode == rig.agent.conversation.mode == to
    (together,) = [each for each in WITNESSES[-1].appends if any(isinstance(entry, ApprovalAnswered) for entry in each)]
    assert [type(entry) for entry in together] == [ApprovalAnswered, ModeChanged]  # no crash comes between them


async def test_approved_without_a_mode_a_plan_leaves_plan_mode_and_asks() -> None:
    rig = planning("plan", User(ApprovalAnswer(allowed=True)))
    await rig.agent.run("go")
    assert rig.agent.mode == "ask"
    assert "approved this plan. Mode: ask" in ended_call(rig).text


@pytest.mark.parametrize("mode", ALL)
async def test_a_plan_that_is_not_approved_changes_nothing(mode: Mode) -> None:
    rig = planning(mode, User(ApprovalAnswer(allowed=False, reason="smaller steps")))
    await rig.agent.run("go")
    assert (ended_call(rig).outcome, rig.agent.mode) == ("denied", mode)
    assert "did not approve this plan" in ended_call(rig).text
    assert "They said: smaller steps" in ended_call(rig).text
    assert not any(isinstance(entry, ModeChanged | CallStarted) for entry in rig.entries)


async def test_leaving_plan_mode_is_no_approval() -> None:
    rig = planning("plan", User(ApprovalAnswer(allowed=False, mode="ask")))
    await rig.agent.run("go")
    assert (ended_call(rig).outcome, rig.agent.mode, rig.agent.conversation.mode) == ("denied", "ask", "ask")
    assert "did not approve this plan and left plan mode" in ended_call(rig).text


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("on_approval", ["deny", "stop"])
async def test_where_no_user_can_be_asked_the_plan_is_the_result(mode: Mode, on_approval: str) -> None:
    rig = planning(mode, None, on_approval=on_approval)
    ended = await rig.agent.run("go")
    assert ended.cause == "finished"
    assert ended_call(rig).outcome == "denied"
    assert ended_call(rig).text.startswith("Not approved: no user can be asked in this run")
    assert rig.agent.mode == mode


def crashed(*more: Entry) -> MemoryStore:
    """Return a session that died at a plan."""
    call = CallPart(id="dead00000", name="present_plan", arguments=json.dumps(PLAN))
    store = MemoryStore()
    journal = [
        opened(),
        PromptAccepted(turn=1, text="plan it"),
        RequestStarted(step=1, attempt=1, model="openai-chat:scripted"),
        ResponseEnded(step=1, model="openai-chat:scripted", parts=(call,), usage=Usage(), finish="calls"),
        *more,
    ]
    store.append(journal, expected=0)
    return store


ASKED = ApprovalAsked(call="dead00000", why="The model presents a plan.")


@pytest.mark.parametrize("mode", ALL)
async def test_a_plan_open_at_a_crash_is_asked_about_again_once(mode: Mode) -> None:
    user = User(FREE)
    rig = Rig(ScriptedModel([[Say("done")]]), mode=mode, ask=user, toolbox=planner(), store=crashed(ASKED))
    await rig.agent.resume_turn()
    assert user.calls == ["dead00000"]
    assert sum(isinstance(entry, ApprovalAsked) for entry in rig.entries) == 1
    assert (ended_call(rig).outcome, rig.agent.mode) == ("ok", "accept-edits")


async def test_a_mode_answered_before_a_crash_holds_after_it() -> None:
    answered = (ASKED, ApprovalAnswered(call="dead00000", allowed=True), ModeChanged(mode="accept-edits", why="plan"))
    rig = Rig(ScriptedModel([[Say("done")]]), mode="ask", ask=User(), toolbox=planner(), store=crashed(*answered))
    rig.agent.permissions.resume(chosen=False)
    assert rig.agent.mode == "accept-edits"
    await rig.agent.run("go on")
    assert ended_call(rig).outcome != "ok", "nothing says that the model was told"


@pytest.mark.parametrize("mode", ["ask", "accept-edits", "plan"])
def test_a_resumed_session_keeps_its_mode(mode: Mode) -> None:
    assert resumed_mode(mode, "ask", chosen=False) == mode
    assert resumed_mode(mode, "yolo", chosen=True) == "yolo"
    assert resumed_mode(None, "plan", chosen=False) == "plan"


@pytest.mark.parametrize("run", ["ask", "accept-edits", "plan"])
def test_yolo_is_not_carried_over(run: Mode) -> None:
    assert resumed_mode("yolo", run, chosen=False) == run


async def test_the_mode_that_the_user_chooses_is_journalled_once() -> None:
    rig = planning("accept-edits", User())
    rig.agent.mode = "ask"
    rig.agent.mode = "ask"
    assert [entry for entry in rig.entries if isinstance(entry, ModeChanged)] == [ModeChanged(mode="ask")]
    assert rig.new_agent().conversation.mode == "ask"


def test_a_blank_plan_is_refused() -> None:
    with pytest.raises(ToolFailed, match="blank"):
        PresentPlanTool().plan("c", '{"plan": " \\n"}')
