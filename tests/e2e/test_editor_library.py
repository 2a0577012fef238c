"""The official client library drives a whole session: what it parses and waits for is what editors do."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import acp
from acp.schema import AllowedOutcome, ClientCapabilities, RequestPermissionResponse, TextContentBlock
from launching import World, bash

from holdfast.session.journal.entries import CallEnded, TurnEnded
from holdfast.testing.script import Hold, Say


class Watcher:
    """An editor's side: it allows once, and keeps the updates it receives."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.question_count = 0
        self.updated = asyncio.Event()

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        del session_id, tool_call
        self.question_count += 1
        chosen = next(each for each in options if each.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        del session_id
        self.updates.append(update)
        self.updated.set()

    async def until(self, kind: str, text: str) -> None:
        """Wait until the texts of a kind contain this."""
        while text not in self.text(kind):
            self.updated.clear()
            await self.updated.wait()

    def of(self, kind: str) -> list[Any]:
        return [each for each in self.updates if each.session_update == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(each.content.text for each in self.of(kind))

    def on_connect(self, conn: Any) -> None:
        pass


def spawned(watcher: Watcher, world: World) -> Any:
    client: Any = watcher
    words = ("-m", "holdfast", "acp", "-m", world.model)
    return acp.spawn_agent_process(client, sys.executable, *words, env=world.environ(), cwd=str(world.folder))


def text_prompt(text: str) -> Any:
    return [TextContentBlock(type="text", text=text)]


def test_new_prompt_with_a_question_cancel_and_load_in_a_new_process(one_world: World) -> None:
    world = one_world
    world.script((Say("I run it. "), bash("echo out; touch ran")), (Say("Done."),), (Say("half of it"), Hold("never")))

    async def first() -> str:
        watcher = Watcher()
        async with spawned(watcher, world) as (connection, process):
            response = await connection.initialize(protocol_version=1, client_capabilities=ClientCapabilities())
            assert response.agent_capabilities.load_session
            session = (await connection.new_session(cwd=str(world.folder), mcp_servers=[])).session_id
            answer = await connection.prompt(session_id=session, prompt=text_prompt("do it"))
            assert answer.stop_reason == "end_turn"
            assert watcher.question_count == 1
            assert watcher.of("tool_call_update")[-1].status == "completed"
            prompt = asyncio.ensure_future(connection.prompt(session_id=session, prompt=text_prompt("more")))
            await watcher.until("agent_message_chunk", "half of it")
            await connection.cancel(session_id=session)
            assert (await prompt).stop_reason == "cancelled"
            process.stdin.close()
            assert await process.wait() == 0
        return str(session)

    async def again(session: str) -> None:
        watcher = Watcher()
        async with spawned(watcher, world) as (connection, process):
            await connection.initialize(protocol_version=1, client_capabilities=ClientCapabilities())
            await connection.load_session(cwd=str(world.folder), session_id=session, mcp_servers=[])
            await watcher.until("agent_message_chunk", "half of it")
            assert watcher.text("user_message_chunk") == "do itmore"
            assert watcher.text() == "I run it. Done.half of it"
            process.stdin.close()
            assert await process.wait() == 0

    asyncio.run(again(asyncio.run(first())))
    assert [entry.outcome for entry in world.entries() if isinstance(entry, CallEnded)] == ["ok"]
    assert [entry.cause for entry in world.entries() if isinstance(entry, TurnEnded)] == ["finished", "user"]
