"""Messages given while a turn runs: sent when it is safe, kept when it is not, never lost, never sent twice."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from agent_harness import Rig, opened, says, waits
from holdfast.agent.events import Event, Fact
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import StorageFailed, UsageError
from holdfast.session.conversation.conversation import Conversation, UserMessage
from holdfast.session.journal.entries import Entry, PromptAccepted, Queued, Recalled, Steered, TurnEnded
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Fail, Hold, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tool_calls import ProcessId
from holdfast.tools.tool import ToolContext, ToolOutput


def texts(sent: Conversation) -> list[tuple[str, ...]]:
    return [message.texts for message in sent.messages if isinstance(message, UserMessage)]


def gate(name: str, reached: asyncio.Event, opened: asyncio.Event) -> FunctionTool:
    """Return a tool that says when it runs, and ends when it is let through or asked to stop."""

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments
        reached.set()
        done, _ = await asyncio.wait(
            [asyncio.ensure_future(opened.wait()), asyncio.ensure_future(context.stop.wait())],
            return_when=asyncio.FIRST_COMPLETED,
        )
        del done
        return ToolOutput(text="through", interrupted=context.stop.is_set())

    return FunctionTool(name, "execute", run)


class Busy:
    """A rig whose turn is held in a tool."""

    def __init__(self, *after: list[Say | Call | Hold | Fail]) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()
        tools = [gate("gate", self.reached, self.opened), says("look")]
        self.rig = Rig(ScriptedModel([[Call("gate", {})], *after]), tools)
        self.agent = self.rig.agent

    async def begin(self) -> asyncio.Task[TurnEnded]:
        turn = asyncio.create_task(self.agent.run("go"))
        await self.reached.wait()
        return turn


async def test_a_steer_goes_with_the_next_request_behind_the_results() -> None:
    busy = Busy([Say("as you say")])
    turn = await busy.begin()
    message = busy.agent.queue("rather so", "steer")
    assert [waiting.message.text for waiting in busy.agent.conversation.queued] == ["rather so"]
    assert Queued(id=message, text="rather so", when="steer") in busy.rig.entries, "it is durable before it is told"
    busy.opened.set()
    assert (await turn).cause == "finished"
    assert texts(busy.rig.model.requests[-1]) == [("go",), ("rather so",)]
    last = busy.rig.model.requests[-1].messages[-1]
    assert isinstance(last, UserMessage)
    assert [result.outcome for result in last.results] == ["ok"]
    assert busy.agent.conversation.queued == ()
    assert Steered(queued=message, text="rather so") in busy.rig.entries


async def test_a_message_for_later_begins_the_turn_after_this_one() -> None:
    busy = Busy([Say("first")], [Say("second")], [Say("third")])
    turn = await busy.begin()
    first, second = busy.agent.queue("and then", "later"), busy.agent.queue("at last", "later")
    busy.opened.set()
    ended = await turn
    assert (ended.turn, ended.cause) == (3, "finished")
    prompts = [entry for entry in busy.rig.entries if isinstance(entry, PromptAccepted)]
    assert [(each.turn, each.text, each.queued) for each in prompts] == [
        (1, "go", ""),
        (2, "and then", first),
        (3, "at last", second),
    ]
    assert texts(busy.rig.model.requests[1]) == [("go",), ()]


async def test_a_steer_that_comes_too_late_for_its_turn_is_the_next_prompt() -> None:
    model = ScriptedModel([[Say("thinking", delay=0.01), Hold("more"), Say(" done")], [Say("that too")]])
    rig = Rig(model)
    turn = asyncio.create_task(rig.agent.run("go"))
    async with asyncio.timeout(5):
        while not model.open_streams:  # noqa: ASYNC110 - there is no event to await
            await asyncio.sleep(0)
    rig.agent.queue("one more thing", "steer")
    rig.agent.queue("and another", "steer")
    model.release("more")
    assert (await turn).turn == 2
    assert texts(model.requests[-1])[-1] == ("one more thing", "and another")
    assert rig.agent.conversation.queued == ()


@pytest.mark.parametrize("when", ["at its end", "right behind"])
async def test_a_stop_between_two_turns_is_for_what_waits_too(when: str) -> None:
    """While the end of the first is written, and right behind it: what waits is neither sent nor accepted."""
    reached, opened = asyncio.Event(), asyncio.Event()

    def stop() -> None:
        if when == "right behind":
            asyncio.get_running_loop().call_soon(rig.agent.stop)
        else:
            rig.agent.stop()

    class Events(list[Event]):
        def append(self, event: Event, /) -> None:
            super().append(event)
            if isinstance(event, Fact) and isinstance(event.entry, TurnEnded):
                stop()

    model = ScriptedModel([[Call("gate", {})], [Say("done")], [Say("never")]])
    rig = Rig(model, [gate("gate", reached, opened)], events=Events())
    turn = asyncio.create_task(rig.agent.run("go"))
    await reached.wait()
    message = rig.agent.queue("and then", "later")
    opened.set()
    assert (await turn).cause == "finished"
    assert [entry.text for entry in rig.entries if isinstance(entry, PromptAccepted)] == ["go"]
    assert rig.agent.recall(message) == "and then"
    assert len(model.requests) == 2


@pytest.mark.parametrize("cause", ["user", "timeout", "signal"])
async def test_after_a_stop_nothing_is_sent_by_itself(cause: str) -> None:
    busy = Busy([Say("still here")], [Say("never")])
    turn = await busy.begin()
    steer, later = busy.agent.queue("rather so", "steer"), busy.agent.queue("and then", "later")
    busy.agent.stop(StopCause(cause))  # pyright: ignore[reportArgumentType] - one of the causes
    assert (await turn).cause == cause
    assert [(each.message.id, each.on_hold) for each in busy.agent.conversation.queued] == [
        (steer, True),
        (later, True),
    ]
    assert (await busy.agent.run("hello?")).turn == 2
    assert texts(busy.rig.model.requests[-1])[-1][-1] == "hello?"
    assert [each.message.id for each in busy.agent.conversation.queued] == [steer, later]
    assert busy.agent.recall(steer) == "rather so"
    assert busy.agent.recall(later) == "and then"
    assert busy.agent.conversation.queued == ()


async def test_a_queued_message_waits_for_the_user_if_the_provider_fails() -> None:
    busy = Busy([Fail(400)])
    turn = await busy.begin()
    busy.agent.queue("and then", "later")
    busy.opened.set()
    assert (await turn).cause == "provider"
    assert [each.on_hold for each in busy.agent.conversation.queued] == [True]


async def test_a_recalled_message_is_not_sent() -> None:
    busy = Busy([Say("done")])
    turn = await busy.begin()
    message = busy.agent.queue("rather so", "steer")
    assert busy.agent.recall(message) == "rather so"
    assert Recalled(queued=message) in busy.rig.entries
    with pytest.raises(UsageError, match="no longer queued"):
        busy.agent.recall(message)
    busy.opened.set()
    await turn
    assert texts(busy.rig.model.requests[-1]) == [("go",), ()]


async def test_a_queued_message_survives_a_crash_and_waits_for_the_user() -> None:
    busy = Busy()
    turn = await busy.begin()
    busy.agent.queue("and then", "later")
    store = MemoryStore()
    store.append(busy.rig.entries, expected=0)
    again = Rig(ScriptedModel([[Say("hello again")]]), store=store)
    assert [each.message.text for each in again.agent.conversation.queued] == ["and then"]
    await again.agent.run("are you there?")
    assert [(each.message.text, each.on_hold) for each in again.agent.conversation.queued] == [("and then", True)]
    busy.agent.stop()
    await turn


async def test_what_waits_is_not_sent_behind_a_prompt_after_a_crash_between_two_turns() -> None:
    rig = Rig(ScriptedModel([[Say("done")]]))
    await rig.agent.run("go")
    *before, end = rig.entries
    for when in ("steer", "later"):
        store = MemoryStore()
        store.append([*before, Queued(id="q9", text="and then", when=when), end], expected=0)
        again = Rig(ScriptedModel([[Say("hello again")]]), store=store)
        await again.agent.recover()
        assert (await again.agent.run("are you there?")).turn == 2
        assert texts(again.model.requests[-1])[-1] == ("are you there?",)
        assert [(each.message.text, each.on_hold) for each in again.agent.conversation.queued] == [("and then", True)]


class Slow(FunctionToolbox):
    """Tools whose earlier processes take a moment to go."""

    async def wait_for_exit(self, commands: Mapping[str, ProcessId | None]) -> bool:
        await asyncio.sleep(0.05)
        return await super().wait_for_exit(commands)


async def test_while_an_earlier_turn_is_settled_no_message_is_taken() -> None:
    store = MemoryStore()
    store.append([opened(), PromptAccepted(turn=1, text="old")], expected=0)
    rig = Rig(ScriptedModel([[Say("with tabs")]]), store=store, toolbox=Slow([]))
    assert not await rig.agent.wait_for_turn()
    turn = asyncio.create_task(rig.agent.run("new"))
    await asyncio.sleep(0)
    with pytest.raises(UsageError, match="as a prompt"):
        rig.agent.queue("use tabs", "steer")
    assert await rig.agent.wait_for_turn()
    rig.agent.queue("use tabs", "steer")
    assert (await turn).turn == 2
    assert texts(rig.model.requests[-1])[-1][-2:] == ("new", "use tabs")
    assert not await rig.agent.wait_for_turn()


async def test_who_waits_for_a_turn_to_begin_learns_that_none_does() -> None:
    store = MemoryStore()
    store.append([opened(), PromptAccepted(turn=1, text="old")], expected=0)
    rig = Rig(ScriptedModel(), store=store, toolbox=Slow([]))
    settling = asyncio.create_task(rig.agent.resume_turn())
    await asyncio.sleep(0)
    assert not await rig.agent.wait_for_turn()
    assert await settling is None


async def test_a_message_needs_a_turn_that_runs_and_some_words() -> None:
    rig = Rig(ScriptedModel([[Say("done")]]), [waits("slow")])
    with pytest.raises(UsageError, match="as a prompt"):
        rig.agent.queue("now", "steer")
    await rig.agent.run("go")
    with pytest.raises(UsageError, match="as a prompt"):
        rig.agent.queue("now", "steer")
    busy = Busy([Say("done")])
    turn = await busy.begin()
    with pytest.raises(UsageError, match="empty"):
        busy.agent.queue("  ", "steer")
    busy.opened.set()
    await turn


class FullBefore(MemoryStore):
    """A journal that takes no more of one kind of entry."""

    def __init__(self, kind: type[Entry]) -> None:
        super().__init__()
        self.kind = kind
        self.full = False

    def append(self, entries: object, *, expected: int) -> int:
        assert isinstance(entries, list | tuple)
        appended: list[Entry] = list(entries)  # pyright: ignore[reportUnknownArgumentType] - entries
        if self.full and any(isinstance(entry, self.kind) for entry in appended):
            raise StorageFailed("The disk is full. Free some space.")
        return super().append(appended, expected=expected)


async def ended_on_a_full_disk(store: FullBefore) -> tuple[Rig, TurnEnded]:
    """Return a rig and the end of its turn; the disk became full while a message was queued."""
    reached, opened = asyncio.Event(), asyncio.Event()
    rig = Rig(ScriptedModel([[Call("gate", {})], [Say("done")]]), [gate("gate", reached, opened)], store=store)
    turn = asyncio.create_task(rig.agent.run("go"))
    await reached.wait()
    rig.agent.queue("and then", "later")
    store.full = True
    opened.set()
    return rig, await turn


async def test_a_full_disk_keeps_what_waits_and_says_so() -> None:
    store = FullBefore(PromptAccepted)
    rig, ended = await ended_on_a_full_disk(store)
    assert ended.cause == "finished"
    assert [each.message.text for each in rig.agent.conversation.queued] == ["and then"]
    assert any("disk is full" in str(event) for event in rig.events)
    assert rig.agent.turn is None
    store.full = False
    rig.model.extend([Say("yes")])
    assert (await rig.agent.run("something else")).turn == 2
    assert [(each.message.text, each.on_hold) for each in rig.agent.conversation.queued] == [("and then", True)]


async def test_nothing_follows_a_turn_whose_end_could_not_be_journalled() -> None:
    rig, ended = await ended_on_a_full_disk(FullBefore(TurnEnded))
    assert ended.cause == "storage"
    assert [each.message.text for each in rig.agent.conversation.queued] == ["and then"]
    assert [entry.text for entry in rig.entries if isinstance(entry, PromptAccepted)] == ["go"]


async def test_a_full_disk_takes_no_message() -> None:
    reached, opened = asyncio.Event(), asyncio.Event()
    store = FullBefore(Queued)
    rig = Rig(ScriptedModel([[Call("gate", {})], [Say("done")]]), [gate("gate", reached, opened)], store=store)
    turn = asyncio.create_task(rig.agent.run("go"))
    await reached.wait()
    store.full = True
    with pytest.raises(StorageFailed):
        rig.agent.queue("and then", "later")
    assert rig.agent.conversation.queued == ()
    opened.set()
    await turn
