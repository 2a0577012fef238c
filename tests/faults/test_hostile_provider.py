"""A provider that does everything wrong, to the real clients over real sockets: turns end, journals stay valid."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hostile import CALL, TOOL, Mode, modes
from report import record
from verdicts import verdict

from holdfast.agent.agent import Agent
from holdfast.agent.events import Event, Fact
from holdfast.agent.stop_cause import StopCause
from holdfast.config.settings import Limits
from holdfast.providers.connect import open_model
from holdfast.providers.model import Model
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    PromptAccepted,
    RequestFailed,
    RequestStarted,
    SessionOpened,
    TurnEnded,
)
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Hold, Say, WireName
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import ToolContext, ToolOutput
from polling import eventually
from tiers import DEEP, sampled

WIRES: tuple[WireName, ...] = ("openai-responses", "openai-chat", "anthropic", "gemini")
MODELS: dict[WireName, str] = {
    "openai-responses": "openai:gpt-5.5",
    "openai-chat": "openai-chat:m",
    "anthropic": "anthropic:m",
    "gemini": "google:gemini-3-m",
}
LONG = 100.0
"""Seconds that a provider has for what it does send: no machine is so busy."""
SHORT = 0.3
"""Seconds after which one that sends nothing more is silent."""
LIMITS = Limits(
    first_event=LONG, first_event_most=LONG, idle_event=LONG, attempts=2, backoff=0.01, longest_backoff=1, drop_wait=0.1
)

PATIENCE = 120.0
"""Seconds after which a turn counts as hung. Only silence is waited for, and not for as long."""

CASES = [(wire, mode) for wire in WIRES for mode in modes(wire)]


class Visit:
    """A session with one tool, whose provider is on a socket."""

    def __init__(
        self, provider: ScriptedProvider, wire: WireName, mode: Mode | None = None, limits: Limits = LIMITS
    ) -> None:
        self.provider = provider
        self.mode = mode
        self.limits = msgspec.structs.replace(limits)
        self.request_count = 0
        self.name = MODELS[wire]
        self.store = MemoryStore()
        self.models: list[Model] = []
        self.ran = 0
        self.never: asyncio.Event | None = None
        """Set once the tool runs, which then never ends; None for one that ends at once."""
        box = FunctionToolbox([FunctionTool(TOOL, "read", self._touch)])
        opened = SessionOpened(
            session="s",
            cwd="/",
            model=self.name,
            system="SYSTEM",
            tools=tuple(tool.schema for tool in box.tool_list),
            version="0",
        )
        self.store.append([opened], expected=0)
        self.agent = Agent(
            store=self.store,
            toolbox=box,
            connect=self._connect,
            mode="yolo",
            emit=self._heard,
            ends_with_listener=True,
            limits=self.limits,
        )

    def _heard(self, event: Event) -> None:
        """Wait long for what is to come, and not for what is not, so that a busy machine changes neither."""
        if self.mode is not None and isinstance(event, Fact) and isinstance(event.entry, RequestStarted):
            self.request_count += 1
            silent = self.request_count in self.mode.silent
            first = SHORT if silent and not self.mode.speaks_first else LONG
            msgspec.structs.force_setattr(self.limits, "first_event", first)
            msgspec.structs.force_setattr(self.limits, "first_event_most", first)  # as of a server elsewhere
            msgspec.structs.force_setattr(self.limits, "idle_event", SHORT if silent else LONG)

    async def _touch(self, arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        self.ran += 1
        if self.never is not None:
            self.never.set()
            await asyncio.Event().wait()
        return ToolOutput(text="touched")

    async def _connect(self, name: str) -> Model:
        self.models.append(open_model(resolve_endpoint(name, self.provider.environ())))
        return self.models[-1]

    def entries(self) -> list[object]:
        return [found.entry for found in self.store.read().records]

    def conversation(self) -> Conversation:
        return fold(found.entry for found in self.store.read().records)

    def before_the_last_answer(self) -> Conversation:
        """Return the conversation as the last prompt sent it."""
        entries = [found.entry for found in self.store.read().records]
        last = max(place for place, entry in enumerate(entries) if isinstance(entry, PromptAccepted))
        return fold(entries[: last + 1])


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Let every library have sent something: what each puts off until then may take longer than these deadlines."""

    async def visited(provider: ScriptedProvider, wire: WireName) -> None:
        visit = Visit(provider, wire)
        await visit.agent.run("hello")
        await visit.agent.close()

    with ScriptedProvider(after=(Say("hello"),)) as provider:
        for wire in WIRES:
            asyncio.run(visited(provider, wire))


