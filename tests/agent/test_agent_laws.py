"""The laws of `Agent`: whatever ends a turn, no call is left open and the next prompt works."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from agent_harness import FAST, Rig, says, stopped, stubborn, waits
from holdfast.agent.events import NotRecorded
from holdfast.agent.stop_cause import StopCause
from holdfast.config.settings import Limits
from holdfast.errors import StorageFailed, UsageError
from holdfast.session.conversation.conversation import AssistantMessage, UserMessage
from holdfast.session.journal.entries import (
    CallEnded,
    CallLate,
    Entry,
    PromptAccepted,
    RequestFailed,
    ResponseCheckpoint,
    ResponseEnded,
    TurnEnded,
)
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Cut, Fail, Finish, Hold, Reset, Say, Think
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool
from holdfast.tools.tool import ToolContext, ToolOutput


async def works_afterwards(rig: Rig) -> None:
    """Assert that the session is settled and that the next prompt gets its answer, with every earlier word in it."""
    conversation = rig.agent.conversation
    assert conversation.open_turn is None
    assert conversation.open_calls == ()
    assert conversation.streaming is None
    prompts = [entry.text for entry in rig.entries if isinstance(entry, PromptAccepted)]
    rig.model.extend([Say("still here")])
    ended = await rig.agent.run("go on")
    assert ended.cause == "finished"
    assert rig.agent.conversation.answer == "still here"
    sent = rig.model.requests[-1]
    texts = [text for message in sent.messages if isinstance(message, UserMessage) for text in message.texts]
    assert [text for text in texts if text in prompts] == prompts
    assert texts[-1] == "go on"


async def when(reached: Callable[[], bool]) -> None:
    """Let the loop run until `reached`."""
    async with asyncio.timeout(5):
        while not reached():  # noqa: ASYNC110 - there is no event to await
            await asyncio.sleep(0)


async def test_plain_answer() -> None:
    rig = Rig(ScriptedModel([[Say("hello there")]]))
    ended = await rig.agent.run("hi")
    assert (ended.reason, ended.cause) == ("end_turn", "finished")
    assert rig.facts == rig.entries[1:]
    await works_afterwards(rig)


async def test_the_prompt_is_durable_before_the_model_is_connected() -> None:
    rig = Rig(ScriptedModel())
    seen: list[Entry] = []

    async def connect(name: str) -> ScriptedModel:
        del name
        seen.extend(rig.entries)
        return rig.model

    rig.agent._connection._connect = connect
    rig.model.extend([Say("ok")])
    await rig.agent.run("first things first")
    assert isinstance(seen[-1], PromptAccepted)


async def test_reads_run_together_and_others_alone_in_order() -> None:
    order: list[str] = []
    both = asyncio.Barrier(2)

    def traced(name: str, effect: str, *, meet: bool = False) -> FunctionTool:
        async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
            del arguments, context
            order.append(f"+{name}")
            if meet:
                await both.wait()  # only passes if both run at once
            await asyncio.sleep(0)
            order.append(f"-{name}")
            return ToolOutput(text=name)

        return FunctionTool(name, effect, run)  # pyright: ignore[reportArgumentType] - one of the effects

    tools = [
        traced("r1", "read", meet=True),
        traced("r2", "read", meet=True),
        traced("w1", "write"),
        traced("x1", "execute"),
        traced("r3", "read"),
    ]
    calls = [Call(tool.name, {}) for tool in tools]
    rig = Rig(ScriptedModel([calls, [Say("done")]]), tools)
    ended = await rig.agent.run("all of them")
    assert ended.cause == "finished"
    assert set(order[:2]) == {"+r1", "+r2"}
    assert order[4:] == ["+w1", "-w1", "+x1", "-x1", "+r3", "-r3"]
    results = rig.agent.conversation.messages[2]
    assert isinstance(results, UserMessage)
    assert [result.name for result in results.results] == ["r1", "r2", "w1", "x1", "r3"]


async def stop_while_streaming(rig: Rig) -> asyncio.Task[TurnEnded]:
    rig.model.extend([Say("half an answer"), Hold("never")])
    turn = asyncio.create_task(rig.agent.run("speak"))
    await when(lambda: any(getattr(event, "text", "") for event in rig.events))
    return turn


async def stop_while_silent(rig: Rig) -> asyncio.Task[TurnEnded]:
    rig.model.extend([Hold("never")])
    turn = asyncio.create_task(rig.agent.run("speak"))
    await when(lambda: rig.model.open_streams == 1)
    return turn


async def stop_while_running(rig: Rig) -> asyncio.Task[TurnEnded]:
    started = asyncio.Event()
    rig.tools = [says("quick"), waits("slow", started=started), says("never")]
    rig.agent = rig.new_agent()
    rig.model.extend([Call("quick", {}), Call("slow", {}), Call("never", {})])
    turn = asyncio.create_task(rig.agent.run("three calls"))
    await started.wait()
    return turn


async def stop_while_a_tool_ignores_it(rig: Rig) -> asyncio.Task[TurnEnded]:
    started = asyncio.Event()

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        started.set()
        await asyncio.sleep(3600)
        return ToolOutput(text="")

    rig.tools = [says("quick"), FunctionTool("stubborn", "execute", run)]
    rig.agent = rig.new_agent()
    rig.model.extend([Call("quick", {}), Call("stubborn", {})])
    turn = asyncio.create_task(rig.agent.run("two calls"))
    await started.wait()
    return turn


async def stop_while_backing_off(rig: Rig) -> asyncio.Task[TurnEnded]:
    rig.limits = Limits(backoff=3600.0, longest_backoff=3600.0)
    rig.agent = rig.new_agent()
    rig.model.extend([Fail(503)])
    turn = asyncio.create_task(rig.agent.run("try"))
    await when(lambda: any(isinstance(fact, RequestFailed) for fact in rig.facts))
    return turn


SITUATIONS = [
    stop_while_streaming,
    stop_while_silent,
    stop_while_running,
    stop_while_a_tool_ignores_it,
    stop_while_backing_off,
]


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("cause", ["user", "signal", "timeout", "external", "flood"])
async def test_every_stop_settles_the_turn_and_the_next_prompt_works(
    situation: Callable[[Rig], Awaitable[asyncio.Task[TurnEnded]]], cause: str
) -> None:
    rig = Rig(ScriptedModel())
    turn = await situation(rig)
    await stopped(rig, turn, cause)
    ended = rig.entries[-1]
    assert isinstance(ended, TurnEnded)
    assert ended.cause == cause
    assert rig.model.open_streams == 0
    if situation is stop_while_running:
        assert {name: result.outcome for name, result in rig.results().items()} == {
            "quick": "ok",
            "slow": "interrupted",
            "never": "not_started",
        }
        assert "half of it" in rig.results()["slow"].text
    if situation is stop_while_a_tool_ignores_it:
        assert rig.results()["quick"].outcome == "ok"
        assert rig.results()["stubborn"].outcome == "interrupted"
    if situation is stop_while_streaming:
        assert any(
            isinstance(message, AssistantMessage) and "half an answer" in str(message.parts)
            for message in rig.agent.conversation.messages
        )
    await works_afterwards(rig)


async def test_the_first_cause_of_a_stop_stands() -> None:
    rig = Rig(ScriptedModel())
    turn = await stop_while_silent(rig)
    rig.agent.stop(StopCause("timeout", "5 s"))
    rig.agent.stop(StopCause("user"))
    assert (await turn).cause == "timeout"


async def test_the_deadline_is_named_as_a_timeout() -> None:
    rig = Rig(ScriptedModel([[Hold("never")]]), limits=Limits(timeout=0.02))
    ended = await rig.agent.run("slow")
    assert (ended.reason, ended.cause) == ("timeout", "timeout")
    assert "the user did not stop it" in ended.note


async def test_a_second_cancellation_while_settling_changes_nothing() -> None:
    rig = Rig(ScriptedModel())
    turn = await stop_while_a_tool_ignores_it(rig)
    turn.cancel()
    await asyncio.sleep(0.01)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert [entry for entry in rig.entries if isinstance(entry, TurnEnded)] == [rig.entries[-1]]
    await works_afterwards(rig)


async def test_wait_for_raises_timeout_error_and_leaves_a_settled_journal() -> None:
    rig = Rig(ScriptedModel([[Hold("never")]]))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(rig.agent.run("slow"), 0.02)
    rig.model._steps.clear()  # on a busy machine the time was over before it was asked
    await works_afterwards(rig)


@pytest.mark.parametrize(
    ("status", "attempts"), [(400, 1), (401, 1), (403, 1), (404, 1), (413, 1), (429, 4), (500, 4), (503, 4), (529, 4)]
)
async def test_one_retry_policy(status: int, attempts: int) -> None:
    rig = Rig(ScriptedModel([[Fail(status, "because")] for _ in range(9)]))
    ended = await rig.agent.run("try")
    assert (ended.reason, ended.cause) == ("error", "provider")
    assert "because" in ended.detail
    assert len(rig.model.requests) == attempts
    failures = [entry for entry in rig.entries if isinstance(entry, RequestFailed)]
    assert [failure.retry_in is None for failure in failures] == [False] * (attempts - 1) + [True]
    rig.model._steps.clear()
    await works_afterwards(rig)


async def test_a_retry_that_succeeds_is_invisible_to_the_model() -> None:
    rig = Rig(ScriptedModel([[Fail(503)], [Fail(429, retry_after=0.001)], [Say("at last")]]))
    assert (await rig.agent.run("try")).cause == "finished"
    assert rig.model.requests[0].messages == rig.model.requests[2].messages
    await works_afterwards(rig)


async def test_a_wait_longer_than_ours_is_not_waited_for() -> None:
    rig = Rig(ScriptedModel([[Fail(429, retry_after=3600)]]))
    assert (await rig.agent.run("try")).cause == "provider"


@pytest.mark.parametrize("end", [Cut(), Reset()])
async def test_a_stream_that_breaks_after_text_keeps_the_text_and_is_not_repeated(end: Cut | Reset) -> None:
    rig = Rig(ScriptedModel([[Say("the first half"), end]]))
    ended = await rig.agent.run("speak")
    assert ended.cause == "provider"
    assert len(rig.model.requests) == 1
    message = rig.agent.conversation.messages[1]
    assert isinstance(message, AssistantMessage)
    assert "the first half" in str(message.parts)
    await works_afterwards(rig)


async def test_calls_of_a_cut_response_never_run_and_the_model_reads_that() -> None:
    ran: list[str] = []

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        ran.append("deploy")
        return ToolOutput(text="deployed")

    tools = [FunctionTool("deploy", "execute", run)]
    rig = Rig(ScriptedModel([[Say("I will deploy."), Call("deploy", {}), Cut()]]), tools)
    await rig.agent.run("deploy?")
    await works_afterwards(rig)
    assert ran == []
    note = rig.model.requests[-1].messages[-1]
    assert isinstance(note, UserMessage)
    assert "(deploy) were not started" in note.texts[0]


async def test_calls_of_a_response_at_its_output_limit_are_not_run() -> None:
    rig = Rig(ScriptedModel([[Call("quick", '{"x": '), Finish("length")]]), [says("quick")])
    ended = await rig.agent.run("long")
    assert ended.reason == "max_tokens"
    assert not [entry for entry in rig.entries if isinstance(entry, CallEnded)]
    await works_afterwards(rig)


async def test_max_steps_is_exact_and_the_next_prompt_works() -> None:
    rig = Rig(ScriptedModel([[Call("quick", {})] for _ in range(9)]), [says("quick")], limits=Limits(max_steps=3))
    ended = await rig.agent.run("loop")
    assert ended.reason == "max_steps"
    assert len(rig.model.requests) == 3
    rig.model._steps.clear()
    await works_afterwards(rig)


async def test_bad_calls_become_results_and_the_turn_goes_on() -> None:
    async def breaks(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        raise RuntimeError("boom")

    tools = [says("quick"), FunctionTool("breaks", "read", breaks)]
    bad = [Call("quick", "[1]"), Call("nothing", {}), Call("breaks", {}), Call("quick", {})]
    rig = Rig(ScriptedModel([bad, [Say("I see")]]), tools)
    assert (await rig.agent.run("try")).cause == "finished"
    results = rig.agent.conversation.messages[2]
    assert isinstance(results, UserMessage)
    assert [result.outcome for result in results.results] == ["failed", "failed", "failed", "ok"]
    assert "not a JSON object" in results.results[0].text
    assert "does not exist" in results.results[1].text
    assert "boom" in results.results[2].text


async def test_parallel_calls_with_one_provider_id_both_settle_under_ids_of_holdfast() -> None:
    calls = [Call("quick", {}, id="same"), Call("quick", {}, id="same")]
    rig = Rig(ScriptedModel([calls, [Call("quick", {}, id="same")], [Say("ok")]]), [says("quick")])
    await rig.agent.run("twice")
    ids = [entry.call for entry in rig.entries if isinstance(entry, CallEnded)]
    assert len(set(ids)) == 3
    assert all(len(id_) == 9 and id_.isalnum() for id_ in ids)


async def test_a_call_that_needs_asking_ends_the_turn_and_the_user_may_write_instead() -> None:
    rig = Rig(
        ScriptedModel([[Call("quick", {}), Call("act", {})]]), [says("quick"), says("act", effect="execute")], "ask"
    )
    ended = await rig.agent.run("act")
    assert (ended.reason, ended.cause) == ("cancelled", "approval")
    await works_afterwards(rig)
    assert rig.results()["quick"].outcome == "ok"
    assert rig.results()["act"].outcome == "not_started"
    assert "not approved, the user wrote instead" in rig.results()["act"].text


async def test_an_outcome_that_comes_after_the_exit_is_reported_as_late() -> None:
    started, release = asyncio.Event(), asyncio.Event()
    tool = stubborn("stubborn", "it was done after all", started=started, release=release)
    rig = Rig(ScriptedModel([[Call("stubborn", {})]]), [tool])
    turn = asyncio.create_task(rig.agent.run("do"))
    await started.wait()
    rig.agent.stop()
    assert (await turn).cause == "user"
    release.set()
    await when(lambda: any(isinstance(entry, CallLate) for entry in rig.entries))
    await works_afterwards(rig)
    assert "it was done after all" in str(rig.model.requests[-1].messages[-1])
    assert rig.results()["stubborn"].outcome == "interrupted"


async def test_streamed_text_is_checkpointed_within_a_second() -> None:
    rig = Rig(ScriptedModel([[Say("x" * 60, chunk=1, delay=0.03), Hold("never")]]))
    turn = asyncio.create_task(rig.agent.run("long"))
    await when(lambda: any(isinstance(entry, ResponseCheckpoint) for entry in rig.entries))
    crashed = rig.new_agent()  # as another process would find the journal now
    assert crashed.conversation.streaming is not None
    assert crashed.conversation.streaming.text.startswith("xxx")
    rig.agent.stop()
    await turn


class FullStore(MemoryStore):
    """A store whose disk is full while `full` is set."""

    full = False

    def append(self, entries: object, *, expected: int) -> int:
        if self.full:
            raise StorageFailed("Journal cannot be written: the disk is full. Free some space.")
        return super().append(entries, expected=expected)  # pyright: ignore[reportArgumentType] - the same argument


async def test_a_full_disk_lets_no_effect_happen_and_the_next_prompt_works_when_there_is_space() -> None:
    store = FullStore()
    ran: list[str] = []

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        ran.append("acted")
        return ToolOutput(text="acted")

    async def fill(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        store.full = True
        return ToolOutput(text="filled")

    tools = [FunctionTool("fill", "execute", fill), FunctionTool("act", "execute", run)]
    rig = Rig(ScriptedModel([[Call("fill", {}), Call("act", {})]]), tools, store=store)
    ended = await rig.agent.run("fill the disk")
    assert (ended.reason, ended.cause) == ("error", "storage")
    assert ran == []
    assert len([event for event in rig.events if isinstance(event, NotRecorded)]) == 1  # of a call, and of the turn
    with pytest.raises(StorageFailed):
        await rig.agent.run("and now?")
    store.full = False
    await rig.agent.recover()
    await works_afterwards(rig)
    assert rig.results()["fill"].outcome == "ok"  # it had finished: what the disk refused was kept and written now
    assert rig.results()["act"].outcome == "not_started"


async def test_a_crash_between_any_two_entries_is_settled_by_the_next_agent() -> None:
    """Cut the journal of a rich turn after each entry: what follows is what a new process would do."""
    calls = [Call("quick", {}), Call("act", {}), Call("quick", {})]
    model = ScriptedModel([[Think("hm"), Say("I will."), *calls], [Say("all done")]])
    complete = Rig(model, [says("quick"), says("act", effect="execute")])
    await complete.agent.run("do it")
    entries = complete.entries
    assert len(entries) > 10
    for length in range(1, len(entries) + 1):
        store = MemoryStore()
        store.append(entries[:length], expected=0)
        rig = Rig(ScriptedModel(), complete.tools, store=store)
        finished = {e.call: e.text for e in entries[:length] if isinstance(e, CallEnded)}
        await rig.agent.recover()
        await works_afterwards(rig)
        stored = {
            result.call: result.text
            for m in rig.agent.conversation.messages
            if isinstance(m, UserMessage)
            for result in m.results
        }
        assert finished.items() <= stored.items()
        if any(isinstance(e, ResponseEnded) for e in entries[:length]):
            assert "I will." in str(rig.agent.conversation.messages)


async def test_a_blank_prompt_and_a_second_turn_are_refused_without_a_trace() -> None:
    rig = Rig(ScriptedModel())
    with pytest.raises(UsageError):
        await rig.agent.run("  \n")
    turn = await stop_while_silent(rig)
    with pytest.raises(UsageError):
        await rig.agent.run("another")
    rig.agent.stop()
    await turn
    assert len([entry for entry in rig.entries if isinstance(entry, PromptAccepted)]) == 1


async def test_the_agent_keeps_nothing_of_a_turn_that_ended() -> None:
    rig = Rig(ScriptedModel())
    turn = await stop_while_running(rig)
    rig.agent.stop()
    await turn
    assert rig.agent.turn is None
    assert not rig.agent._detached
    assert len(asyncio.all_tasks()) == 1


def test_limits_of_the_rig_are_real_limits() -> None:
    assert FAST.attempts == Limits().attempts
