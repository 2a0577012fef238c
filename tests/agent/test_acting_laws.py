"""The law of acting: no act whose entry the journal refused, beside one that excludes it, or in a mode that forbids it.

The tests look where the act happens: in the tool, the model, and the user who is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from agent_harness import FAST, Rig, says, stopped, waits
from holdfast.config.settings import Limits
from holdfast.errors import StorageFailed
from holdfast.questions import ApprovalAnswer
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallStarted,
    Entry,
    PromptAccepted,
    RequestStarted,
    ShellStarted,
)
from holdfast.session.journal.parts import CallPart
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool
from holdfast.tool_calls import FileChange
from holdfast.tools.tool import Plan, ToolContext, ToolOutput


class Refusing(MemoryStore):
    """A store that cannot write the first entry that `refused` is true of."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: Callable[[Entry], bool] | None = None

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        if self.refused is not None and any(map(self.refused, entries)):
            self.refused = None
            raise StorageFailed("Journal cannot be written: the disk is full. Free some space.")
        return super().append(entries, expected=expected)


def acts(name: str, done: list[str], *, effect: str = "execute") -> FunctionTool:
    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        done.append(name)
        return ToolOutput(text="done")

    return FunctionTool(name, effect, run)  # pyright: ignore[reportArgumentType] - one of the three effects


async def allows(call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
    del call, plan, why
    return ApprovalAnswer(allowed=True)


@pytest.mark.parametrize(
    ("kind", "sent"), [(PromptAccepted, 0), (RequestStarted, 0), (ApprovalAnswered, 1), (CallStarted, 1)]
)
async def test_nothing_is_done_whose_entry_the_journal_does_not_take(kind: type[Entry], sent: int) -> None:
    done: list[str] = []
    store = Refusing()
    rig = Rig(ScriptedModel([[Call("act", {})], [Say("ok")]]), [acts("act", done)], mode="ask", ask=allows, store=store)
    store.refused = lambda entry: isinstance(entry, kind)
    if kind is PromptAccepted:
        with pytest.raises(StorageFailed):
            await rig.agent.run("do it")
    else:
        assert (await rig.agent.run("do it")).cause == "storage"
    assert done == []
    assert len(rig.model.requests) == sent


async def test_no_user_command_runs_if_the_journal_refuses_its_entry() -> None:
    done: list[str] = []
    store = Refusing()
    rig = Rig(ScriptedModel(), [acts("bash", done)], store=store)
    store.refused = lambda entry: isinstance(entry, ShellStarted)
    with pytest.raises(StorageFailed):
        await rig.agent.shell("make", share=False)
    assert done == []
    assert rig.agent.conversation.open_shells == ()


@pytest.mark.parametrize("order", [("look", "act"), ("act", "look")])
async def test_what_changes_something_runs_beside_nothing(order: tuple[str, str]) -> None:
    running: list[str] = []
    together: list[tuple[str, ...]] = []

    def long(name: str, effect: str) -> FunctionTool:
        async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
            del arguments, context
            running.append(name)
            together.append(tuple(running))
            for _ in range(10):  # time for the thread that plans what would run beside it
                await asyncio.sleep(0.01)
                together.append(tuple(running))
            running.remove(name)
            return ToolOutput(text=name)

        return FunctionTool(name, effect, run)  # pyright: ignore[reportArgumentType] - one of the three effects

    rig = Rig(
        ScriptedModel([[Call(name, {}) for name in order], [Say("done")]]),
        [long("look", "read"), long("act", "write")],
    )
    assert (await rig.agent.run("both")).cause == "finished"
    assert {each for each in together if each} == {("look",), ("act",)}


async def test_a_mode_set_while_the_user_is_asked_counts_whatever_they_answer() -> None:
    done: list[str] = []

    async def ask(call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del call, plan, why
        rig.agent.mode = "plan"
        return ApprovalAnswer(allowed=True)

    rig = Rig(ScriptedModel([[Call("act", {})], [Say("ok")]]), [acts("act", done)], mode="ask", ask=ask)
    assert (await rig.agent.run("do it")).cause == "finished"
    assert done == []
    assert rig.outcomes == {"act": "denied"}
    assert rig.results()["act"].text.startswith("Plan mode ")


async def test_who_denies_a_call_has_allowed_nothing_for_later() -> None:
    async def ask(call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del call, plan, why
        return ApprovalAnswer(allowed=False, remember="project")

    done: list[str] = []
    change = FileChange(path="src/a.py", before=None, after="f" * 64)
    edit = FunctionTool("edit", "write", acts("edit", done).run, change=change)
    rig = Rig(ScriptedModel([[Call("edit", {})], [Say("ok")]]), [edit], mode="ask", ask=ask)
    await rig.agent.run("do it")
    (question,) = [entry for entry in rig.entries if isinstance(entry, ApprovalAsked)]
    (answered,) = [entry for entry in rig.entries if isinstance(entry, ApprovalAnswered)]
    assert question.pattern is not None  # it was offered
    assert (answered.allowed, answered.remember, answered.pattern) == (False, "", None)
    assert done == []


def tidies(started: asyncio.Event, seconds: float) -> FunctionTool:
    """Return a tool that needs so many seconds to end once it is asked to."""

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments
        started.set()
        await context.stop.wait()
        await asyncio.sleep(seconds)
        return ToolOutput(text="tidied up", interrupted=True)

    return FunctionTool("tidy", "execute", run)


@pytest.mark.parametrize("cause", ["user", "timeout", "signal", "external"])
async def test_a_call_that_is_stopped_has_stop_grace_to_end(cause: str) -> None:
    started = asyncio.Event()
    limits = Limits(stop_grace=30.0, drop_wait=0.05)
    rig = Rig(ScriptedModel([[Call("tidy", {})]]), [tidies(started, 0.05)], limits=limits)
    turn = asyncio.create_task(rig.agent.run("do it"))
    await started.wait()
    await stopped(rig, turn, cause)
    (ended,) = [entry for entry in rig.entries if isinstance(entry, CallEnded)]
    assert ended.outcome == "interrupted"
    assert "tidied up" in ended.text


async def test_a_call_beside_one_that_could_not_be_journalled_is_asked_to_end() -> None:
    store = Refusing()
    started = asyncio.Event()
    rig = Rig(
        ScriptedModel([[Call("quick", {}), Call("slow", {})]]),
        [says("quick"), waits("slow", effect="read", started=started)],
        limits=Limits(stop_grace=3.0, drop_wait=FAST.drop_wait),
        store=store,
    )
    store.refused = lambda entry: isinstance(entry, CallEnded)
    ended = await rig.agent.run("both")
    assert ended.cause == "storage"
    assert started.is_set()
    assert rig.outcomes == {"quick": "ok", "slow": "interrupted"}
    assert "half of it" in rig.results()["slow"].text
