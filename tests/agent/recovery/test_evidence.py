"""What a look at the world tells: files that changed behind the model's back, and calls without an outcome."""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given

from agent_harness import Rig
from evidence_journals import SEEN, edits, notes, reads
from holdfast.agent.context.changed_files import changed_files, files_seen
from holdfast.agent.recovery.evidence import gather_evidence
from holdfast.agent.recovery.recovery import FILE_LOOK
from holdfast.session.conversation.fold import Fold
from holdfast.session.journal.entries import CallStarted, Entry, FilesChanged, PromptAccepted, TurnEnded
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tool_calls import FileChange, FileSeen, is_stale
from holdfast.tools.tool import ToolContext, ToolOutput
from journals import journals
from laws import law

OTHER = FileSeen(path="a.py", size=3, modified=2, sha256="b" * 64)
GONE = FileSeen(path="a.py")


async def test_each_change_is_reported_once_before_the_next_prompt() -> None:
    rig = Rig(ScriptedModel([[Call("reads", {})], *[[Say("ok")]] * 7]))
    files: dict[str, FileSeen] = {}
    rig.toolbox = FunctionToolbox([reads(SEEN)], files=files)
    rig.agent = rig.new_agent()
    counts: list[int] = []
    for now in (SEEN, SEEN, OTHER, OTHER, SEEN, GONE, GONE):
        files["a.py"] = now
        await rig.agent.run("go on")
        counts.append(len(notes(rig)))
    assert counts == [0, 0, 1, 1, 1, 2, 2]
    assert "changed since you last read or wrote them: a.py." in notes(rig)[0]
    assert "these were deleted: a.py." in notes(rig)[1]
    assert [entry for entry in rig.facts if isinstance(entry, FilesChanged)] == [
        entry for entry in rig.entries if isinstance(entry, FilesChanged)
    ]


@pytest.mark.parametrize(
    ("before", "outcome"),
    [("a" * 64, "ok"), ("b" * 64, "failed"), (None, "ok")],
    ids=["as it was seen", "changed", "not there"],
)
async def test_a_change_of_what_the_model_has_not_seen_is_not_made(before: str | None, outcome: str) -> None:
    change = FileChange(path="a.py", before=before, after="c" * 64)
    rig = Rig(ScriptedModel([[Call("reads", {})], [Call("edits", {}), Call("edits", {})], [Say("ok")]]))
    rig.toolbox = FunctionToolbox([reads(SEEN), edits(change)])
    rig.agent = rig.new_agent()
    await rig.agent.run("edit it")
    first = rig.results()["edits"] if outcome == "failed" else None
    assert rig.outcomes["edits"] in ("failed", "ok")
    if first is not None:
        assert first.text.startswith("File 'a.py' changed since you last read or wrote it")
    started = [entry for entry in rig.entries if isinstance(entry, CallStarted) and entry.changes]
    assert bool(started) == (outcome == "ok")


def test_what_cannot_be_told_apart_may_be_changed() -> None:
    change = FileChange(path="a.py", before="b" * 64, after="c" * 64)
    assert is_stale(change, SEEN)
    assert not is_stale(change, None)
    assert not is_stale(change, replace_hash(SEEN))
    assert not is_stale(FileChange(path="a.py", before=None, after="c" * 64), SEEN)


def replace_hash(seen: FileSeen) -> FileSeen:
    return FileSeen(path=seen.path, size=seen.size, modified=seen.modified)


@law()
@given(journals)
def test_what_was_told_is_no_news_and_what_was_seen_neither(journal: list[Entry]) -> None:
    fold = Fold(journal)
    assert changed_files(files_seen(fold), FunctionToolbox(()), ()) == ()
    away = FunctionToolbox((), files={path: FileSeen(path=path, size=77) for path in fold.files})
    for entry in changed_files(files_seen(fold), away, (away.instructions,)):
        fold.add(entry)
    assert changed_files(files_seen(fold), away, (away.instructions,)) == ()


