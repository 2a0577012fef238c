"""How long a turn waits: a provider may think, the user may take their time, and each provider has its own limits."""

from __future__ import annotations

import asyncio

import pytest

from agent_harness import Rig, says
from holdfast.agent.events import TurnFailed
from holdfast.agent.turn.deadline import Deadline
from holdfast.config.model_servers import ProviderLimits
from holdfast.config.settings import Limits
from holdfast.questions import ApprovalAnswer, Question
from holdfast.session.journal.entries import RequestFailed, TurnEnded
from holdfast.testing.script import Call, Fail, Reply, Say, Wait
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.virtual_loop import run_virtual
from holdfast.tools.tool import Plan
from holdfast.ui.advice import COMMAND_LINE, SCREEN

HOUR = 3600.0


async def _thoughtful(question: Question, plan: Plan) -> ApprovalAnswer:
    del plan
    await asyncio.sleep(HOUR)
    return question.choices[0].answer()


def turn(*script: Reply, limits: Limits) -> tuple[TurnEnded, Rig, float]:
    """Run a turn whose user takes an hour for each answer. Return its end, the rig and the seconds it took."""

    async def work() -> tuple[TurnEnded, Rig, float]:
        rig = Rig(
            ScriptedModel(script), tools=[says("edit", effect="write")], mode="ask", ask=_thoughtful, limits=limits
        )
        before = asyncio.get_running_loop().time()
        ended = await rig.agent.run("do it")
        after = asyncio.get_running_loop().time()
        await rig.agent.close()
        return ended, rig, after - before

    return run_virtual(work())


def test_the_time_the_user_takes_to_answer_does_not_count() -> None:
    edit = Call("edit", {})
    ended, rig, seconds = turn((Wait(20), edit), (Wait(20), edit), (Wait(10), Say("ok")), limits=Limits(timeout=60))
    assert ended.cause == "finished", ended.detail
    assert seconds == pytest.approx(2 * HOUR + 50, abs=1)
    assert rig.outcomes == {"edit": "ok"}


def test_the_time_before_and_after_counts_together() -> None:
    ended, _, seconds = turn((Wait(40), Call("edit", {})), (Wait(40), Say("late")), limits=Limits(timeout=60))
    assert (ended.cause, ended.detail) == ("timeout", "60 s")
    assert seconds == pytest.approx(HOUR + 60, abs=2)


def test_a_turn_without_a_deadline_has_none() -> None:
    slow = [(Wait(100), Call("edit", {}))] * 40
    ended, _, _ = turn(*slow, (Say("ok"),), limits=Limits())
    assert ended.cause == "finished", ended.detail


def test_seventy_seconds_of_silence_pass_by_default() -> None:
    ended, rig, _ = turn((Wait(70), Say("a "), Wait(70), Say("b")), limits=Limits())
    assert ended.cause == "finished", ended.detail
    assert rig.agent.conversation.answer == "a b"


@pytest.mark.parametrize(("reply", "seconds"), [((Wait(500),), 7), ((Say("half"), Wait(500)), 5)])
def test_the_error_about_silence_names_the_provider_the_model_and_what_to_do(reply: Reply, seconds: int) -> None:
    limits = {"openai-chat": ProviderLimits(first_event=7, idle_event=5, attempts=1)}
    ended, rig, took = turn(reply, limits=Limits(providers=limits))
    assert ended.cause == "provider"
    assert took == pytest.approx(seconds, abs=1)
    assert f"Model 'openai-chat:scripted' sent nothing for {seconds} s" in ended.detail
    assert "passed every check, so the cause is provider 'openai-chat' or its model 'scripted'" in ended.detail
    assert TurnFailed("silent") in rig.events
    assert "/model" in SCREEN["silent"]
    assert "-m PROVIDER:MODEL" in COMMAND_LINE["silent"]


def test_each_provider_has_its_own_limits() -> None:
    limits = Limits(idle_event=3, providers={"anthropic": ProviderLimits(first_event=600, attempts=2)})
    assert limits.of("openai-chat:m") == limits
    found = limits.of("anthropic:m:with:colons")
    assert (found.first_event, found.idle_event, found.attempts, found.write) == (600, 3, 2, 30)


def test_how_many_attempts_there_are_is_journalled_with_each() -> None:
    ended, rig, _ = turn((Fail(429, retry_after=4),), (Fail(500),), (Say("ok"),), limits=Limits(attempts=3))
    assert ended.cause == "finished"
    failed = [entry for entry in rig.entries if isinstance(entry, RequestFailed)]
    assert [(entry.attempt, entry.attempts, entry.retry_in) for entry in failed] == [(1, 3, 4), (2, 3, 2)]


def test_pausing_and_counting_twice_is_once() -> None:
    async def work() -> list[float]:
        late: list[float] = []
        clock = asyncio.get_running_loop().time
        deadline = Deadline(10, lambda: late.append(clock()))
        deadline.count()
        deadline.count()
        await asyncio.sleep(5)
        deadline.pause()
        deadline.pause()
        await asyncio.sleep(100)
        deadline.count()
        deadline.count()
        await asyncio.sleep(100)
        return late

    assert run_virtual(work()) == pytest.approx([110], abs=0.1)
