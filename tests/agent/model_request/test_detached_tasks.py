"""Tasks that do not end when they are cancelled: the agent holds them, and at the close waits within a bound."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import pytest

from agent_harness import Rig, says
from holdfast.agent.cancellation import DetachedTasks
from holdfast.agent.events import LiveText
from holdfast.agent.stop_cause import StopCause
from holdfast.providers.model import StreamEvent, TextDelta
from holdfast.session.conversation.conversation import Conversation
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tool_calls import FileChange
from holdfast.tools.tool import Tool, ToolContext, ToolOutput


class Deaf(ScriptedModel):
    """A model that ignores cancellation until it is `over`, and whose connection does not close before."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.over = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def _stream(
        self, conversation: Conversation, *, non_streaming: bool
    ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        del conversation, non_streaming
        yield self._events()

    async def _events(self) -> AsyncIterator[StreamEvent]:
        yield TextDelta("half")
        await self._deaf()
        for _ in range(1_000):  # more than an unread queue holds
            yield TextDelta("ghost")

    async def aclose(self) -> None:
        await self._deaf()
        await super().aclose()

    async def _deaf(self) -> None:
        self.begun.set()
        while not self.over.is_set():
            with suppress(asyncio.CancelledError):
                await self.over.wait()


def others() -> set[asyncio.Task[object]]:
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


async def others_ended() -> None:
    while others():  # noqa: ASYNC110 - there is no event to await
        await asyncio.sleep(0)
    await asyncio.sleep(0)  # for those who were to be called at their ends


async def streaming(rig: Rig) -> None:
    while not any(isinstance(event, LiveText) for event in rig.events):  # noqa: ASYNC110 - there is no event to await
        await asyncio.sleep(0)


async def test_a_stream_deaf_to_cancellation_is_held_until_it_ends() -> None:
    rig = Rig(deaf := Deaf())
    turn = asyncio.create_task(rig.agent.run("go"))
    await streaming(rig)
    rig.agent.stop()
    ended = await turn  # though the stream goes on
    assert ended.cause == "user"
    gc.collect()
    assert len(rig.agent._detached) == 2  # the stream, and the closing of its connection
    assert rig.agent.conversation.answer == "half"
    deaf.over.set()
    await others_ended()
    assert len(rig.agent._detached) == 0
    assert rig.agent.conversation.answer == "half"


class StopsIt(ScriptedModel):
    """A model that stops the turn in the middle of its answer."""

    rig: Rig

    @asynccontextmanager
    async def _stream(
        self, conversation: Conversation, *, non_streaming: bool
    ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        del conversation, non_streaming
        yield self._events()

    async def _events(self) -> AsyncIterator[StreamEvent]:
        yield TextDelta("what came before the stop")
        await asyncio.sleep(0.01)
        self.rig.agent.stop()
        yield TextDelta(" and what came with it")
        await asyncio.Event().wait()


async def test_what_had_arrived_when_the_stop_came_is_kept() -> None:
    model = StopsIt()
    rig = model.rig = Rig(model)
    assert (await rig.agent.run("go")).cause == "user"
    assert rig.agent.conversation.answer == "what came before the stop and what came with it"


async def test_what_an_abandoned_call_needs_is_not_swept_away() -> None:
    class Sweeping(FunctionToolbox):
        swept = 0

        def sweep(self, edits: Mapping[str, Sequence[FileChange]]) -> None:
            super().sweep(edits)
            self.swept += 1

    begun, go = asyncio.Event(), asyncio.Event()

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        begun.set()
        while not go.is_set():
            with suppress(asyncio.CancelledError):
                await go.wait()
        return ToolOutput(text="done")

    box = Sweeping([FunctionTool("deaf", "execute", run)])
    rig = Rig(ScriptedModel([[Call("deaf", {})], [Say("two")], [Say("three")]]), toolbox=box)
    turn = asyncio.create_task(rig.agent.run("one"))
    await begun.wait()
    before = box.swept
    rig.agent.stop()
    await turn
    await rig.agent.run("two")
    while_it_runs = box.swept
    go.set()
    await others_ended()
    await rig.agent.run("three")
    assert (while_it_runs, box.swept) == (before, before + 1), "it still wrote there"


async def test_closing_the_session_waits_for_it_within_a_bound() -> None:
    rig = Rig(deaf := Deaf())
    turn = asyncio.create_task(rig.agent.run("go"))
    await streaming(rig)
    await rig.agent.close()  # though the stream goes on
    assert (await turn).cause == "external"
    assert rig.agent._detached._tasks == others()  # the agent still holds it
    deaf.over.set()
    await others_ended()


async def test_a_connection_deaf_to_a_stop_is_held_until_it_ends() -> None:
    rig = Rig(deaf := Deaf())

    async def connect(name: str) -> ScriptedModel:
        del name
        await deaf._deaf()
        return deaf

    rig.agent._connection._connect = connect
    turn = asyncio.create_task(rig.agent.run("go"))
    await deaf.begun.wait()
    rig.agent.stop(StopCause("timeout", "1 s"))
    assert (await turn).cause == "timeout"
    assert len(rig.agent._detached) == 1
    await rig.agent.close()
    deaf.over.set()
    await others_ended()


async def test_the_error_of_a_detached_task_is_reported() -> None:
    async def fails() -> None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            raise LookupError("gone") from None

    errors: list[Exception] = []
    detached = DetachedTasks()
    task = asyncio.create_task(fails())
    await asyncio.sleep(0)
    detached.add(task, errors.append)
    await detached.end(1)
    assert [str(error) for error in errors] == ["gone"]
    assert len(detached) == 0


async def test_tools_that_cannot_be_named_settle_the_turn_and_then_it_is_raised() -> None:
    class Broken(FunctionToolbox):
        broken = False

        @property
        def tools(self) -> Mapping[str, Tool]:
            if self.broken:
                raise LookupError("no tools today")
            return super().tools

    box = Broken([says("look")])
    rig = Rig(ScriptedModel([[Call("look", {})], [Say("done")]]), toolbox=box)
    box.broken = True
    with pytest.raises(LookupError):
        await rig.agent.run("go")
    end = rig.agent.conversation.last_end
    assert end is not None
    assert end.cause == "bug"
    assert rig.results()["look"].outcome == "not_started"
    box.broken = False
    assert (await rig.agent.run("again")).cause == "finished"
