"""Instructions below the workspace: behind the call that first touches a file there, once for each content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from agent_harness import opened
from holdfast.agent.agent import Agent
from holdfast.providers.model import Model
from holdfast.session.journal.entries import CallEnded, Entry, FilesChanged
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tools.toolbox import LocalToolbox


def files_changed(store: MemoryStore) -> list[FilesChanged]:
    return [each for each in entries(store) if isinstance(each, FilesChanged)]


def entries(store: MemoryStore) -> list[Entry]:
    return [record.entry for record in store.read().records]


async def run(
    folder: Path, store: MemoryStore, *prompts: list[list[Call | Say]], between: Callable[[], object] = list
) -> None:
    """Run turns in a folder, each with its own steps of the model."""
    model = ScriptedModel([step for steps in prompts for step in steps])

    async def connect(_: str) -> Model:
        return model

    session = folder.parent / "session"
    session.mkdir(exist_ok=True)
    toolbox = LocalToolbox(folder, session)
    if store.length == 0:
        first = msgspec.structs.replace(opened(), cwd=str(folder), tools=toolbox.schemas)
        store.append([first], expected=0)
    agent = Agent(store=store, toolbox=toolbox, connect=connect, mode="yolo", emit=lambda _: None)
    for number in range(len(prompts)):
        await agent.run(f"prompt {number}")
        between()
    await agent.close()


def read(name: str) -> Call:
    return Call("read", {"path": name})


async def test_they_follow_the_result_once_for_each_content(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "AGENTS.md").write_text("Use tabs.")
    for name in ("x", "y"):
        (folder / "a" / name).write_text(name)
    store = MemoryStore()

    def change() -> None:
        (folder / "a" / "AGENTS.md").write_text("Use blanks.")

    turn: list[list[Call | Say]] = [[read("a/x")], [read("a/y")], [Say("done")]]
    await run(folder, store, turn, turn, between=change)
    entry, *_ = files_changed(store)
    assert [each.path for each in entry.files] == ["a/AGENTS.md"]
    assert entry.note.endswith('<instructions from="a/AGENTS.md">\nUse tabs.\n</instructions>')
    place = entries(store).index(entry)
    assert isinstance(entries(store)[place - 1], CallEnded)
    notes = [each.note for each in files_changed(store)]
    assert sum("Use blanks." in note for note in notes) == 1
    assert len(notes) == 3
    assert "Use blanks." in notes[-1]
    assert "a/AGENTS.md" in notes[1]  # that it changed, before the prompt


async def test_one_that_the_model_reads_itself_is_not_told(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "AGENTS.md").write_text("Use tabs.")
    store = MemoryStore()
    await run(folder, store, [[read("a/AGENTS.md")], [Say("done")]])
    assert files_changed(store) == []
