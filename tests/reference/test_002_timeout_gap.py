"""Document 002: a timeout is a cancellation, and `except Exception` does not see one."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from reference_harness import FAST, ONE_WIRE, Stage, texts

from holdfast.questions import ApprovalAnswer
from holdfast.session.journal.entries import TurnEnded
from holdfast.session.journal.parts import CallPart
from holdfast.testing.script import Call, Hold, Reply, Say
from holdfast.tools.tool import Plan

WORK: Reply = [
    Call("write", {"path": "done.txt", "content": "done\n"}),
    Call("bash", {"command": "echo begun; exec sleep 60"}),
]


async def test_timeout_mid_tool_call(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock jumps once the command runs: how long it takes to come to that is not what is tried here."""
    stage.limits = msgspec.structs.replace(FAST, timeout=60.0)
    loop = asyncio.get_running_loop()
    now = loop.time
    async with stage.turn("work", WORK, until=lambda: stage.printed("begun")) as task:
        monkeypatch.setattr(loop, "time", lambda: now() + 60)
    ended = await task
    assert (ended.reason, ended.cause, ended.detail) == ("timeout", "timeout", "60 s")
    sent = await stage.goes_on()
    first, second = texts(sent, "result")
    assert first.startswith("Created done.txt")
    assert second.startswith("Interrupted: the turn reached its time limit of 60 s (the user did not stop it)")
    await stage.restart()
    assert (await stage.goes_on("and after a restart"))[: len(sent)] == sent


async def test_cancelled_error_triggers_cleanup(stage: Stage) -> None:
    async with stage.turn("work", WORK, until=lambda: stage.printed("begun")) as task:
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    ended = stage.entries[-1]
    assert isinstance(ended, TurnEnded)
    assert (ended.reason, ended.cause) == ("cancelled", "external")
    first, second = texts(await stage.goes_on(), "result")
    assert first.startswith("Created done.txt")
    assert second.startswith("Interrupted: the program that runs holdfast cancelled the turn")


@ONE_WIRE
async def test_wait_for_becomes_timeout_error_after_the_cleanup(stage: Stage) -> None:
    async def hurried() -> None:
        await asyncio.wait_for(stage.run_turn("think", [Hold("never")]), 0.5)

    with pytest.raises(TimeoutError):
        await hurried()
    assert isinstance(stage.entries[-1], TurnEnded)
    await stage.goes_on()


@ONE_WIRE
async def test_a_user_who_thinks_is_not_a_silent_model(stage: Stage) -> None:
    """The deadlines are on the model's events: none of them runs while the user is asked or a tool works."""

    async def ponders(call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del call, plan, why
        await asyncio.sleep(1.2)
        return ApprovalAnswer(allowed=True)

    stage.limits = msgspec.structs.replace(FAST, first_event=1.0, idle_event=1.0, attempts=1)
    stage.mode, stage.ask = "ask", ponders
    ended = await stage.run_turn("work", [Call("bash", {"command": "sleep 1.2; echo done"})], [Say("good")])
    assert ended.cause == "finished"
    assert texts(stage.sent, "result")[0].startswith("done")
    await stage.goes_on()


async def test_cancelled_at_any_moment_of_a_turn(stage: Stage) -> None:
    """A bounded version: cancel after each of the first steps of the event loop that a turn takes."""
    for steps in range(0, 60, 4):
        stage.script([Call("glob", {"pattern": "*"})], [Hold("never")])
        task = asyncio.create_task(stage.agent.run(f"prompt {steps}"))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        conversation = stage.agent.conversation
        assert (conversation.open_turn, conversation.open_calls, conversation.streaming) == (None, (), None)
        stage.provider._steps.clear()  # what the cancelled turn did not come to ask for
        await stage.goes_on(f"after {steps}")
