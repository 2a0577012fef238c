"""What the author of a program does with a tool or a connection arrives as what it is, never as a bug of holdfast."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from agent_harness import FAST, Rig
from holdfast.agent.agent import Agent
from holdfast.agent.sessions import create
from holdfast.providers.connect import open_model
from holdfast.providers.model import Model
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.catalog import Catalog
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Fail, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import ToolContext, ToolOutput
from polling import HANGS


class WithoutText(Exception):
    def __str__(self) -> str:
        raise ValueError("it has no text")


async def text(arguments: dict[str, object], context: ToolContext) -> object:
    del arguments, context
    return "you rolled a 4"


async def nothing(arguments: dict[str, object], context: ToolContext) -> object:
    del arguments, context
    return None


async def number(arguments: dict[str, object], context: ToolContext) -> object:
    del arguments, context
    return 4


async def raises(arguments: dict[str, object], context: ToolContext) -> object:
    del arguments, context
    raise WithoutText


@pytest.mark.parametrize(
    ("run", "outcome", "said"),
    [
        (text, "ok", "you rolled a 4"),
        (nothing, "ok", "(no output)"),
        (number, "failed", "returned int (expected ToolOutput, str or None)"),
        (raises, "failed", "failed while it ran: WithoutText (its text cannot be read)"),
    ],
)
async def test_what_a_tool_returns_or_raises_ends_its_call(
    run: Callable[[dict[str, object], ToolContext], Awaitable[object]], outcome: str, said: str
) -> None:
    tool = FunctionTool("dice", "execute", run)  # pyright: ignore[reportArgumentType] - what an author writes
    rig = Rig(ScriptedModel([[Call("dice", {})], [Say("ok")]]), tools=[tool])
    ended = await rig.agent.run("go")
    assert ended.cause == "finished"
    assert rig.outcomes == {"dice": outcome}
    assert said in rig.results()["dice"].text


async def test_a_connection_that_is_returned_again_works_again() -> None:
    with ScriptedProvider([[Fail(500, "x")], [Say("fine")]]) as provider:
        model = open_model(resolve_endpoint("openai:gpt-5.5", provider.environ()))

        async def connect(name: str) -> Model:
            del name
            return model

        store = MemoryStore()
        rig = Rig(ScriptedModel([]))
        store.append([rig.entries[0]], expected=0)
        agent = Agent(
            store=store,
            toolbox=FunctionToolbox(()),
            connect=connect,
            mode="yolo",
            emit=lambda _: None,
            limits=FAST,
        )
        ended = await agent.run("go")
        assert (ended.cause, ended.detail) == ("finished", "")
        assert agent.conversation.answer == "fine"
        await agent.close()


def test_folders_are_paths_or_texts(tmp_path: object) -> None:
    session = create(Catalog(f"{tmp_path}/sessions"), cwd=str(tmp_path), model="openai:m")
    assert str(session.cwd) == str(tmp_path)
    session.store.close()


def test_a_function_tool_says_what_its_author_wrote() -> None:
    parameters = {"type": "object", "properties": {"sides": {"type": "integer"}}}
    tool = FunctionTool("dice", "read", text, description="Roll a dice.", parameters=parameters)  # pyright: ignore[reportArgumentType] - what an author writes
    assert (tool.schema.description, tool.schema.parameters) == ("Roll a dice.", parameters)
    assert FunctionTool("dice", "read", text).schema.description == "Test tool dice."  # pyright: ignore[reportArgumentType] - likewise


async def test_a_stop_of_another_thread_wakes_the_loop() -> None:
    async def waits(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments
        threading.Thread(target=rig.agent.stop, daemon=True).start()
        await context.stop.wait()  # nothing else would wake the loop
        return ToolOutput(text="half", interrupted=True)

    rig = Rig(ScriptedModel([[Call("waits", {})]]), [FunctionTool("waits", "execute", waits)])
    ended = await asyncio.wait_for(rig.agent.run("Go"), HANGS)
    assert (ended.reason, ended.cause) == ("cancelled", "user")