def test_a_change_that_landed_is_seen_and_a_command_is_looked_at_from_when_it_began() -> None:
    lookups: list[tuple[str, float]] = []

    class Box(FunctionToolbox):
        def traces(self, spool: str, since: float) -> None:
            lookups.append((spool, since))

    landed, not_landed = (FileChange(path=path, before=None, after="c" * 64) for path in ("a.py", "b.py"))
    started = [
        CallStarted(call="A", effect="write", changes=(landed,)),
        CallStarted(call="B", effect="write", changes=(not_landed,)),
        CallStarted(call="C", effect="execute", spool="C.out"),
    ]
    box = Box((), file_checks={"a.py": "after", "b.py": "before"}, files={"a.py": OTHER})
    known = gather_evidence(started, box, seconds={}, began={"C": 12.5}, ended={}, gap=False)
    assert known.file_checks == {"A": (("a.py", "after"),), "B": (("b.py", "before"),)}
    assert known.snapshots == {"A": (OTHER,), "B": ()}
    assert lookups == [("C.out", 12.5)]


class Slow(FunctionToolbox):
    """A toolbox whose files are on a disk that does not answer."""

    def current_snapshot(self, snapshot: FileSeen) -> FileSeen:
        del snapshot
        threading.Event().wait()
        raise AssertionError


async def slow() -> Rig:
    """Return a rig whose model has seen a file that cannot be looked at any more."""
    rig = Rig(ScriptedModel([[Call("reads", {})], [Say("ok")], [Say("still here")]]))
    rig.toolbox = Slow([reads(SEEN)])
    rig.agent = rig.new_agent()
    await rig.agent.run("read it")
    return rig


async def test_a_disk_that_does_not_answer_holds_up_a_prompt_for_so_long_and_no_longer() -> None:
    rig = await slow()
    loop = asyncio.get_running_loop()
    began = loop.time()
    ended = await rig.agent.run("go on")
    assert ended.cause == "finished"
    assert loop.time() - began < FILE_LOOK + 1


async def test_a_cancellation_during_the_look_keeps_the_prompt_and_is_raised() -> None:
    rig = await slow()
    turn = asyncio.create_task(rig.agent.run("go on"))
    await asyncio.sleep(0.01)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    prompt, end = rig.entries[-2:]
    assert isinstance(prompt, PromptAccepted)
    assert isinstance(end, TurnEnded)
    assert (prompt.text, end.cause) == ("go on", "external")


async def test_a_stop_during_the_look_ends_the_turn_at_once() -> None:
    rig = await slow()
    turn = asyncio.create_task(rig.agent.run("go on"))
    await asyncio.sleep(0.01)
    rig.agent.stop()
    ended = await asyncio.wait_for(turn, 1)
    assert ended.cause == "user"


async def test_changes_are_reported_before_a_queued_message_too() -> None:
    files: dict[str, FileSeen] = {}
    rig = Rig(ScriptedModel([[Call("reads", {}), Call("waits", {})], [Say("ok")], [Say("and then")]]))
    started, opened = asyncio.Event(), asyncio.Event()

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        started.set()
        await opened.wait()
        return ToolOutput(text="ok")

    rig.toolbox = FunctionToolbox([reads(SEEN), FunctionTool("waits", "execute", run)], files=files)
    rig.agent = rig.new_agent()
    turn = asyncio.create_task(rig.agent.run("go"))
    await started.wait()
    rig.agent.queue("go on", "later")
    files["a.py"] = OTHER
    opened.set()
    assert (await turn).turn == 2
    changed, prompt = [entry for entry in rig.entries if isinstance(entry, FilesChanged | PromptAccepted)][1:]
    assert isinstance(changed, FilesChanged)
    assert isinstance(prompt, PromptAccepted)
    assert prompt.text == "go on"
    assert len(notes(rig)) == 1