@pytest.fixture
def sockets() -> Callable[[], int]:
    """Give what counts the open sockets of this process."""

    def count() -> int:
        found = 0
        for descriptor in Path("/proc/self/fd").iterdir():
            try:
                found += str(descriptor.readlink()).startswith("socket:")
            except OSError:
                continue  # it was that of the folder that is read
        return found

    return count


@pytest.mark.parametrize(("wire", "mode"), sampled(CASES, 45), ids=lambda each: getattr(each, "name", each))
def test_a_turn_survives(wire: WireName, mode: Mode, sockets: Callable[[], int]) -> None:
    before = sockets()
    with ScriptedProvider(mode.script(), after=(Say("still here"),)) as provider:
        wrong, sent = asyncio.run(_visited(provider, wire, mode))
        eventually(lambda: provider.open_connections == 0)
    eventually(lambda: sockets() <= before)
    wrong += verdict(sent)
    record(f"hostile provider: {mode.name}", wire, points=1, violations=wrong)
    assert wrong == []


async def _visited(provider: ScriptedProvider, wire: WireName, mode: Mode) -> tuple[list[str], Conversation]:
    """Return what was wrong, and the conversation that the next prompt sent."""
    visit = Visit(provider, wire, mode)
    async with asyncio.timeout(PATIENCE):
        ended = await visit.agent.run("do it")
    wrong = _ending(visit, ended, mode)
    broken = len([entry for entry in visit.entries() if isinstance(entry, RequestFailed)])
    async with asyncio.timeout(PATIENCE):
        again = await visit.agent.run("go on")
    if again.cause != "finished":
        wrong.append(f"the next prompt ended with {again.cause}: {again.detail}")
    if visit.agent.conversation != visit.conversation():
        wrong.append("the journal tells another conversation than the agent")
    wrong += _calls(visit, mode)
    wrong += [f"the provider refused: {refused}" for refused in provider.refusals]
    wrong += [f"the provider complained: {complaint}" for complaint in provider.complaints]
    if broken > LIMITS.attempts:
        wrong.append(f"{broken} attempts failed, {LIMITS.attempts} were allowed")
    await visit.agent.close()
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if left:
        await asyncio.wait(left, timeout=PATIENCE)
    wrong += [f"a task is left: {task}" for task in left if not task.done()]
    return wrong, visit.before_the_last_answer()


def _ending(visit: Visit, ended: TurnEnded, mode: Mode) -> list[str]:
    wrong: list[str] = []
    failed = [entry for entry in visit.entries() if isinstance(entry, RequestFailed)]
    started = [entry for entry in visit.entries() if isinstance(entry, RequestStarted)]
    if ended.cause != mode.ends:
        wrong.append(f"the turn ended with {ended.cause}: {ended.detail}, not {mode.ends}")
    if mode.ends != "finished":
        if mode.faults and {entry.fault for entry in failed} - mode.faults:
            wrong.append(f"the faults are {[(entry.fault, entry.message) for entry in failed]}, not {set(mode.faults)}")
        if mode.sentence not in ended.detail:
            wrong.append(f"{ended.detail!r} does not say {mode.sentence!r}")
        if visit.name not in ended.detail:
            wrong.append(f"{ended.detail!r} does not name the model")
        if not mode.steps and len(started) != mode.attempts:
            wrong.append(f"{len(started)} attempts were journalled, not {mode.attempts}")
    conversation = msgspec.json.encode(
        [msgspec.to_builtins(message) for message in visit.conversation().messages]
    ).decode()
    streamed = [
        request.body.get("stream") is True or "streamGenerateContent" in request.path
        for request in visit.provider.requests
        if request.body
    ]
    again = [entry.retry_unstreamed for entry in failed if entry.retry_in is not None]
    expected = [True, *(not in_one_piece for in_one_piece in again)]
    if (
        streamed[: len(expected)] != expected
        and not mode.steps
        and not (mode.silent and _are_some_of(streamed, expected))
    ):
        wrong.append(f"the requests were streamed: {streamed}, and were to be: {expected}")
    if mode.final_text not in conversation:
        wrong.append(f"{mode.final_text!r} was lost")
    return wrong


