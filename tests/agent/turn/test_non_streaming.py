"""What a provider does not stream it may still answer: once for a response, visibly, with the same request."""

from __future__ import annotations

import asyncio

import pytest

from agent_harness import Rig, says
from holdfast.agent.events import Fact
from holdfast.agent.model_request.retry import without_streaming
from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed, ProviderFault
from holdfast.providers.model import Model
from holdfast.session.journal.entries import RequestFailed, RequestStarted, TurnEnded
from holdfast.testing.script import Call, Fail, Hold, Reply, Say, Wait
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.virtual_loop import run_virtual

NEVER: Reply = (Hold("never"),)
LIMITS = Limits(first_event=30, idle_event=20, backoff=1)


class Session(Rig):
    """A rig whose connections are counted, each the one model."""

    connections = 0
    closed_before: list[bool]

    async def turn(self) -> TurnEnded:
        self.closed_before = []

        async def connect(name: str) -> Model:
            del name
            self.closed_before.append(self.connections == 0 or self.model.closed)
            self.model.closed = False
            self.connections += 1
            return self.model

        self.agent._connection._connect = connect
        return await self.agent.run("go")


def turn(*script: Reply, limits: Limits = LIMITS, stop_at: float | None = None) -> tuple[TurnEnded, Session, float]:
    """Return how a turn ended, its rig, and how long it took."""

    async def work() -> tuple[TurnEnded, Session, float]:
        rig = Session(ScriptedModel(script), tools=[says("look")], limits=limits)
        loop = asyncio.get_running_loop()
        before = loop.time()
        if stop_at is not None:
            loop.call_later(stop_at, rig.agent.stop)
        ended = await rig.turn()
        took = loop.time() - before
        assert rig.model.open_streams == 0
        await rig.agent.close()
        return ended, rig, took

    return run_virtual(work())


def failed(rig: Rig) -> list[tuple[str, bool]]:
    return [(entry.fault, entry.retry_unstreamed) for entry in rig.entries if isinstance(entry, RequestFailed)]


def test_after_a_silence_the_same_request_goes_out_without_streaming_on_a_new_connection() -> None:
    ended, rig, took = turn(NEVER, (Wait(10), Say("in one piece"), Call("look", {})), (Say("done"),))
    assert ended.cause == "finished", ended.detail
    assert rig.model.non_streaming == [False, True, False]  # the next response is streamed again
    assert rig.model.requests[0].messages == rig.model.requests[1].messages
    assert failed(rig) == [("silent", True)]
    assert rig.outcomes == {"look": "ok"}
    assert rig.closed_before == [True, True]
    assert took == pytest.approx(30 + 1 + 10, abs=1)


def test_the_switch_to_non_streaming_is_reported_before_the_request() -> None:
    _, rig, _ = turn(NEVER, (Say("in one piece"),))
    facts = [event.entry for event in rig.events if isinstance(event, Fact)]
    reported = next(
        index for index, entry in enumerate(facts) if isinstance(entry, RequestFailed) and entry.retry_unstreamed
    )
    assert isinstance(facts[reported + 1], RequestStarted)


def test_it_is_tried_once_for_each_response() -> None:
    ended, rig, _ = turn(NEVER, (Fail(503),), NEVER, NEVER)
    assert (ended.cause, rig.model.non_streaming) == ("provider", [False, True, False, False])
    assert failed(rig) == [("silent", True), ("overloaded", False), ("silent", False), ("silent", False)]
    ended, rig, _ = turn(NEVER, (Call("look", {}),), NEVER, (Say("done"),))
    assert (ended.cause, rig.model.non_streaming) == ("finished", [False, True, False, True])


def test_an_answer_in_one_piece_has_the_time_of_a_first_event_and_is_not_asked_for_again() -> None:
    """It may be billed anyway, and the next attempt would be as slow."""
    slow = (Wait(20), Say("a"), Wait(20), Say("b"))
    ended, rig, took = turn(NEVER, slow, slow, slow)
    assert (ended.cause, rig.model.non_streaming) == ("provider", [False, True])
    assert failed(rig) == [("silent", True), ("silent", False)]
    assert took == pytest.approx(30 + 1 + 30, abs=1)
    assert "sent nothing for 30 s (expected the whole answer)" in ended.detail


def test_a_silence_after_other_failures_is_answered_so_if_an_attempt_is_left() -> None:
    busy = (Fail(503),)
    ended, rig, _ = turn(busy, busy, NEVER, (Say("in one piece"),))
    assert (ended.cause, rig.model.non_streaming) == ("finished", [False, False, False, True])
    ended, rig, _ = turn(busy, busy, busy, NEVER)
    assert (ended.cause, rig.model.non_streaming) == ("provider", [False] * 4)


def test_what_was_shown_is_not_asked_for_again() -> None:
    ended, rig, _ = turn((Say("half"), Hold("never")), (Say("again"),))
    assert (ended.cause, rig.model.non_streaming) == ("provider", [False])
    assert rig.agent.conversation.answer == "half"


def test_a_stop_is_heard_while_the_whole_answer_is_waited_for() -> None:
    ended, rig, took = turn(NEVER, (Wait(25), Say("late")), stop_at=40)
    assert (ended.cause, rig.model.non_streaming) == ("user", [False, True])
    assert took == pytest.approx(40, abs=0.5)


def test_half_an_answer_in_one_piece_is_none() -> None:
    ended, rig, _ = turn(NEVER, (Say("half"), Fail(500)), (Say("all of it"),))
    assert (ended.cause, rig.agent.conversation.answer) == ("finished", "all of it")
    assert rig.model.non_streaming == [False, True, False]


@pytest.mark.parametrize("fault", ["rate_limited", "overloaded", "unreachable", "cut", "malformed"])
def test_only_a_silence_is_answered_so(fault: ProviderFault) -> None:
    assert not without_streaming(ProviderFailed("no", fault=fault), fell_back=False)
    assert not without_streaming(ProviderFailed("no", fault="silent"), fell_back=True)
