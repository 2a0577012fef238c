"""Answers from an inbox: what one grants must be among what the question offers."""

from __future__ import annotations

import pytest
from memory_driving import Driving

from holdfast.errors import UsageError
from holdfast.fleet.record import InboxRow
from holdfast.fleet.worker.inbox_commands import command_of
from holdfast.fleet.worker.session_driver import DriveRules
from holdfast.host.commands import Answer
from holdfast.questions import ALL_ANSWERS, ApprovalAnswer, ChoiceName, QuestionRules
from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Say
from holdfast.tool_calls import Confined
from holdfast.tools.approval.question import question_of
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

LEVELS: tuple[Confined, ...] = ("read", "workspace", "network")


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("asking must not run")


def planned(*, leaves: str = "", levels: tuple[Confined, ...] = LEVELS) -> Plan:
    return Plan(effect="execute", title="run", run=_never, command="make", levels=levels, leaves=leaves)


def answered(plan: Plan, body: dict[str, object], rules: QuestionRules = ALL_ANSWERS) -> ApprovalAnswer:
    """Return the answer of a row that its question takes, as the host checks it."""
    command = command_of(InboxRow(id=1, session="s", kind="answer", body={"question": "c1", **body}), "")
    assert isinstance(command, Answer)
    answer = ApprovalAnswer(command.choice, command.words, command.marked)
    question_of(plan, mode="ask", call="c1", rules=rules).chosen(answer)
    return answer


@pytest.mark.parametrize("choice", ["inside", "outside", "no", ""])
def test_a_choice_that_is_offered_is_the_answer(choice: ChoiceName) -> None:
    assert (answered(planned(leaves="why"), {"choice": choice})) == ApprovalAnswer(choice)


@pytest.mark.parametrize("choice", ["once", "everything", "free", "option1"])
def test_a_choice_that_is_not_offered_is_refused(choice: str) -> None:
    with pytest.raises(UsageError, match=r"[Cc]hoice"):
        (answered(planned(leaves="why"), {"choice": choice}))


@pytest.mark.parametrize("more", [{"allowed": True}, {"remember": "project"}, {"mode": "yolo"}, {"level": "outside"}])
def test_what_an_answer_grants_is_in_the_question_alone(more: dict[str, object]) -> None:
    assert (answered(planned(levels=()), {"choice": "once", **more})) == ApprovalAnswer("once")


def test_where_nothing_is_confined_no_level_is_granted() -> None:
    with pytest.raises(UsageError, match="'outside' is not offered"):
        (answered(planned(levels=()), {"choice": "outside"}))


def test_an_answer_for_the_folder_is_refused_where_it_is_not_offered() -> None:
    with pytest.raises(UsageError, match="'project' is not offered"):
        (answered(planned(levels=()), {"choice": "project"}, QuestionRules(project=False)))


def test_marks_are_options() -> None:
    with pytest.raises(UsageError, match="'once' is not an option"):
        (answered(planned(levels=()), {"choice": "once", "marked": ["once"]}))


async def test_of_ten_rows_that_answer_one_question_one_counts_and_the_others_are_refused() -> None:
    driving = Driving((Call("work", {"name": "x"}),), (Say("done"),))
    driving.record.ask("prompt", text="go")
    assert await driving.run() == "released"
    (asked,) = [entry for entry in driving.record.journal if isinstance(entry, e.ApprovalAsked)]
    rows = [
        driving.record.ask("answer", question=asked.call, choice="no" if number else "once") for number in range(10)
    ]
    driving.rules = DriveRules(park_after=None)
    assert await driving.run() == "released"
    assert driving.effects == ["x"]
    (answered_once,) = [entry for entry in driving.record.journal if isinstance(entry, e.ApprovalAnswered)]
    assert answered_once.choice == "once"
    first, *others = [driving.record.seq_of(row) for row in rows]
    assert isinstance(first, int)
    assert len(others) == 9
    for told in others:
        assert "no open question" in str(told)
