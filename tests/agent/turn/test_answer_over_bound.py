"""An answer over a bound ends its turn as a flood: not asked for again, its calls not run, the next message works."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from agent_harness import Rig, says
from holdfast.agent.cancellation import DetachedTasks, StopSignal, TurnStopped
from holdfast.agent.events import Event, LiveText
from holdfast.agent.model_request.response_stream import QUEUE, Stream
from holdfast.agent.recovery.settle import KEPT_OF_FLOOD, LONGEST_CUT, settle
from holdfast.agent.stop_cause import StopCause
from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed
from holdfast.providers.model import StreamEvent, TextDelta
from holdfast.providers.protocols import answer_bounds
from holdfast.session.conversation.conversation import AssistantMessage, Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    CallStarted,
    Cause,
    Entry,
    ModelChanged,
    PromptAccepted,
    RequestFailed,
    RequestStarted,
    ResponseCheckpoint,
    ResponseEnded,
    SessionOpened,
    TurnEnded,
)
from holdfast.session.journal.parts import TextPart
from holdfast.testing.script import Call, Reply, Say, Think
from holdfast.testing.scripted_model import ScriptedModel

LOOK = Call("look", {})


E = TypeVar("E", bound=Entry)


def of(rig: Rig, kind: type[E]) -> list[E]:
    """Return the journalled entries of one kind."""
    return [found.entry for found in rig.store.read().records if isinstance(found.entry, kind)]


async def turns(*script: Reply, fallback: bool = False) -> tuple[Rig, TurnEnded, TurnEnded]:
    """Return a rig after two turns, and how each of them ended."""
    spare = ScriptedModel([(Say("from the other"),)], name="anthropic:other") if fallback else None
    rig = Rig(ScriptedModel(script), tools=[says("look")], fallback=spare)
    first = await rig.agent.run("go")
    second = await rig.agent.run("go on")
    await rig.agent.close()
    return rig, first, second


@pytest.mark.parametrize(
    "flood",
    [
        (Say("x" * 1_001),),
        (Think("x" * 1_001),),
        (Call("look", '{"a": "' + "x" * 1_001),),
        (Say("x"), Think("y" * 1_000)),
    ],
    ids=["text", "thinking", "arguments", "together"],
)
async def test_too_much_text_ends_the_turn(flood: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_bounds, "MOST_TEXT", 1_000)
    rig, first, second = await turns((LOOK, *flood), (Say("fine"),), fallback=True)
    assert (first.cause, first.reason, second.cause) == ("flood", "error", "finished")
    assert "of text, thinking and arguments in one answer. It was cut off there" in first.detail
    assert [entry.attempt for entry in of(rig, RequestStarted)] == [1, 1]
    assert [(entry.fault, entry.retry_in) for entry in of(rig, RequestFailed)] == [("flood", None)]
    assert of(rig, CallStarted) == []
    assert of(rig, ModelChanged) == []
    assert "(look) were not started" in first.note or "(look, look) were not started" in first.note


async def test_too_many_calls_end_the_turn_and_few_of_them_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_bounds, "MOST_CALLS", 30)
    rig, first, second = await turns(tuple(Call("look", {}) for _ in range(31)), (Say("fine"),))
    assert (first.cause, second.cause, of(rig, CallStarted)) == ("flood", "finished", [])
    assert f"({', '.join(['look'] * 20)} and 10 more) were not started" in first.note


async def test_just_within_the_bounds_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_bounds, "MOST_TEXT", 1_000)
    monkeypatch.setattr(answer_bounds, "MOST_CALLS", 3)
    calls = tuple(Call("look", {}) for _ in range(3))  # 18 bytes: a name, and two brackets for its arguments
    _, first, second = await turns((Say("x" * 982), *calls), (Say("fine"),), (Say("fine"),))
    assert (first.cause, second.cause) == ("finished", "finished")


async def test_the_answers_of_a_turn_count_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answer_bounds, "MOST_TURN_TEXT", 3_000)
    monkeypatch.setattr(answer_bounds, "MOST_TEXT", 1_000)
    step = (Say("x" * 894), LOOK)  # 900 bytes
    rig, first, second = await turns(step, step, step, step, step, (Say("fine"),))
    assert (first.cause, len(of(rig, RequestStarted))) == ("flood", 6)
    assert "in the answers of one turn. It was cut off there" in first.detail
    assert len(of(rig, CallStarted)) == 4  # three of the first turn, one of the second
    assert second.cause == "finished"


class Endless:
    """A model that sends without an end, and counts what it has sent."""

    name = "openai-chat:endless"

    def __init__(self) -> None:
        self.sent = 0

    @asynccontextmanager
    async def stream(
        self, conversation: Conversation, *, non_streaming: bool = False
    ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        del conversation, non_streaming
        yield self._events()

    async def _events(self) -> AsyncGenerator[StreamEvent]:
        while self.sent < 2 * answer_bounds.MOST_EVENTS:  # so that a reader without a bound fails, and does not hang
            self.sent += 1
            yield TextDelta(f"{self.sent} ")

    async def aclose(self) -> None:
        pass


async def test_what_is_read_ahead_is_bounded_and_so_is_a_model_without_an_end() -> None:
    model, taken, ahead = Endless(), 0, 0
    checkpoints: list[ResponseCheckpoint] = []

    def emit(event: Event) -> None:
        nonlocal taken, ahead
        taken += isinstance(event, LiveText)
        ahead = max(ahead, model.sent - taken)

    detached = DetachedTasks()
    stream = Stream(
        1, model, non_streaming=False, limits=Limits(), detached=detached, append=checkpoints.append, emit=emit
    )
    with pytest.raises(ProviderFailed, match="sent more than 200,000 events in one answer") as caught:
        await stream.run(fold(()), StopSignal(detached), on_event=lambda: None)
    stream.checkpoint()
    assert (caught.value.fault, caught.value.retryable) == ("flood", False)
    assert (taken, model.sent) == (answer_bounds.MOST_EVENTS, answer_bounds.MOST_EVENTS + 1)
    assert ahead <= QUEUE + 2
    assert sum(each.text.count(" ") for each in checkpoints) == taken  # each piece is journalled once


async def test_a_stop_ends_a_model_that_never_waits() -> None:
    model, detached = Endless(), DetachedTasks()
    stop = StopSignal(detached)
    asyncio.get_running_loop().call_soon(stop.set, StopCause("user"))
    stream = Stream(
        1, model, non_streaming=False, limits=Limits(), detached=detached, append=lambda _: None, emit=lambda _: None
    )
    with pytest.raises(TurnStopped):
        await stream.run(fold(()), stop, on_event=lambda: None)
    assert model.sent <= 4 * QUEUE


@pytest.mark.parametrize(
    ("cause", "length", "is_whole"),
    [
        ("flood", KEPT_OF_FLOOD, True),
        ("flood", KEPT_OF_FLOOD + 1, False),
        ("user", LONGEST_CUT, True),
        ("user", LONGEST_CUT + 1, False),
        ("crash", LONGEST_CUT + 1, False),
    ],
)
def test_of_a_cut_answer_that_is_too_long_the_beginning_and_the_end_are_kept(
    cause: Cause, length: int, *, is_whole: bool
) -> None:
    text = ("a" * length)[:-1] + "z"
    opened = SessionOpened(session="s", cwd="/", model="a:m", system="S", tools=(), version="0")
    entries = [
        opened,
        PromptAccepted(turn=1, text="go"),
        RequestStarted(step=1, attempt=1, model="a:m"),
        ResponseCheckpoint(step=1, text=text),
    ]
    settled = settle(fold(entries), StopCause(cause))
    (cut,) = (entry for entry in settled if isinstance(entry, ResponseEnded))
    (part,) = cut.parts
    assert isinstance(part, TextPart)
    half = KEPT_OF_FLOOD // 2
    left_out = f"\n[... {length - KEPT_OF_FLOOD} bytes (0 line ends) left out here ...]\n"
    assert part.text == (text if is_whole else text[:half] + left_out + text[-half:])
    messages = fold([*entries, *settled, PromptAccepted(turn=2, text="go on")]).messages
    assert AssistantMessage in [type(message) for message in messages]
