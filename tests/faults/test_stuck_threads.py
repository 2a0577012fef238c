"""A tool that works in a thread which cannot be ended: the turn ends, the session goes on, the program can exit."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable

import pytest
from report import record
from scenario_runner import IDLE_WITHIN
from verdicts import verdict

from holdfast.agent.agent import Agent
from holdfast.config.settings import Limits
from holdfast.providers.model import Model
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import CallEnded, PromptAccepted, SessionOpened, TurnEnded
from holdfast.session.journal.store import MemoryStore
from holdfast.system.threads import ForeignExit, described, in_daemon, in_thread
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import ToolContext, ToolOutput
from polling import eventually


async def _stop(agent: Agent, works: asyncio.Event) -> None:
    turn = asyncio.ensure_future(agent.run("do it"))
    await works.wait()
    agent.stop()
    await turn


async def _cancel(agent: Agent, works: asyncio.Event) -> None:
    turn = asyncio.ensure_future(agent.run("do it"))
    await works.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn


async def _timeout(agent: Agent, works: asyncio.Event) -> None:
    turn = asyncio.ensure_future(agent.run("do it"))
    await works.wait()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await turn


async def _wait_for(agent: Agent, works: asyncio.Event) -> None:
    turn = asyncio.ensure_future(agent.run("do it"))
    await works.wait()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(turn, 0.05)


HOW: dict[str, Callable[[Agent, asyncio.Event], Awaitable[object]]] = {
    "stop": _stop,
    "cancel": _cancel,
    "asyncio.timeout": _timeout,
    "asyncio.wait_for": _wait_for,
}
"""What happens to the turn, once the event says that the thread works."""


@pytest.mark.parametrize("what", HOW)
def test_a_thread_that_cannot_be_ended_holds_up_nothing(what: str) -> None:
    release = threading.Event()
    threads = set(threading.enumerate())
    store = MemoryStore()

    async def turns() -> tuple[float, TurnEnded, float]:
        works = asyncio.Event()
        loop = asyncio.get_running_loop()
        since = loop.time()

        def begun() -> None:
            nonlocal since
            since = loop.time()
            works.set()

        def stuck(stop: threading.Event) -> ToolOutput:
            del stop  # as a read from a dead network file system would
            loop.call_soon_threadsafe(begun)
            release.wait(30)
            return ToolOutput(text="late")

        async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
            del arguments
            return await in_thread(stuck, context.stop)

        agent = _agent(store, FunctionToolbox([FunctionTool("stuck", "read", run)]))
        await HOW[what](agent, works)
        took = loop.time() - since
        return took, await agent.run("go on"), time.monotonic()

    took, again, ended = asyncio.run(turns())
    left = time.monotonic() - ended
    release.set()
    eventually(lambda: set(threading.enumerate()) <= threads)
    entries = [found.entry for found in store.read().records]
    wrong = [f"it took {took:.3f} s to end"] if took > IDLE_WITHIN + 0.1 else []
    wrong += [f"the program took {left:.3f} s to leave"] if left > 1 else []
    wrong += [f"the next prompt ended with {again.cause}"] if again.cause != "finished" else []
    outcomes = [entry.outcome for entry in entries if isinstance(entry, CallEnded)]
    wrong += [f"the call has the outcomes {outcomes}"] if outcomes != ["interrupted"] else []
    last = max(place for place, entry in enumerate(entries) if isinstance(entry, PromptAccepted))
    wrong += verdict(fold(entries[: last + 1]))
    record("a tool stuck in a thread", what, points=1, violations=wrong, slowest=round(took, 3))
    assert wrong == []


def _agent(store: MemoryStore, toolbox: FunctionToolbox) -> Agent:
    tools = tuple(tool.schema for tool in toolbox.tool_list)
    name = "openai-chat:scripted"
    store.append(
        [SessionOpened(session="s", cwd="/", model=name, system="SYSTEM", tools=tools, version="0")], expected=0
    )
    model = ScriptedModel([[Call("stuck", {})], [Say("still here")]])

    async def connect(name: str) -> Model:
        del name
        return model

    return Agent(
        store=store, toolbox=toolbox, connect=connect, mode="yolo", emit=lambda _: None, limits=Limits(attempts=1)
    )


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, StopIteration, LookupError])
async def test_whatever_ends_a_thread_is_heard_of(error: type[BaseException]) -> None:
    def work() -> None:
        raise error("enough")

    with pytest.raises((ForeignExit, LookupError)) as heard:
        await asyncio.wait_for(in_daemon(work), 5)
    assert described(heard.value) == f"{error.__name__}: enough"
