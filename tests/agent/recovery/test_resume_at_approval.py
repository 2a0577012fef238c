"""A crash while the user is asked about a call: they are asked again, once, and the turn goes on."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from agent_harness import Rig, opened, says, waits
from holdfast.questions import ApprovalAnswer, Question
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallStarted,
    Entry,
    PromptAccepted,
    Queued,
    RequestStarted,
    ResponseEnded,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionToolbox
from holdfast.tool_calls import FileSeen
from holdfast.tools.approval.decision import Ask, Policy, decide
from holdfast.tools.approval.question import question_of
from holdfast.tools.tool import Plan

MODEL = "openai-chat:scripted"


def asked(call: str) -> ApprovalAsked:
    """Return the question about a call of the tool `act`, as an agent journals it."""
    plan = says("act", effect="execute").plan(call, "{}")
    decision = decide(plan, Policy("ask"), tool="act")
    assert isinstance(decision, Ask)
    return ApprovalAsked(call=call, question=question_of(plan, mode="ask", why=decision.why, call=call))


def crashed(*more: Entry) -> list[Entry]:
    """Return the journal of a process that died after it had asked about the second of three calls."""
    calls = tuple(CallPart(id=f"dead0000{index}", name="act", arguments="{}") for index in range(3))
    return [
        opened(),
        PromptAccepted(turn=1, text="do all three"),
        RequestStarted(step=1, attempt=1, model=MODEL),
        ResponseEnded(step=1, model=MODEL, parts=calls, usage=Usage(), finish="calls"),
        CallStarted(call="dead00000", effect="execute"),
        asked("dead00001"),
        *more,
    ]


class Person:
    """A user who answers, and remembers the calls they were asked about."""

    def __init__(self, *answers: ApprovalAnswer) -> None:
        self.answers = list(answers)
        self.calls: list[str] = []

    async def __call__(self, question: Question, plan: Plan) -> ApprovalAnswer:
        del plan
        self.calls.append(question.call)
        await asyncio.sleep(0)
        return self.answers.pop(0)


def rig(person: Person | None, journal: list[Entry]) -> Rig:
    store = MemoryStore()
    store.append(journal, expected=0)
    model = ScriptedModel([[Say("all done")]])
    return Rig(model, [says("act", effect="execute")], mode="ask", ask=person, store=store)


def results(rig: Rig) -> list[tuple[str, str]]:
    last = rig.model.requests[-1].messages[-1]
    assert isinstance(last, UserMessage)
    return [(result.call, result.outcome) for result in last.results]


async def test_the_user_is_asked_again_once_and_the_turn_goes_on() -> None:
    person = Person(ApprovalAnswer("once"), ApprovalAnswer("no", words="enough"))
    again = rig(person, crashed())
    ended = await again.agent.resume_turn()
    assert ended is not None
    assert (ended.turn, ended.cause) == (1, "finished")
    assert person.calls == ["dead00001", "dead00002"]
    assert results(again) == [("dead00000", "interrupted"), ("dead00001", "ok"), ("dead00002", "denied")]
    questions = [entry.call for entry in again.entries if isinstance(entry, ApprovalAsked)]
    assert questions == ["dead00001", "dead00002"], "the question stands in the journal once"
    assert again.agent.turn is None
    assert await again.agent.resume_turn() is None
    again.model.extend([Say("yes")])
    assert (await again.agent.run("thanks")).turn == 2


@pytest.mark.parametrize("allowed", [True, False])
async def test_nothing_runs_on_an_answer_that_was_given_before_the_crash(*, allowed: bool) -> None:
    person = Person()
    again = rig(person, crashed(ApprovalAnswered(call="dead00001", allowed=allowed, reason="no")))
    assert await again.agent.resume_turn() is None
    assert [entry.call for entry in again.entries if isinstance(entry, CallStarted)] == ["dead00000"]
    outcomes = [entry.outcome for entry in again.entries if isinstance(entry, CallEnded)]
    assert outcomes == ["interrupted", "not_started", "not_started"]


async def test_what_was_asked_about_is_asked_again_whatever_the_mode() -> None:
    person = Person(ApprovalAnswer("no", words="no"))
    again = rig(person, crashed())
    again.mode = "yolo"
    again.agent = again.new_agent()
    await again.agent.resume_turn()
    assert person.calls == ["dead00001"]
    assert results(again) == [("dead00000", "interrupted"), ("dead00001", "denied"), ("dead00002", "ok")]


async def test_what_the_mode_forbids_now_is_not_asked_about() -> None:
    person = Person()
    again = rig(person, crashed())
    again.mode = "plan"
    again.agent = again.new_agent()
    await again.agent.resume_turn()
    assert person.calls == []
    assert results(again)[1:] == [("dead00001", "denied"), ("dead00002", "denied")]


async def test_changed_files_are_reported_before_the_turn_goes_on() -> None:
    class Elsewhere(FunctionToolbox):
        def current_snapshot(self, snapshot: FileSeen) -> FileSeen:
            return FileSeen(path=snapshot.path, size=2, modified=2, sha256="bb")

    journal = crashed()
    read = CallPart(id="dead00009", name="read", arguments="{}")
    seen = FileSeen(path="a.txt", size=1, modified=1, sha256="aa")
    journal[2:2] = [
        RequestStarted(step=0, attempt=1, model=MODEL),
        ResponseEnded(step=0, model=MODEL, parts=(read,), usage=Usage(), finish="calls"),
        CallEnded(call=read.id, outcome="ok", text="x", snapshots=(seen,)),
    ]
    store = MemoryStore()
    store.append(journal, expected=0)
    person = Person(ApprovalAnswer("once"), ApprovalAnswer("once"))
    box = Elsewhere([says("act", effect="execute")])
    again = Rig(ScriptedModel([[Say("all done")]]), mode="ask", ask=person, store=store, toolbox=box)
    await again.agent.resume_turn()
    last = again.model.requests[-1].messages[-1]
    assert isinstance(last, UserMessage)
    (note,) = last.texts
    assert "a.txt" in note
    again.model.extend([Say("yes")])
    await again.agent.run("go on")
    (*_, message) = again.model.requests[-1].messages
    assert isinstance(message, UserMessage)
    assert message.texts == ("go on",), "it is told once"


async def test_without_a_user_to_ask_the_turn_is_settled() -> None:
    again = rig(None, crashed())
    assert await again.agent.resume_turn() is None
    ended = again.entries[-1]
    assert isinstance(ended, TurnEnded)
    assert ended.cause == "crash"
    outcomes = [entry.outcome for entry in again.entries if isinstance(entry, CallEnded)]
    assert outcomes == ["interrupted", "not_started", "not_started"]
    assert again.model.requests == []


async def test_a_new_prompt_settles_the_turn_instead() -> None:
    person = Person()
    again = rig(person, crashed())
    assert (await again.agent.run("something else")).turn == 2
    assert person.calls == []


@pytest.mark.parametrize(
    "journal", [crashed()[:4], crashed()[:5], crashed(CallStarted(call="dead00001", effect="execute"))]
)
async def test_a_turn_that_waited_for_no_answer_is_settled(journal: list[Entry]) -> None:
    person = Person()
    again = rig(person, journal)
    assert await again.agent.resume_turn() is None
    assert person.calls == []
    assert isinstance(again.entries[-1], TurnEnded)


async def test_a_stop_at_the_question_settles_what_is_left() -> None:
    async def never(question: Question, plan: Plan) -> ApprovalAnswer:
        del question, plan
        again.agent.stop()
        await asyncio.Event().wait()
        raise AssertionError

    store = MemoryStore()
    store.append(crashed(), expected=0)
    again = Rig(ScriptedModel(), [waits("act")], mode="ask", ask=never, store=store)
    ended = await again.agent.resume_turn()
    assert ended is not None
    assert ended.cause == "user"
    outcomes = [entry.outcome for entry in again.entries if isinstance(entry, CallEnded)]
    assert outcomes == ["interrupted", "not_started", "not_started"]


async def test_what_was_queued_goes_on_waiting_for_the_turn_that_goes_on() -> None:
    person = Person(ApprovalAnswer("once"), ApprovalAnswer("once"))
    again = rig(person, crashed(Queued(id="q9", text="and then", when="later")))
    again.model.extend([Say("that too")])
    ended = await again.agent.resume_turn()
    assert ended is not None
    assert ended.turn == 2
    assert again.agent.conversation.queued == ()


async def test_a_crash_at_the_question_asked_again_asks_once_more() -> None:
    person = Person(ApprovalAnswer("once"), ApprovalAnswer("once"))
    first = rig(person, crashed())
    seen: list[list[Entry]] = []

    async def dies(question: Question, plan: Plan) -> ApprovalAnswer:
        seen.append(first.entries)
        return await person(question, plan)

    first.ask = dies
    first.agent = first.new_agent()
    await first.agent.resume_turn()
    other = Person(ApprovalAnswer("once"), ApprovalAnswer("once"))
    again = rig(other, seen[0])
    await again.agent.resume_turn()
    assert other.calls == ["dead00001", "dead00002"]
    assert results(again)[0] == ("dead00000", "interrupted")


async def test_a_turn_whose_open_call_has_lost_its_tool_is_settled_and_not_asked_again() -> None:
    journal = crashed()
    journal[0] = msgspec.structs.replace(opened(), tools=(says("act").schema, says("look").schema))
    person = Person()
    store = MemoryStore()
    store.append(journal, expected=0)
    again = Rig(
        ScriptedModel([[Call("look", {}), Call("act", {})], [Say("done")]]),
        [says("look")],
        mode="ask",
        store=store,
        ask=person,
    )
    assert not again.agent.recovery.can_resume
    assert await again.agent.resume_turn() is None
    assert person.calls == []
    ended = {each.call: each.outcome for each in again.entries if isinstance(each, CallEnded)}
    assert ended == {"dead00000": "interrupted", "dead00001": "not_started", "dead00002": "not_started"}
    await again.agent.run("go on")
    (text,) = [each.text for each in again.entries if isinstance(each, CallEnded) and "does not exist" in each.text]
    assert text.startswith("Tool 'act' does not exist (expected one of look).")  # though it is declared
