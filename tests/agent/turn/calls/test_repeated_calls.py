"""A model that repeats itself reads so, is refused, then stopped, or the user is asked. A kill changes no count."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import cycle, islice

import msgspec
import pytest

from agent_harness import FAST, Rig, says, waits
from holdfast.config.settings import Limits
from holdfast.questions import ApprovalAnswer
from holdfast.session import loop_notices
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallStarted,
    Entry,
    RequestStarted,
    ResponseEnded,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Reply, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool
from holdfast.tool_calls import RemoteCall
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

FOR_EVER = 200


def replies(*rounds: Reply, count: int = FOR_EVER) -> list[Reply]:
    """Return these replies again and again."""
    return list(islice(cycle(rounds), count))


def ended(rig: Rig) -> list[CallEnded]:
    return [entry for entry in rig.entries if isinstance(entry, CallEnded)]


def started(rig: Rig) -> int:
    return sum(isinstance(entry, CallStarted) for entry in rig.entries)


def requests(rig: Rig) -> int:
    return sum(isinstance(entry, RequestStarted) for entry in rig.entries)


def counting(name: str, texts: Sequence[str], *, effect: str = "read") -> FunctionTool:
    """Return a tool whose results are these texts, in turn."""
    left = cycle(texts)

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        return ToolOutput(text=next(left))

    return FunctionTool(name, effect, run)  # pyright: ignore[reportArgumentType] - one of the effects


class User:
    """Answers each question with these answers, in turn."""

    def __init__(self, *answers: ApprovalAnswer) -> None:
        self.asked: list[str] = []
        self._answers = iter(answers)

    async def __call__(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del call
        assert plan.question is None or [each.label for each in plan.question.options] == [
            loop_notices.GO_ON,
            loop_notices.END,
        ]
        self.asked.append(why)
        return next(self._answers)


YES = ApprovalAnswer(allowed=True, chosen=(loop_notices.GO_ON,))
NO = ApprovalAnswer(allowed=True, chosen=(loop_notices.END,))


@pytest.mark.parametrize(
    "call",
    [Call("look", {}), Call("act", {}), Call("nothing", {}), Call("look", "{not json")],
    ids=["a read", "an act", "no such tool", "no JSON"],
)
async def test_the_same_call_is_noted_then_refused_then_ends_the_turn(call: Call) -> None:
    rig = Rig(ScriptedModel(replies([call])), [says("look"), says("act", effect="execute")])
    end = await rig.agent.run("go")
    assert (end.cause, end.reason, requests(rig)) == ("loop", "error", 9)
    assert f"{call.name}, 9 times in a row" in end.detail
    calls = ended(rig)
    assert [each.repeats for each in calls] == [0, 0, 3, 4, 5, 6, 7, 8, 0]
    assert calls[1].text in calls[2].text
    assert "same as the last 2 before it" in calls[2].text
    assert {each.outcome for each in calls[5:]} == {"not_started"}
    assert f"5 times in a row with the same result, so it was not made again. {'Do something else'}" in calls[5].text
    assert calls[0].text in calls[5].text
    assert started(rig) in (0, 5)


async def test_after_a_loop_the_next_prompt_works() -> None:
    rig = Rig(ScriptedModel([*replies([Call("look", {})], count=9), [Say("fine")]]), [says("look")])
    assert (await rig.agent.run("go")).cause == "loop"
    assert (await rig.agent.run("and now?")).cause == "finished"


@pytest.mark.parametrize("calls", [2, 3, 4])
async def test_a_round_of_calls_is_a_loop_too(calls: int) -> None:
    each = [[Call("look", {"at": number})] for number in range(calls)]
    rig = Rig(ScriptedModel(replies(*each)), [says("look")])
    end = await rig.agent.run("go")
    assert (end.cause, requests(rig)) == ("loop", 9 * calls)
    assert f"a round of {calls} calls up to look, 9 times in a row" in end.detail
    assert [one.repeats for one in ended(rig)[3 * calls - 1 : 3 * calls]] == [3]
    assert started(rig) == 6 * calls - 1


async def test_calls_that_change_something_are_no_loop() -> None:
    tools = [counting("look", [f"line {number}" for number in range(30)]), says("act", effect="execute")]
    rig = Rig(ScriptedModel([*replies([Call("look", {})], count=30), [Say("done")]]), tools)
    assert (await rig.agent.run("go")).cause == "finished"
    assert {each.repeats for each in ended(rig)} == {0}
    work = [reply for number in range(20) for reply in ([Call("act", {"edit": number})], [Call("look", {})])]
    rig = Rig(ScriptedModel([*work, [Say("done")]]), [says("look"), says("act", effect="execute")])
    assert (await rig.agent.run("go")).cause == "finished"


async def test_equal_reads_of_one_response_run_once_and_end_the_turn_when_they_come_again() -> None:
    many = [Call("look", {"path": "a"}) for _ in range(300)]
    rig = Rig(ScriptedModel(replies(many)), [says("look", "what is there")])
    end = await rig.agent.run("go")
    assert (end.cause, requests(rig), started(rig)) == ("loop", 9, 5)
    first, *others = ended(rig)[:300]
    pointers = [each for each in (first, *others) if each.same_as]
    assert len(pointers) == 299
    assert {each.outcome for each in pointers} == {"not_started"}
    assert {each.text for each in pointers} == {loop_notices.same_call(1)}


async def test_equal_reads_of_a_server_all_run_for_only_its_word_says_that_they_read() -> None:
    class OfServer(FunctionTool):
        def plan(self, call: str, arguments: str) -> Plan:
            plan = FunctionTool.plan(self, call, arguments)
            return msgspec.structs.replace(plan, remote=RemoteCall(server="srv", tool="look"))

    tool = counting("look", ["one", "two"])
    reply = [Call("look", {}), Call("look", {}), Call("see", {}), Call("see", {})]
    rig = Rig(ScriptedModel([reply, [Say("done")]]), [OfServer(tool.name, tool.effect, tool.run), says("see")])
    await rig.agent.run("go")
    assert sorted(each.text for each in ended(rig)) == sorted(["one", "two", "done", loop_notices.same_call(3)])
    assert started(rig) == 3


async def test_a_read_behind_a_call_that_acts_runs_again() -> None:
    tools = [counting("look", ["before", "after"]), says("act", effect="write")]
    reply = [Call("look", {}), Call("look", {}), Call("act", {}), Call("look", {}), Call("other", {}), Call("look", {})]
    rig = Rig(ScriptedModel([reply, [Say("done")]]), tools)
    await rig.agent.run("go")
    results = {each.call: each for each in ended(rig)}
    parts = next(entry.parts for entry in rig.entries if isinstance(entry, ResponseEnded))
    texts = [results[part.id].text for part in parts if isinstance(part, CallPart)]
    assert [texts[0], texts[3]] == ["before", "after"]
    assert [texts[1], texts[5]] == [loop_notices.same_call(1), loop_notices.same_call(4)]


async def test_reads_before_the_first_act_run_together_also_around_a_tool_that_does_not_exist() -> None:
    order: list[str] = []
    both = asyncio.Event()

    async def look(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del context
        order.append(f"begin {arguments['at']}")
        if len(order) == 2:
            both.set()
        if arguments["at"] != "late":
            await both.wait()  # would wait for ever if the reads ran one after another
        order.append(f"end {arguments['at']}")
        return ToolOutput(text=str(arguments["at"]))

    async def act(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        order.append("act")
        return ToolOutput(text="acted")

    tools = [FunctionTool("look", "read", look), FunctionTool("act", "write", act)]
    reply = [
        Call("look", {"at": "one"}),
        Call("nothing", {}),
        Call("look", {"at": "two"}),
        Call("act", {}),
        Call("look", {"at": "late"}),
    ]
    rig = Rig(ScriptedModel([reply, [Say("done")]]), tools)
    async with asyncio.timeout(10):
        assert (await rig.agent.run("go")).cause == "finished"
    assert sorted(order[:2]) == ["begin one", "begin two"]
    assert order[4:] == ["act", "begin late", "end late"]
    message = rig.agent.conversation.messages[2]
    assert [result.text for result in message.results][2:] == ["two", "acted", "late"]  # pyright: ignore[reportAttributeAccessIssue,reportUnknownVariableType,reportUnknownMemberType,reportUnknownArgumentType] - the results


async def test_a_user_is_asked_and_a_yes_lets_it_go_on_for_as_long_again() -> None:
    user = User(YES, NO)
    rig = Rig(ScriptedModel(replies([Call("look", {})])), [says("look")], ask=user)
    end = await rig.agent.run("go")
    assert (end.cause, requests(rig)) == ("loop", 9 + 8)
    assert user.asked == ["The model repeats itself: look, 9 times in a row, with the same result. Let it go on?"] * 2
    asked = [entry for entry in rig.entries if isinstance(entry, ApprovalAsked)]
    answers = [entry for entry in rig.entries if isinstance(entry, ApprovalAnswered)]
    assert [each.repeats for each in asked] == [9, 9]
    assert [each.allowed for each in answers] == [True, False]


async def test_a_yes_to_the_loop_is_none_to_the_call() -> None:
    once = ApprovalAnswer(allowed=True)
    user = User(*[once] * 5, YES, once, NO)
    limits = Limits(**{name: getattr(FAST, name) for name in ("backoff", "stop_grace", "drop_wait")}, max_steps=9)
    rig = Rig(ScriptedModel(replies([Call("act", {})])), [says("act", effect="execute")], "ask", user, limits=limits)
    await rig.agent.run("go")
    assert [("repeats itself" in why) for why in user.asked] == [False] * 5 + [True, False]


async def test_killed_anywhere_the_next_process_counts_on() -> None:
    whole = Rig(ScriptedModel(replies([Call("look", {})])), [says("look")])
    await whole.agent.run("go")
    entries = whole.entries
    for cut in range(3, len(entries)):
        store = MemoryStore()
        store.append(entries[:cut], expected=0)
        again = Rig(ScriptedModel([]), [says("look")], store=store)
        read, written = again.agent.journal.repeats, Rig(ScriptedModel([])).agent.journal.repeats
        for entry in entries[:cut]:
            written.add(entry)
        calls = [part.id for part in _last_calls(entries[:cut])]
        assert [read.of(call) for call in calls] == [written.of(call) for call in calls]


def _last_calls(entries: list[Entry]) -> list[CallPart]:
    responses = [entry for entry in entries if isinstance(entry, ResponseEnded)]
    return [part for part in (responses[-1].parts if responses else ()) if isinstance(part, CallPart)]


async def test_the_question_is_asked_again_by_the_next_process_and_journalled_once() -> None:
    waiting = asyncio.Event()

    async def waits_for_ever(call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del call, plan, why
        waiting.set()
        await asyncio.Event().wait()
        raise AssertionError

    rig = Rig(ScriptedModel(replies([Call("look", {})])), [says("look")], ask=waits_for_ever)
    turn = asyncio.create_task(rig.agent.run("go"))
    async with asyncio.timeout(10):
        await waiting.wait()
    store = MemoryStore()
    store.append(rig.entries, expected=0)
    rig.agent.stop()
    await turn
    user = User(YES)
    again = Rig(ScriptedModel([[Say("done")]]), [says("look")], ask=user, store=store)
    end = await again.agent.resume_turn()
    assert isinstance(end, TurnEnded)
    assert (end.cause, len(user.asked)) == ("finished", 1)
    assert sum(isinstance(entry, ApprovalAsked) for entry in again.entries) == 1
    assert ended(again)[-1].outcome == "ok"


async def test_a_stop_while_the_question_is_open_ends_the_turn() -> None:
    started_waiting = asyncio.Event()

    async def ask(call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del call, plan, why
        started_waiting.set()
        await asyncio.Event().wait()
        raise AssertionError

    rig = Rig(ScriptedModel(replies([Call("look", {})])), [says("look"), waits("wait")], ask=ask)
    turn = asyncio.create_task(rig.agent.run("go"))
    await started_waiting.wait()
    rig.agent.stop()
    assert (await turn).cause == "user"
    assert ended(rig)[-1].outcome == "not_started"
