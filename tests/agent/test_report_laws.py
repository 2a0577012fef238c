"""The law of reports: when a fact is reported, another process can read it in the file; only text comes early."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_harness import WITNESSES, Rig, opened, says, waits
from holdfast.agent.events import Fact, LiveCall, LiveText, LiveThinking
from holdfast.session.journal.entries import Entry
from holdfast.session.journal.store import MemoryStore
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.testing.script import Call, Fail, Hold, Say, Think
from holdfast.testing.scripted_model import ScriptedModel
from witness import Witness


def journal_of(folder: Path) -> list[Entry]:
    return [record.entry for record in read_copy(folder).records]


async def test_each_fact_is_in_the_file_when_it_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    store = SqliteStore.create(folder)
    store.append([opened()], expected=0)
    started = asyncio.Event()
    calls = [Call("quick", {}), Call("act", {})]
    rig = Rig(
        ScriptedModel([[Fail(503)], [Think("hm"), Say("I will."), *calls], [Call("slow", {})]]),
        [says("quick"), says("act", effect="execute"), waits("slow", started=started)],
        store=store,
        outside=lambda: journal_of(folder),
    )
    turn = asyncio.create_task(rig.agent.run("do it"))
    await started.wait()
    rig.agent.queue("and that", "later")
    rig.agent.stop()
    ended = await turn
    assert journal_of(folder)[-1] == ended
    assert rig.facts == journal_of(folder)[1:]
    assert len(rig.facts) >= 15
    live = {type(event) for event in rig.events if not isinstance(event, Fact)}
    assert live == {LiveText, LiveThinking, LiveCall}
    await rig.agent.close()


class Later(MemoryStore):
    """A store that says of each entry that it is written, and writes it with the next."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[Entry] = []

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        self.written = [record.entry for record in self.read().records]
        return super().append(entries, expected=expected)


async def test_a_store_that_writes_later_is_found_out() -> None:
    store = Later()
    rig = Rig(ScriptedModel([[Say("hello")]]), store=store, outside=lambda: store.written)
    await rig.agent.run("hi")
    (witness,) = WITNESSES
    assert all("another reader does not find it" in complaint for complaint in witness.complaints)
    assert len(witness.complaints) == len(rig.facts)
    WITNESSES.clear()


async def test_text_of_a_request_that_the_journal_does_not_have_is_found_out() -> None:
    witness = Witness(MemoryStore(), lambda _: None)
    witness.told(LiveText(1, "early"))
    assert len(witness.complaints) == 1


@pytest.mark.parametrize("ends", ["stop", "answer"])
async def test_a_turn_has_returned_when_its_end_is_in_the_file(tmp_path: Path, ends: str) -> None:
    store = SqliteStore.create(tmp_path / "s")
    store.append([opened()], expected=0)
    script = [[Say("hello")]] if ends == "answer" else [[Say("hel"), Hold("never")]]
    rig = Rig(ScriptedModel(script), store=store, outside=lambda: journal_of(tmp_path / "s"))
    turn = asyncio.create_task(rig.agent.run("hi"))
    if ends == "stop":
        while not any(isinstance(event, LiveText) for event in rig.events):  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0)
        rig.agent.stop()
    assert await turn == journal_of(tmp_path / "s")[-1]
    await rig.agent.close()
