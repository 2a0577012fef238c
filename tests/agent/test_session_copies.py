"""A copy of a session is complete as it is made: nothing of it is the original's, whatever becomes of either."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.agent.agent import Agent
from holdfast.agent.events import Event, Fact
from holdfast.agent.sessions import OpenSession, create, fork, resume
from holdfast.providers.model import Model
from holdfast.questions import ApprovalAnswer, Question
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import CallEnded, ProcessStarted, ShellEnded, TurnEnded
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tool_calls import Mode
from holdfast.tools.tool import Plan
from process_leaks import linux_only

COMMAND = "echo running; until [ -e go ]; do sleep 0.05; done; echo whole"


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path / "sessions")


class Asked:
    """A user who is asked, and answers when the test says so."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.may_go = asyncio.Event()

    async def __call__(self, question: Question, plan: Plan) -> ApprovalAnswer:
        del question, plan
        self.reached.set()
        await self.may_go.wait()
        return ApprovalAnswer("once")


class Running:
    """Hears when a command has begun."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Fact) and isinstance(event.entry, ProcessStarted):
            self.begun.set()


def driving(
    session: OpenSession,
    model: Model,
    *,
    mode: Mode = "yolo",
    ask: Asked | None = None,
    emit: Callable[[Event], None] = lambda _: None,
) -> Agent:
    async def connect(name: str) -> Model:
        del name
        return model

    return Agent(
        store=session.store,
        toolbox=session.toolbox,
        connect=connect,
        mode=mode,
        emit=emit,
        ends_with_listener=True,
        ask=ask,
    )


def copy_that_was_killed(catalog: Catalog, original: str) -> OpenSession:
    """Return a copy whose process died as soon as it had made it, opened again."""
    copy = fork(catalog, catalog.find(original))
    copy.store.close()
    return resume(catalog, catalog.find(copy.id))


@linux_only
async def test_a_copy_whose_process_died_leaves_the_command_of_the_original_alone(
    catalog: Catalog, tmp_path: Path
) -> None:
    session = create(catalog, cwd=tmp_path, model="openai-chat:scripted")
    running = Running()
    original = driving(session, ScriptedModel([[Call("bash", {"command": COMMAND})], [Say("done")]]), emit=running)
    turn = asyncio.create_task(original.run("go"))
    await running.begun.wait()
    again = copy_that_was_killed(catalog, session.id)
    copy = driving(again, ScriptedModel())
    await copy.recover()
    assert [r.entry.cause for r in again.store.read().records if isinstance(r.entry, TurnEnded)] == ["fork"]
    (tmp_path / "go").touch()
    assert (await turn).cause == "finished"
    (ended,) = [record.entry for record in session.store.read().records if isinstance(record.entry, CallEnded)]
    assert ended.outcome == "ok"
    assert "whole" in ended.text
    await original.close()
    await copy.close()


@linux_only
async def test_in_a_copy_the_originals_own_command_is_said_to_be_the_originals(
    catalog: Catalog, tmp_path: Path
) -> None:
    session = create(catalog, cwd=tmp_path, model="openai-chat:scripted")
    running = Running()
    original = driving(session, ScriptedModel(), emit=running)
    command = asyncio.create_task(original.shell(COMMAND, share=True))
    await running.begun.wait()
    again = copy_that_was_killed(catalog, session.id)
    copy = driving(again, ScriptedModel())
    await copy.recover()
    (ended,) = [record.entry for record in again.store.read().records if isinstance(record.entry, ShellEnded)]
    assert ended.text.startswith("Not finished in this copy")
    assert "the original may have gone on" in ended.note
    (tmp_path / "go").touch()
    assert (await command).outcome == "ok"
    await original.close()
    await copy.close()


async def test_a_copy_whose_process_died_does_not_take_up_what_the_original_asks_about(
    catalog: Catalog, tmp_path: Path
) -> None:
    session = create(catalog, cwd=tmp_path, model="openai-chat:scripted")
    person, nobody = Asked(), Asked()
    model = ScriptedModel([[Call("write", {"path": "a", "content": "x"})], [Say("done")]])
    original = driving(session, model, mode="ask", ask=person)
    turn = asyncio.create_task(original.run("go"))
    await person.reached.wait()
    copy = driving(copy_that_was_killed(catalog, session.id), ScriptedModel(), mode="ask", ask=nobody)
    assert await copy.resume_turn() is None
    assert not nobody.reached.is_set()
    person.may_go.set()
    assert (await turn).cause == "finished"
    await original.close()
    await copy.close()
