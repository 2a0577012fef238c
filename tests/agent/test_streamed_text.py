"""What a kill leaves of an answer that is streamed: all but the last 0.2 s or 4 KB, and nothing twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_harness import Rig, opened
from holdfast.agent.model_request import response_stream
from holdfast.agent.model_request.response_stream import KEEP_BYTES
from holdfast.agent.model_request.streamed_text import StreamedText
from holdfast.session.journal.entries import Entry, Queued, ResponseCheckpoint, ResponseEnded
from holdfast.session.journal.parts import TextPart
from holdfast.session.journal.store import MemoryStore, StreamingStore
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.testing.script import Hold, Say
from holdfast.testing.scripted_model import ScriptedModel
from journal_files import program
from polling import HANGS, eventually


def streamed(entries: list[Entry]) -> str:
    return "".join(entry.text for entry in entries if isinstance(entry, ResponseCheckpoint))


async def when(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANGS):
        while not reached():  # noqa: ASYNC110 - there is no event to await
            await asyncio.sleep(0.01)


_STREAMS = """
import asyncio, sys
from pathlib import Path
from agent_harness import Rig, opened
from holdfast.agent.model_request import response_stream
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.script import Hold, Say
from holdfast.testing.scripted_model import ScriptedModel
response_stream.CHECKPOINT_EVERY = float(sys.argv[2])
response_stream.KEEP_EVERY = float(sys.argv[3])
store = SqliteStore.create(Path(sys.argv[1]))
store.append([opened()], expected=0)
words = [Say(f"w{number} ", delay=0.001) for number in range(int(sys.argv[4]))]
rig = Rig(ScriptedModel([[*words, Say("x" * int(sys.argv[5])), Hold("never")]]), store=store)
asyncio.run(rig.agent.run("count"))
"""


def written(folder: Path) -> str:
    """Return the text that is in the journal or next to it."""
    if not (folder / "session.db").exists():
        return ""
    kept = folder / "streamed"
    journalled = streamed([record.entry for record in read_copy(folder).records])
    return journalled + (kept.read_text() if kept.exists() else "")


def killed_after(folder: Path, text: str, *, checkpoint: float, keep: float, words: int, more: int = 0) -> list[Entry]:
    """Stream words until `text` is written, kill the process, and return the journal that it left."""
    with program(_STREAMS, str(folder), str(checkpoint), str(keep), str(words), str(more)) as process:
        eventually(lambda: text in written(folder))
        process.kill()
        process.wait(timeout=HANGS)
    return [record.entry for record in read_copy(folder).records]


def test_text_that_was_kept_survives_a_kill_and_is_read_by_everyone(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    left = killed_after(folder, "w49 ", checkpoint=HANGS, keep=0.01, words=50)
    text = "".join(f"w{number} " for number in range(50))
    assert streamed(left) == text
    store = SqliteStore.open(folder)
    reading = store.read()
    store.close()
    assert reading.findings == ()
    assert [record.entry for record in reading.records] == left
    assert read_copy(folder).records == reading.records, "the text was read twice"


def test_a_silent_stream_is_kept_too_and_so_are_4_kb_at_once(tmp_path: Path) -> None:
    left = killed_after(tmp_path / "silent", "w2 ", checkpoint=HANGS, keep=0.05, words=3)
    assert streamed(left) == "w0 w1 w2 "
    left = killed_after(tmp_path / "much", "xxx", checkpoint=HANGS, keep=HANGS, words=3, more=KEEP_BYTES)
    assert streamed(left) == "w0 w1 w2 " + "x" * KEEP_BYTES


def test_the_model_is_sent_what_a_kill_left(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    killed_after(folder, "w19 ", checkpoint=0.02, keep=0.005, words=20)
    store = SqliteStore.open(folder)
    rig = Rig(ScriptedModel([[Say("Going on.")]]), store=store)
    asyncio.run(rig.agent.run("go on"))
    (cut,) = [entry for entry in rig.entries if isinstance(entry, ResponseEnded) and entry.cut == "crash"]
    assert "".join(part.text for part in cut.parts if isinstance(part, TextPart)) == "".join(
        f"w{n} " for n in range(20)
    )
    store.close()
    assert not (folder / "streamed").exists()


async def test_a_fact_is_journalled_behind_the_text_that_was_shown_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_stream, "CHECKPOINT_EVERY", HANGS)
    rig = Rig(ScriptedModel([[Say("the first words"), Hold("never")]]))
    turn = asyncio.create_task(rig.agent.run("speak"))
    await when(lambda: "the first words" in "".join(getattr(event, "text", "") for event in rig.events))
    rig.agent.queue("and then", "later")
    kinds = [type(entry) for entry in rig.entries if isinstance(entry, ResponseCheckpoint | Queued)]
    assert kinds == [ResponseCheckpoint, Queued]
    assert streamed(rig.entries) == "the first words"
    rig.agent.stop()
    await turn
    (ended,) = [entry for entry in rig.entries if isinstance(entry, ResponseEnded)]
    assert ended.parts == (TextPart("the first words"),)


def test_keeping_text_costs_little(tmp_path: Path) -> None:
    """2,000 tokens a second for ten seconds: at most 2 % of a core for the clocks, the file and the journal."""
    store = SqliteStore.create(tmp_path / "s")
    store.append([opened()], expected=0)
    seconds, tokens = 10, 2_000
    text = StreamedText(1)
    began = time.thread_time()
    for tick in range(seconds * 5):
        for _ in range(tokens // 5):
            text.add(" token")
        kept = text.take_unkept()
        assert kept is not None
        store.keep_streamed(kept, expected=store.length)
        if tick % 5 == 4:
            checkpoint = text.checkpoint()
            assert checkpoint is not None
            store.append([checkpoint], expected=store.length)
            text.clear()
    used = time.thread_time() - began
    store.close()
    assert used <= 0.02 * seconds, f"{used:.3f} s of CPU for {seconds} s of streaming"


def test_a_store_without_that_keeps_a_second() -> None:
    assert not isinstance(MemoryStore(), StreamingStore)
    assert response_stream.CHECKPOINT_EVERY == 1.0
    assert response_stream.KEEP_EVERY == 0.2
