"""Answers from an inbox: what one grants must be among what the question offers."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.errors import UsageError
from holdfast.fleet.record import InboxRow
from holdfast.fleet.worker.inbox_approvals import InboxApprovals
from holdfast.questions import ApprovalAnswer
from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import Confined
from holdfast.tools.approval.question import question_of
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

LEVELS: tuple[Confined, ...] = ("read", "workspace", "network")


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("asking must not run")


def planned(*, leaves: str = "", levels: tuple[Confined, ...] = LEVELS) -> Plan:
    return Plan(effect="execute", title="run", run=_never, command="make", levels=levels, leaves=leaves)


async def answered(plan: Plan, body: dict[str, object]) -> ApprovalAnswer:
    approvals = InboxApprovals(lambda: None, lambda plan, why: question_of(plan, mode="ask", why=why).choices)
    asking = asyncio.ensure_future(approvals(CallPart(id="c1", name="bash", arguments="{}"), plan, "why"))
    await asyncio.sleep(0)
    try:
        approvals.answer(InboxRow(id=1, session="s", kind="answer", body={"call": "c1", "allowed": True, **body}))
        return await asking
    finally:
        asking.cancel()


@pytest.mark.parametrize("level", ["workspace", "outside"])
def test_an_answer_grants_a_level_that_is_offered(level: str) -> None:
    assert asyncio.run(answered(planned(leaves="why"), {"level": level})).level == level


@pytest.mark.parametrize("level", ["network", "everything", "read"])
def test_no_answer_grants_a_level_that_is_not_offered(level: str) -> None:
    with pytest.raises(UsageError, match="level"):
        asyncio.run(answered(planned(leaves="why"), {"level": level}))


def test_where_nothing_is_confined_no_level_is_granted() -> None:
    with pytest.raises(UsageError, match="does not offer it"):
        asyncio.run(answered(planned(levels=()), {"level": "outside"}))
    assert asyncio.run(answered(planned(levels=()), {})).level == ""
