"""Document 001: a call without its result, after Ctrl+C or a denial in the middle of the tools."""

from __future__ import annotations

import asyncio
import os

import pytest
from reference_harness import Line, Stage, read_rounds, texts

from holdfast.questions import ApprovalAnswer
from holdfast.session.journal.entries import CallEnded
from holdfast.session.journal.parts import CallPart
from holdfast.testing.script import Action, Call, Hold, Say
from holdfast.testing.toolbox import FunctionTool
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from polling import eventually


def has_ended(pid: int) -> bool:
    """Return whether no process of that number lives."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_abort_mid_tool_call_cleans_up_messages(stage: Stage) -> None:
    ended = await stage.stopped(
        "run it",
        [Call("bash", {"command": "echo $$ > pid; echo begun; exec sleep 60"})],
        until=lambda: stage.printed("begun"),
    )
    assert ended.reason == "cancelled"
    assert stage.agent.conversation.open_calls == ()
    pid = int((stage.workspace / "pid").read_text())
    eventually(lambda: has_ended(pid), 2.0)  # the reference's command went on and wrote its file
    sent = await stage.goes_on()
    assert len(texts(sent, "call")) == len(texts(sent, "result")) == 1
    assert "begun" in texts(sent, "result")[0]


@pytest.mark.parametrize("rounds", [5, 15])
@pytest.mark.parametrize("words", [[], [Say("I will deploy.")]], ids=["silent", "with text"])
async def test_denied_tool_keeps_the_prompt_and_the_rounds(stage: Stage, rounds: int, words: list[Action]) -> None:
    async def deny(call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del call, plan, why
        return ApprovalAnswer(allowed=False, reason="not on a Friday")

    stage.mode, stage.ask = "ask", deny
    shown = stage.write_files(rounds)
    denied = [*words, Call("bash", {"command": "touch deployed"})]
    ended = await stage.run_turn("deploy", *read_rounds(rounds), denied, [Say("As you wish.")])
    assert ended.cause == "finished"

    def complete(sent: list[Line]) -> None:
        assert texts(sent, "user")[0] == "deploy"
        assert texts(sent, "result") == [*shown, "Denied by the user; not started. They said: not on a Friday"]

    complete(stage.sent)
    assert not (stage.workspace / "deployed").exists()
    complete(await stage.goes_on())


async def test_partial_parallel_results_are_kept(stage: Stage) -> None:
    both = [
        Call("write", {"path": "done.txt", "content": "done\n"}),
        Call("bash", {"command": "echo begun; exec sleep 60"}),
    ]
    await stage.stopped("do both", both, until=lambda: stage.printed("begun"))
    assert (stage.workspace / "done.txt").read_text() == "done\n"
    first, second = texts(await stage.goes_on(), "result")
    assert first.startswith("Created done.txt")
    assert second.startswith("Interrupted")


async def test_reads_that_ran_side_by_side_keep_what_finished(stage: Stage) -> None:
    started = asyncio.Event()

    async def quick(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        return ToolOutput(text="A is here")

    async def slow(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments
        started.set()
        await context.stop.wait()
        return ToolOutput(text="", interrupted=True)

    stage.tools = [FunctionTool("a", "read", quick), FunctionTool("b", "read", slow)]
    await stage.stopped(
        "both at once",
        [Call("b", {}), Call("a", {})],
        until=lambda: started.is_set() and stage.facts(CallEnded) == 1,
    )
    second, first = texts(await stage.goes_on(), "result")
    assert first == "A is here"
    assert second.startswith("Interrupted")


async def test_input_is_never_mutated(stage: Stage) -> None:
    """The journal's bytes and what was sent once stay as they are, through a stop and a restart too."""
    stage.write_files(1)
    journal: list[bytes] = []
    sent: list[Line] = []
    for turn in range(5):
        await stage.run_turn(f"prompt {turn}", [Call("read", {"path": "0.txt"})], [Say(f"answer {turn}")])
        now = stage.journal
        assert now[: len(journal)] == journal
        assert stage.sent[: len(sent)] == sent
        journal, sent = now, stage.sent
        if turn == 1:
            await stage.stopped("stop me", [Hold("never")], until=stage.requests_reach(5))
        if turn == 2:
            await stage.restart()
    assert (await stage.goes_on())[: len(sent)] == sent
    assert stage.journal[: len(journal)] == journal


async def test_same_id_for_two_parallel_calls(stage: Stage) -> None:
    shown = stage.write_files(2)
    twins = [Call("read", {"path": "0.txt"}, id="same"), Call("read", {"path": "1.txt"}, id="same")]
    again = [Call("read", {"path": "1.txt"}, id="same")]
    ended = await stage.run_turn("read both", twins, again, [Say("read")])
    assert ended.cause == "finished"
    assert texts(await stage.goes_on(), "result") == [*shown, shown[1]]


async def test_the_model_reads_a_denial_once_and_right_after_its_call(stage: Stage) -> None:
    """The documents' external addition: the notice must stand where it belongs, not as a separate prompt."""

    async def deny(call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del call, plan, why
        return ApprovalAnswer(allowed=False, reason="no")

    stage.mode, stage.ask = "ask", deny
    await stage.run_turn("go", [Call("bash", {"command": "touch made"}), Call("glob", {"pattern": "*"})], [Say("well")])
    sent = await stage.goes_on()
    spoken = [(who, text) for who, text in sent if who != "system"]
    assert [who for who, _ in spoken] == ["user", "call", "call", "result", "result", "assistant", "user"]
    assert [who for who, text in spoken if "Denied" in text] == ["result"]
