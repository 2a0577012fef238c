"""Answers from an inbox: what one grants must be among what the question offers."""

from __future__ import annotations

import asyncio

import pytest
from holdfast.fleet.worker.inbox_approvals import InboxApprovals

from holdfast.errors import UsageError
from holdfast.fleet.record import InboxRow
from holdfast.questions import ALL_ANSWERS, ApprovalAnswer, ChoiceName, QuestionRules
from holdfast.tool_calls import Confined
from holdfast.tools.approval.question import question_of
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

LEVELS: tuple[Confined, ...] = ("read", "workspace", "network")


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("asking must not run")


def planned(*, leaves: str = "", levels: tuple[Confined, ...] = LEVELS) -> Plan:
    return Plan(effect="execute", title="run", run=_never, command="make", levels=levels, leaves=leaves)


async def answered(plan: Plan, body: dict[str, object], rules: QuestionRules = ALL_ANSWERS) -> ApprovalAnswer:
    approvals = InboxApprovals(lambda: None)
    question = question_of(plan, mode="ask", call="c1", rules=rules)
    asking = asyncio.ensure_future(approvals(question, plan))
    await asyncio.sleep(0)
    try:
        assert approvals.open_questions == ("c1",)
        approvals.answer(InboxRow(id=1, session="s", kind="answer", body={"question": "c1", **body}))
        assert approvals.open_questions == ()
        return await asking
    finally:
        asking.cancel()


@pytest.mark.parametrize("choice", ["inside", "outside", "no", ""])
def test_a_choice_that_is_offered_is_the_answer(choice: ChoiceName) -> None:
    assert asyncio.run(answered(planned(leaves="why"), {"choice": choice})) == ApprovalAnswer(choice)


@pytest.mark.parametrize("choice", ["once", "everything", "free", "option1"])
def test_a_choice_that_is_not_offered_is_refused(choice: str) -> None:
    with pytest.raises(UsageError, match=r"[Cc]hoice"):
        asyncio.run(answered(planned(leaves="why"), {"choice": choice}))


@pytest.mark.parametrize("more", [{"allowed": True}, {"remember": "project"}, {"mode": "yolo"}, {"level": "outside"}])
def test_what_an_answer_grants_is_in_the_question_alone(more: dict[str, object]) -> None:
    assert asyncio.run(answered(planned(levels=()), {"choice": "once", **more})) == ApprovalAnswer("once")


def test_where_nothing_is_confined_no_level_is_granted() -> None:
    with pytest.raises(UsageError, match="'outside' is not offered"):
        asyncio.run(answered(planned(levels=()), {"choice": "outside"}))


def test_an_answer_for_the_folder_is_refused_where_it_is_not_offered() -> None:
    with pytest.raises(UsageError, match="'project' is not offered"):
        asyncio.run(answered(planned(levels=()), {"choice": "project"}, QuestionRules(project=False)))


def test_marks_are_options() -> None:
    with pytest.raises(UsageError, match="'once' is not an option"):
        asyncio.run(answered(planned(levels=()), {"choice": "once", "marked": ["once"]}))