def _are_some_of(streamed: list[bool], expected: list[bool]) -> bool:
    """Return whether all that arrived came in this order: a busy machine may give up a silent request on its way."""
    left = iter(expected)
    return all(each in left for each in streamed)


def _calls(visit: Visit, mode: Mode) -> list[str]:
    entries = visit.entries()
    started = [entry.call for entry in entries if isinstance(entry, CallStarted)]
    ended = [entry.call for entry in entries if isinstance(entry, CallEnded)]
    wrong = [] if len(started) == len(set(started)) else ["a call started twice"]
    if set(started) - set(ended):
        wrong.append(f"calls {set(started) - set(ended)} have no outcome")
    if visit.ran != mode.ran:
        wrong.append(f"the tool ran {visit.ran} times, not {mode.ran}")
    return wrong


ABORTS = 50 if DEEP else 12


@pytest.mark.parametrize("wire", WIRES)
def test_aborts_leave_no_socket_and_every_next_request_a_new_client(wire: WireName, sockets: Callable[[], int]) -> None:
    before = sockets()
    with ScriptedProvider(after=(Say("still here"),)) as provider:
        wrong = asyncio.run(_aborted(provider, wire))
    eventually(lambda: sockets() <= before)
    record("hostile provider: aborts", wire, points=ABORTS, violations=wrong)
    assert wrong == []


async def _aborted(provider: ScriptedProvider, wire: WireName) -> list[str]:
    visit = Visit(provider, wire, limits=msgspec.structs.replace(LIMITS, stop_grace=0.05))
    wrong: list[str] = []
    for number in range(ABORTS):
        visit.never = asyncio.Event()
        mid_tool = number % 2 == 1
        provider.extend((CALL,) if mid_tool else (Say("half"), Hold(f"never {number}")))
        turn = asyncio.ensure_future(visit.agent.run("do it"))
        reached = visit.never.is_set if mid_tool else (lambda n=number: provider.reached(f"never {n}"))
        await asyncio.wait_for(_until(reached), PATIENCE)
        cause = _abort(visit.agent, turn, number)
        await asyncio.wait({turn}, timeout=PATIENCE)
        end = visit.agent.conversation.last_end
        if end is None or end.cause != cause:
            wrong.append(f"abort {number} ended with {end}")
        if not mid_tool or number % 6 == 1:
            again = await visit.agent.run("go on")
            if again.cause != "finished":
                wrong.append(f"after abort {number}: {again.detail}")
    if len(visit.models) < ABORTS:
        wrong.append(f"{len(visit.models)} clients were made for {ABORTS} aborts")
    await visit.agent.close()
    await asyncio.wait_for(_until(lambda: provider.open_connections == 0), PATIENCE)
    return wrong


def _abort(agent: Agent, turn: asyncio.Future[TurnEnded], number: int) -> str:
    match number % 3:
        case 0:
            agent.stop()
            return "user"
        case 1:
            agent.stop(StopCause("timeout", "1 s"))
            return "timeout"
        case _:
            turn.cancel()
            return "external"


async def _until(reached: Callable[[], bool]) -> None:
    while not reached():  # noqa: ASYNC110 - some of it is reached in the thread of the provider
        await asyncio.sleep(0.005)
