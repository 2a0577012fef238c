"""How long a stop takes: until the agent has heard it, until the session is idle, until no process is left."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import msgspec

from history import conversation
from holdfast.agent.agent import Agent
from holdfast.agent.cancellation import StopSignal
from holdfast.agent.events import Event, LiveOutput, LiveText
from holdfast.agent.sessions import create
from holdfast.agent.turn.states import Signal
from holdfast.agent.turn.turn import Turn
from holdfast.providers.connect import connect, open_model
from holdfast.providers.model import Model, TextDelta
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.catalog import Catalog
from holdfast.session.conversation import context_settings
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import SessionOpened
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Hold, Reply, Say, WireName
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import Toolbox, ToolContext, ToolOutput
from pairs import AtMost, Comparison, percentile

HEARD = 0.1
"""Seconds in which the agent should acknowledge a stop."""

IDLE = 1.0
"""Seconds in which the next prompt should be possible, and no process of a command be left."""

BLOCKED = 0.025
"""CPU seconds for which a further request of a huge history may hold up the event loop."""

READING = 0.03
"""CPU seconds that reading a thousand tokens may take."""

WIRES: tuple[WireName, ...] = ("openai-chat", "anthropic")
COMMAND = "sleep 60 & sleep 60 & echo up; wait"
PROCESSES = 3
TICK = 0.002


@dataclass(slots=True)
class Times:
    """What stops took, in seconds, one number for each."""

    heard: list[float] = field(default_factory=list[float])
    idle: list[float] = field(default_factory=list[float])
    process_ends: list[float] = field(default_factory=list[float])


class TimedTurn(Turn):
    """A turn that remembers when it was left."""

    left = 0.0

    def _to(self, signal: Signal) -> None:
        super()._to(signal)
        if signal is Signal.LEAVE:
            self.left = time.perf_counter()


class Timed(Agent):
    """An agent that remembers its last turn."""

    last: TimedTurn

    def _next_turn(self, stop: StopSignal) -> Turn:
        self.turn = self.last = TimedTurn(self._context, stop)
        return self.last


class Deaf:
    """A tool that hears neither a stop nor a cancellation until it is released."""

    def __init__(self) -> None:
        self._released = asyncio.Event()
        self._ended = asyncio.Event()

    async def run(self, arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        """Do nothing until `release`, also when cancelled."""
        del arguments
        self._released.clear()
        self._ended.clear()
        context.emit("up")
        while not self._released.is_set():
            try:
                await self._released.wait()
            except asyncio.CancelledError:
                continue
        self._ended.set()
        return ToolOutput(text="done")

    async def release(self) -> None:
        """Let it end, and wait until it has."""
        self._released.set()
        await self._ended.wait()


def stopping(scratch: Path, *, rounds: int) -> list[Comparison]:
    """Compare how long stops take with how long they may: of a stream, of a command, of what hears nothing."""
    with ScriptedProvider() as provider:
        found: list[Comparison] = []
        for what, measure in (
            ("while streaming", _streaming),
            ("while the provider is silent", _silent),
            ("while `sleep 60` runs", _sleeping),
            ("while a tool ignores cancellation", _deaf),
        ):
            folder = scratch / str(len(found))
            folder.mkdir()
            times = asyncio.run(measure(provider, folder, rounds))
            found += _rows(f"stop {what}: acknowledged", times.heard, HEARD)
            found += _rows(f"stop {what}: idle", times.idle, IDLE)
            if times.process_ends:
                found += _rows(f"stop {what}: no process left", times.process_ends, IDLE)
    return found


def blocking(*, messages: int, rounds: int) -> list[Comparison]:
    """Compare the longest that a stop waits for the event loop, while a long conversation is sent, with its limit.

    What holds it up is holdfast's own work: it normalizes, checks and encodes without a pause. The first request does
    that for the whole conversation and is not measured; a further one for what was added.
    """
    found: list[Comparison] = []
    for wire in WIRES:
        waits = asyncio.run(_blocked(wire, messages=messages, rounds=rounds))
        found += _rows(f"stop while {messages:,} messages are sent to {wire}: heard, CPU", waits, BLOCKED)
    return found


def _rows(what: str, seconds: Sequence[float], aim: float) -> list[Comparison]:
    return [
        Comparison(
            what=f"{what}, p{percent} of {len(seconds)}",
            against=f"{aim:g} s",
            ours=[percentile(seconds, percent)],
            theirs=[aim],
            aim=AtMost(ratio=1),
        )
        for percent in (50, 99)
    ]


async def _streaming(provider: ScriptedProvider, folder: Path, rounds: int) -> Times:
    return await _turns(provider, folder, [(Say("word ", chunk=1), Hold("never"))] * rounds, FunctionToolbox([]))


async def _silent(provider: ScriptedProvider, folder: Path, rounds: int) -> Times:
    replies: list[Reply] = [(Hold(f"silence {number}"),) for number in range(rounds)]
    return await _turns(provider, folder, replies, FunctionToolbox([]))


async def _deaf(provider: ScriptedProvider, folder: Path, rounds: int) -> Times:
    deaf = Deaf()
    box = FunctionToolbox([FunctionTool("deaf", "execute", deaf.run)])
    return await _turns(provider, folder, [(Call("deaf", {}),)] * rounds, box, deaf=deaf)


async def _sleeping(provider: ScriptedProvider, folder: Path, rounds: int) -> Times:
    return await _turns(provider, folder, [(Call("bash", {"command": COMMAND}),)] * rounds, None)


async def _turns(
    provider: ScriptedProvider,
    folder: Path,
    replies: Sequence[Reply],
    toolbox: Toolbox | None,
    *,
    deaf: Deaf | None = None,
) -> Times:
    """Return what stopping each of the replies took, in a real session; without a toolbox, with the real one."""
    times = Times()
    workspace = folder / "workspace"
    workspace.mkdir()
    session = create(Catalog(folder / "sessions"), cwd=workspace, model="openai-chat:m")
    up = asyncio.Event()

    async def connected(name: str) -> Model:
        return await connect(resolve_endpoint(name, provider.environ()))

    def emit(event: Event) -> None:
        if isinstance(event, LiveText | LiveOutput):
            up.set()

    tools = toolbox or session.toolbox
    agent = Timed(store=session.store, toolbox=tools, connect=connected, mode="yolo", emit=emit)
    for reply in replies:
        provider.extend(reply)
        up.clear()
        turn = asyncio.ensure_future(agent.run("go"))
        match reply[0]:
            case Hold(name):
                await asyncio.to_thread(provider.wait_for, name)
            case _:
                await up.wait()
        tree = _inside(workspace)
        assert len(tree) == (PROCESSES if toolbox is None else 0)
        stopped_at, wait_for_end = await asyncio.to_thread(_ask, agent, asyncio.get_running_loop(), tree)
        ended = await turn
        times.idle.append(time.perf_counter() - stopped_at)
        times.heard.append(agent.last.left - stopped_at)
        times.process_ends += [await asyncio.to_thread(wait_for_end) - stopped_at] if tree else []
        assert ended.cause == "user", ended
        if deaf is not None:
            await deaf.release()
    await agent.close()
    await session.toolbox.close()
    session.store.close()
    return times


def _ask(agent: Agent, loop: asyncio.AbstractEventLoop, tree: Sequence[Path]) -> tuple[float, Callable[[], float]]:
    """Ask for a stop, as a thread does that reads keys; return when, and what waits for the end of every process."""
    ends: list[float] = []

    def watch() -> None:
        while any(map(_runs, tree)):
            time.sleep(TICK)
        ends.append(time.perf_counter())

    watching = threading.Thread(target=watch)
    stopped_at = time.perf_counter()
    loop.call_soon_threadsafe(agent.stop)
    watching.start()

    def wait_for_end() -> float:
        watching.join()
        return ends[0]

    return stopped_at, wait_for_end


def _inside(workspace: Path) -> list[Path]:
    """Return where the system describes the processes that work in the folder."""
    found: list[Path] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == workspace:
                found.append(process)
        except OSError:
            continue  # it ended in the meantime, or belongs to another user
    return found


def _runs(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def _blocked(wire: WireName, *, messages: int, rounds: int) -> list[float]:
    """Return the longest wait for the event loop in each of so many turns that send so many messages, but the first."""
    store = MemoryStore()
    store.append(conversation(messages), expected=0)
    environ = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}

    async def connected(name: str) -> Model:
        return open_model(resolve_endpoint(name, environ), http=lambda: httpx2.AsyncClient(transport=Answering(wire)))

    agent = Timed(
        store=store,
        toolbox=FunctionToolbox([]),
        connect=connected,
        mode="yolo",
        emit=lambda _: None,
        context=context_settings.ContextSettings(prune="off"),  # all of it is sent
    )
    agent.use_model(f"{wire}:m")
    waits: list[float] = []
    for number in range(rounds + 1):
        with closing(Heartbeat(asyncio.get_running_loop())) as heartbeat:
            ended = await agent.run("go on")
        assert ended.cause == "finished", ended
        if number:
            waits.append(heartbeat.longest)
    await agent.close()
    return waits


def reading(*, tokens: int, rounds: int) -> list[Comparison]:
    """Compare what reading an answer of so many tokens costs the event loop, each in a separate event, with its limit.

    The provider writes as fast as it can, from another thread; counted is the thread of the loop, with the connection.
    """
    limit = READING * tokens / 1_000
    return [
        Comparison(
            what=f"reading {tokens:,} tokens from {wire}, CPU",
            against=f"{limit:g} s",
            ours=asyncio.run(_read(wire, tokens=tokens, rounds=rounds)),
            theirs=[limit] * rounds,
            aim=AtMost(ratio=1),
        )
        for wire in WIRES
    ]


async def _read(wire: WireName, *, tokens: int, rounds: int) -> list[float]:
    seconds: list[float] = []
    sent = fold([SessionOpened(session="s", cwd="/", model=f"{wire}:m", system="", tools=(), version="0")])
    sent = msgspec.structs.replace(sent, messages=(UserMessage((), ("go",)),))
    with ScriptedProvider(after=(Say("word" * tokens, chunk=4),)) as provider:
        model = open_model(resolve_endpoint(f"{wire}:m", provider.environ()))
        for number in range(rounds + 1):
            begun = time.thread_time()
            deltas = 0
            async with model.stream(sent) as events:
                async for event in events:
                    deltas += isinstance(event, TextDelta)
            assert deltas == tokens, deltas
            if number:  # the first imports and connects
                seconds.append(time.thread_time() - begun)
        await model.aclose()
    return seconds


ANSWERS: dict[WireName, dict[str, object]] = {
    "openai-chat": {
        "choices": [{"message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}],
    },
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Done."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}


class Answering(httpx2.AsyncBaseTransport):
    """Takes a request and answers it. Unlike a `ScriptedProvider`, it runs nothing else in this process."""

    def __init__(self, wire: WireName) -> None:
        self._wire: WireName = wire

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer in one piece."""
        await request.aread()
        return httpx2.Response(200, json=ANSWERS[self._wire])


class Heartbeat:
    """A thread that asks the event loop for nothing, again and again; `longest` is the work it did between two times.

    In CPU seconds of the loop's thread alone.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.longest = 0.0
        self._last = time.thread_time()
        self._loop = loop
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat)
        self._thread.start()

    def _beat(self) -> None:
        while not self._over.wait(TICK):
            self._loop.call_soon_threadsafe(self._heard)

    def _heard(self) -> None:
        now = time.thread_time()
        self.longest, self._last = max(self.longest, now - self._last), now

    def close(self) -> None:
        """End the thread."""
        self._over.set()
        self._thread.join()
