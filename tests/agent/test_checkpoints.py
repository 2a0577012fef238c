"""What of a response is kept that never ends: all that came, once, also what came before a silence or with the stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from agent_harness import Rig, opened, says
from holdfast.agent.model_request import response_stream
from holdfast.providers.model import StreamEvent, TextDelta
from holdfast.session.conversation.call_ids import call_id
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import CallEnded, PromptAccepted, ResponseCheckpoint, ResponseEnded, TurnEnded
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Hold, Say
from holdfast.testing.scripted_model import ScriptedModel


def checkpoints(rig: Rig) -> list[str]:
    return [entry.text for entry in rig.entries if isinstance(entry, ResponseCheckpoint)]


async def when(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not reached():  # noqa: ASYNC110 - there is no event to await
            await asyncio.sleep(0.01)


async def test_each_piece_of_text_is_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_stream, "CHECKPOINT_EVERY", 0.02)
    text = "".join(f"{number} " for number in range(100))
    rig = Rig(ScriptedModel([[Say(text, chunk=2, delay=0.005), Hold("never")]]))
    turn = asyncio.create_task(rig.agent.run("count"))
    await when(lambda: sum(map(len, checkpoints(rig))) >= len(text))
    assert len(checkpoints(rig)) > 3
    assert "".join(checkpoints(rig)) == text
    rig.agent.stop()
    await turn


async def test_what_came_before_a_silence_is_kept_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_stream, "CHECKPOINT_EVERY", 0.02)
    rig = Rig(ScriptedModel([[Say("the last words"), Hold("never")]]))
    turn = asyncio.create_task(rig.agent.run("speak"))
    await when(lambda: "".join(checkpoints(rig)) == "the last words")
    rig.agent.stop()
    await turn


class StoppedMidStep:
    """A model whose last words come in the very step in which its turn is stopped."""

    name = "openai-chat:scripted"

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop

    @asynccontextmanager
    async def stream(
        self, conversation: Conversation, *, non_streaming: bool = False
    ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        del conversation, non_streaming
        yield self._events()

    async def _events(self) -> AsyncIterator[StreamEvent]:
        yield TextDelta("the first words")
        await asyncio.sleep(0.01)
        self._stop()
        yield TextDelta(" and the last")
        await asyncio.Event().wait()

    async def aclose(self) -> None:
        pass


async def test_what_came_together_with_the_stop_is_kept() -> None:
    rig = Rig(ScriptedModel())

    async def connect(name: str) -> StoppedMidStep:
        del name
        return StoppedMidStep(rig.agent.stop)

    rig.agent._connection._connect = connect
    assert (await rig.agent.run("speak")).cause == "user"
    (ended,) = [entry for entry in rig.entries if isinstance(entry, ResponseEnded)]
    assert ended.parts == (TextPart("the first words and the last"),)


async def test_no_call_has_the_id_of_one_before_it_whatever_the_journal_lost() -> None:
    """The entry that says which request it was is lost: the next one has its number again."""
    taken_id = call_id("rig", 1, 0, is_taken=lambda _: False)
    before = [
        opened(),
        PromptAccepted(turn=1, text="look"),
        ResponseEnded(step=1, model="m", parts=(CallPart(id=taken_id, name="quick", arguments="{}"),), usage=Usage()),
        CallEnded(call=taken_id, outcome="ok", text="as it was"),
        TurnEnded(turn=1, reason="end_turn", cause="finished"),
    ]
    store = MemoryStore()
    store.append(before, expected=0)
    rig = Rig(ScriptedModel([[Call("quick", {})], [Say("seen")]]), [says("quick", "as it is")], store=store)
    assert (await rig.agent.run("look again")).cause == "finished"
    ids = [entry.call for entry in rig.entries if isinstance(entry, CallEnded)]
    assert len(ids) == len(set(ids)) == 2
    texts = [entry.text for entry in rig.entries if isinstance(entry, CallEnded)]
    assert texts == ["as it was", "as it is"]
