"""What a stop and a crash leave in order: a call has time to end by itself, a half-written file goes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from agent_harness import FAST, Rig, opened
from holdfast.agent.agent import Agent
from holdfast.providers.model import Model
from holdfast.session.journal.entries import CallEnded, CallStarted, PromptAccepted, ResponseEnded
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool
from holdfast.tool_calls import FileChange
from holdfast.tools.tool import ToolContext, ToolOutput
from holdfast.tools.toolbox import LocalToolbox
from holdfast.tools.workspace.atomic_write import temporary_name


async def test_a_call_that_was_asked_to_stop_has_time_to_end_by_itself() -> None:
    begun, stopping, finish = asyncio.Event(), asyncio.Event(), asyncio.Event()
    cancelled: list[str] = []

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments
        begun.set()
        await context.stop.wait()
        stopping.set()
        try:
            await finish.wait()
        except asyncio.CancelledError:
            cancelled.append(context.call)
            raise
        return ToolOutput(text="put away what it had", interrupted=True)

    limits = msgspec.structs.replace(FAST, stop_grace=30.0)
    rig = Rig(ScriptedModel([[Call("tidy", {})]]), [FunctionTool("tidy", "execute", run)], limits=limits)
    turn = asyncio.create_task(rig.agent.run("go"))
    await begun.wait()
    rig.agent.stop()
    await stopping.wait()
    for _ in range(50):  # turns of the loop, in which a call that is cancelled at once would be
        await asyncio.sleep(0)
    assert cancelled == []
    finish.set()
    await turn
    (ended,) = [entry for entry in rig.entries if isinstance(entry, CallEnded)]
    assert ended.outcome == "interrupted"
    assert "put away what it had" in ended.text


async def test_a_call_that_does_not_end_is_cancelled() -> None:
    begun = asyncio.Event()

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    rig = Rig(ScriptedModel([[Call("stuck", {})]]), [FunctionTool("stuck", "execute", run)])
    turn = asyncio.create_task(rig.agent.run("go"))
    await begun.wait()
    rig.agent.stop()
    await asyncio.wait_for(turn, 20)
    assert [entry.outcome for entry in rig.entries if isinstance(entry, CallEnded)] == ["interrupted"]


@pytest.mark.parametrize("folder", [".", "src/deep"])
async def test_a_file_that_a_crash_left_half_written_is_removed(tmp_path: Path, folder: str) -> None:
    """Beside the file it was to become; the file itself, and one of another call, stay."""
    root, session = tmp_path / "work", tmp_path / "session"
    (root / folder).mkdir(parents=True)
    session.mkdir()
    (root / folder / "a.py").write_text("as it was")
    half, other = (root / folder / temporary_name(call) for call in ("A", "B"))
    for file in (half, other):
        file.write_text("half of wh")
    store = MemoryStore()
    change = FileChange(path=f"{folder}/a.py".removeprefix("./"), before="0" * 64, after="f" * 64)
    part = CallPart(id="A", name="write", arguments="{}")
    store.append([opened(), PromptAccepted(turn=1, text="go")], expected=0)
    store.append([ResponseEnded(step=1, model="m:m", parts=(part,), usage=Usage())], expected=2)
    store.append([CallStarted(call="A", effect="write", changes=(change,))], expected=3)

    async def connect(name: str) -> Model:
        raise AssertionError(name)

    toolbox = LocalToolbox(root, session)
    agent = Agent(store=store, toolbox=toolbox, connect=connect, mode="ask", emit=lambda _: None)
    await agent.recover()
    await agent.close()
    assert sorted(path.name for path in (root / folder).iterdir() if path.is_file()) == [other.name, "a.py"]
