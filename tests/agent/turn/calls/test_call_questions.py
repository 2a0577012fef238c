"""The question about a call: made once, journalled before it is shown, answered with one of its choices alone."""

from __future__ import annotations

import pytest

from agent_harness import Rig, says
from holdfast.errors import UsageError
from holdfast.questions import ApprovalAnswer, Question, QuestionRules
from holdfast.session.journal.entries import ApprovalAnswered, ApprovalAsked, CallEnded, CallStarted, TurnEnded
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool
from holdfast.tool_calls import FileChange
from holdfast.tools.tool import Plan, ToolContext, ToolOutput


class User:
    """Gives the same answer to each question, and keeps what was asked, and the journal as it then was."""

    def __init__(self, answer: ApprovalAnswer) -> None:
        self.answer = answer
        self.asked: list[Question] = []
        self.rig: Rig | None = None

    async def __call__(self, question: Question, plan: Plan) -> ApprovalAnswer:
        del plan
        assert self.rig is not None
        journalled = [entry.question for entry in self.rig.entries if isinstance(entry, ApprovalAsked)]
        assert journalled[-1] == question, "it is in the journal before it is shown"
        self.asked.append(question)
        return self.answer


def edits(path: str) -> FunctionTool:
    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        return ToolOutput(text="done")

    return FunctionTool("edit", "write", run, change=FileChange(path=path, before=None, after="a" * 64))


def asking(user: User, tool: FunctionTool, *, store: MemoryStore | None = None) -> Rig:
    script = [[Call(tool.name, {})], [Say("done")]] if store is None else [[Say("done")]]
    rig = Rig(ScriptedModel(script), [tool], mode="ask", ask=user, store=store or MemoryStore())
    user.rig = rig
    return rig


async def test_what_the_choice_grants_is_in_the_question() -> None:
    user = User(ApprovalAnswer("session"))
    rig = asking(user, edits("src/a.py"))
    await rig.agent.run("go")
    (question,) = user.asked
    (answered,) = [entry for entry in rig.entries if isinstance(entry, ApprovalAnswered)]
    assert answered.remembered == question.patterns == rig.agent.conversation.allowed
    assert question.patterns


@pytest.mark.parametrize(
    "answer", [ApprovalAnswer("free"), ApprovalAnswer("once", marked=("once",)), ApprovalAnswer("outside")]
)
async def test_an_answer_that_was_not_offered_ends_the_turn_and_nothing_runs(answer: ApprovalAnswer) -> None:
    rig = asking(User(answer), says("act", effect="execute"))
    with pytest.raises(UsageError, match="not"):
        await rig.agent.run("go")
    assert not any(isinstance(entry, ApprovalAnswered | CallStarted) for entry in rig.entries)
    assert [entry.outcome for entry in rig.entries if isinstance(entry, CallEnded)] == ["not_started"]
    assert isinstance(rig.entries[-1], TurnEnded)


async def test_a_closed_question_allows_nothing() -> None:
    rig = asking(User(ApprovalAnswer()), says("act", effect="execute"))
    await rig.agent.run("go")
    assert rig.outcomes == {"act": "denied"}


async def test_a_place_leaves_out_what_it_may_not_offer() -> None:
    user = User(ApprovalAnswer("once"))
    rig = asking(user, edits("src/a.py"))
    rig.agent.permissions.offered = QuestionRules(project=False)
    await rig.agent.run("go")
    assert [each.name for each in user.asked[0].choices] == ["once", "session", "edits", "no"]


def at_the_question(rig: Rig) -> MemoryStore:
    """Return the journal as a process leaves it that dies at the question."""
    entries = rig.entries
    place = next(at for at, entry in enumerate(entries) if isinstance(entry, ApprovalAsked))
    store = MemoryStore()
    store.append(entries[: place + 1], expected=0)
    return store


@pytest.mark.parametrize(("path", "times"), [("src/a.py", 1), ("other/b.py", 2)])
async def test_a_plan_that_is_another_after_a_crash_is_asked_about_again(path: str, times: int) -> None:
    first = asking(User(ApprovalAnswer("once")), edits("src/a.py"))
    await first.agent.run("go")
    user = User(ApprovalAnswer("session"))
    again = asking(user, edits(path), store=at_the_question(first))
    await again.agent.resume_turn()
    asked = [entry.question for entry in again.entries if isinstance(entry, ApprovalAsked)]
    assert len(asked) == times
    assert user.asked == asked[-1:]
    assert again.agent.conversation.allowed == asked[-1].patterns, "what was shown is what is allowed"


async def test_a_call_that_the_policy_allows_after_a_crash_is_asked_about_anyway() -> None:
    first = asking(User(ApprovalAnswer("once")), says("act", effect="execute"))
    await first.agent.run("go")
    user = User(ApprovalAnswer("no"))
    again = asking(user, says("act", effect="execute"), store=at_the_question(first))
    again.agent.permissions.mode = "yolo"
    await again.agent.resume_turn()
    assert len(user.asked) == 1
    assert sum(isinstance(entry, ApprovalAsked) for entry in again.entries) == 1
    assert again.outcomes == {"act": "denied"}
