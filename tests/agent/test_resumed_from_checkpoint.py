"""A session that is resumed from its checkpoint is the one that is read from its start, and damage is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_harness import says
from holdfast.agent import checkpoints
from holdfast.agent.agent import Agent
from holdfast.agent.events import Event, Fact
from holdfast.agent.sessions import OpenSession, create, resume
from holdfast.providers.model import Model
from holdfast.session.catalog import Catalog
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.conversation.fold_state import ResumedReading
from holdfast.session.journal.entries import PromptAccepted, Repaired
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.system.durable_files import BLOBS, FOLD
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionToolbox
from journal_files import program

LONG = "what the file says\n" * 4_000
"""A result that is stored as a blob."""


class Held:
    """A session with an agent, as a process has it."""

    def __init__(self, session: OpenSession, model: ScriptedModel, text: str = LONG) -> None:
        self.session = session
        self.events: list[Event] = []
        self.model = model

        async def connect(name: str) -> Model:
            assert name == "openai-chat:m"
            return model

        self.agent = Agent(
            store=session.store,
            toolbox=FunctionToolbox((says("read", text),)),
            connect=connect,
            mode="yolo",
            emit=self.events.append,
            reading=session.reading,
        )

    @property
    def findings(self) -> list[str]:
        """Return the damage that was reported."""
        entries = [event.entry for event in self.events if isinstance(event, Fact)]
        return [each for entry in entries if isinstance(entry, Repaired) for each in entry.findings]


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    monkeypatch.setattr(checkpoints, "LEAST_UNFOLDED", 1)
    (tmp_path / "work").mkdir()
    return Catalog(tmp_path / "sessions")


def _model(turns: int) -> ScriptedModel:
    return ScriptedModel([[Call("read", {})], [Say("done")]] * turns)


async def _played(catalog: Catalog, tmp_path: Path, turns: int) -> str:
    """Play a session of so many turns, each with a long result, and return its id."""
    model = _model(turns)
    held = Held(create(catalog, cwd=tmp_path / "work", model="openai-chat:m"), model)
    for turn in range(turns):
        await held.agent.run(f"look {turn}")
    await held.agent.close()
    return held.session.id


def _resumed(catalog: Catalog, session: str, *, from_checkpoint: bool = True) -> OpenSession:
    return resume(catalog, catalog.find(session), from_checkpoint=from_checkpoint)


def _blobs(catalog: Catalog, session: str) -> Sequence[Path]:
    """Return the files of the session's large entries, the oldest first."""
    return sorted((catalog.folder(session) / BLOBS).iterdir(), key=lambda path: path.stat().st_mtime_ns)


async def test_it_has_the_same_conversation_and_sends_the_same_request(catalog: Catalog, tmp_path: Path) -> None:
    session = await _played(catalog, tmp_path, 3)
    whole = Held(_resumed(catalog, session, from_checkpoint=False), _model(1))
    before = whole.agent.conversation
    whole.session.store.close()
    held = Held(_resumed(catalog, session), _model(1))
    reading = held.session.reading
    assert isinstance(reading, ResumedReading)
    assert [type(each.entry) for each in reading.records[:1]] == [PromptAccepted]  # that of the last turn
    assert held.agent.conversation == before
    assert held.session.cwd == whole.session.cwd
    await held.agent.run("look again")
    sent = held.agent.conversation
    await held.agent.close()
    again = Held(_resumed(catalog, session, from_checkpoint=False), _model(1))
    assert again.agent.conversation == sent
    assert not again.session.reading.findings
    await again.agent.close()


async def test_every_resumed_session_writes_the_checkpoint_of_the_next(catalog: Catalog, tmp_path: Path) -> None:
    session = await _played(catalog, tmp_path, 2)
    lengths: list[int] = []
    for _ in range(3):
        held = Held(_resumed(catalog, session), _model(1))
        assert isinstance(held.session.reading, ResumedReading)
        lengths.append(held.session.reading.seq)
        await held.agent.run("look")
        await held.agent.close()
    assert lengths == sorted(set(lengths))


async def test_damage_in_what_was_not_read_is_reported_with_the_next_prompt(catalog: Catalog, tmp_path: Path) -> None:
    session = await _played(catalog, tmp_path, 2)
    compacting = Held(
        _resumed(catalog, session), ScriptedModel([[Say("a summary")], [Call("read", {})], [Say("done")]])
    )
    assert await compacting.agent.compact() is not None
    await compacting.agent.run("look")
    await compacting.agent.close()
    _blobs(catalog, session)[0].write_bytes(b"altered")
    held = Held(_resumed(catalog, session), _model(3))
    assert isinstance(held.session.reading, ResumedReading)
    await held.agent.run("look")
    assert held.findings == []  # it was not verified yet
    assert held.agent.verification is not None
    await held.agent.verification.wait()
    assert not (catalog.folder(session) / FOLD).exists()
    await held.agent.run("look again")
    (found,) = held.findings
    assert "was altered" in found
    await held.agent.close()
    assert [each.what for each in read_copy(catalog.folder(session)).findings] == [found]
    again = _resumed(catalog, session)
    assert not isinstance(again.reading, ResumedReading)  # a journal with damage is read from its first entry
    again.store.close()


async def test_a_result_to_send_that_was_altered_is_noticed_before_the_request(
    catalog: Catalog, tmp_path: Path
) -> None:
    session = await _played(catalog, tmp_path, 2)
    _blobs(catalog, session)[0].write_bytes(b"altered")  # of the turn before the last
    held = Held(_resumed(catalog, session), _model(1))
    assert not isinstance(held.session.reading, ResumedReading)
    await held.agent.run("look")
    (found,) = held.findings
    assert "was altered" in found
    await held.agent.close()


async def test_a_verification_continues_where_the_last_process_stopped(catalog: Catalog, tmp_path: Path) -> None:
    session = await _played(catalog, tmp_path, 2)
    held = Held(_resumed(catalog, session), _model(1))
    held.agent.journal.checkpoints.verified = 3
    await held.agent.run("look")  # it ends before the verification has begun
    await held.agent.close()
    reading = _resumed(catalog, session)
    assert isinstance(reading.reading, ResumedReading)
    assert reading.reading.verified == 3
    reading.store.close()


async def test_a_compacted_session_holds_no_large_result_and_finds_it_again(catalog: Catalog, tmp_path: Path) -> None:
    session = await _played(catalog, tmp_path, 2)
    held = Held(
        _resumed(catalog, session), ScriptedModel([[Say("a summary")], *[[Call("read", {})], [Say("done")]] * 3])
    )
    before = held.agent.conversation.messages
    assert await held.agent.compact() is not None
    await held.agent.run("look")  # its end writes a checkpoint
    builder = held.agent.journal.fold._builder  # pyright: ignore[reportPrivateUsage] - what is in memory
    users = [message for message in builder.closed[: builder.hidden] if isinstance(message, UserMessage)]
    results = [result for user in users for result in user.results]
    assert results
    assert [len(result.text) for result in results] == [0] * len(results)
    await held.agent.uncompact()
    assert held.agent.conversation.messages[: len(before)] == before
    await held.agent.close()


_KILLED = """
import asyncio, os, sys
from pathlib import Path
from holdfast.agent import checkpoints
from holdfast.session.storage import fold_cache
from holdfast.session.catalog import Catalog
sys.path.insert(0, sys.argv[4])
import test_resumed_from_checkpoint as module
checkpoints.LEAST_UNFOLDED = 1
catalog, session, when = Catalog(Path(sys.argv[1])), sys.argv[2], sys.argv[3]
written = fold_cache.replace_file
def killed(*arguments, **options):
    if when == "after": written(*arguments, **options)
    os.kill(os.getpid(), 9)
fold_cache.replace_file = killed
async def main():
    held = module.Held(module._resumed(catalog, session), module._model(1))
    await held.agent.run("look once more")
asyncio.run(main())
"""


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_kill_around_the_checkpoint_loses_nothing(catalog: Catalog, tmp_path: Path, when: str) -> None:
    session = await _played(catalog, tmp_path, 2)
    with program(_KILLED, str(tmp_path / "sessions"), session, when, str(Path(__file__).parent)) as process:
        assert await asyncio.to_thread(process.wait) == -9
    held = Held(_resumed(catalog, session), _model(1))
    assert isinstance(held.session.reading, ResumedReading)
    texts = [prompt.text for prompt in held.agent.conversation.prompts]
    assert texts == ["look 0", "look 1", "look once more"]
    resumed = held.agent.conversation
    held.session.store.close()
    whole = Held(_resumed(catalog, session, from_checkpoint=False), _model(1))
    assert whole.agent.conversation == resumed
    whole.session.store.close()


async def test_a_small_session_has_no_checkpoint(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "LEAST_UNFOLDED", 1 << 19)
    session = await _played(catalog, tmp_path, 2)
    assert not (catalog.folder(session) / FOLD).exists()
