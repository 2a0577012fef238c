"""What an interrupted call did is looked at: after a kill, after a stop, and said only of what was seen."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agent_harness import opened
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import MemoryStore
from holdfast.session.observed_effects import observed_effect
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.script import Call
from polling import eventually
from skips import needs
from undo_rig import contents, undo_rig, until

PROGRAM = """\
import asyncio, sys
from pathlib import Path
from holdfast.session.storage.sqlite_store import SqliteStore
from undo_rig import undo_rig

async def main():
    home = Path(sys.argv[1])
    async with undo_rig(home, SqliteStore.open(home / "home" / "s")) as rig:
        await rig.bash(sys.argv[2])

asyncio.run(main())
"""

KILLED = (
    ("echo more >> log; echo x > made; touch ready; sleep 100", "It created made, ready and changed log."),
    ("rm gone; touch ready; sleep 100", "It created ready and deleted gone."),
    ("mv gone moved; touch ready; sleep 100", "It created moved, ready and deleted gone."),
    ("touch ready && rm ready; touch /tmp/{mark}; sleep 100", "none was changed."),
)


@needs("git", "linux")
@pytest.mark.parametrize(("line", "words"), KILLED)
async def test_what_a_killed_command_did_is_said_and_can_be_undone(tmp_path: Path, line: str, words: str) -> None:
    folder = tmp_path / "w"
    (tmp_path / "home" / "s").mkdir(parents=True)
    folder.mkdir()
    (folder / "log").write_text("one\n")
    (folder / "gone").write_text("two\n")
    before = contents(folder)
    mark = Path("/tmp") / f"undo-{tmp_path.name}"
    store = SqliteStore.create(tmp_path / "home" / "s")
    store.append([opened()], expected=0)
    store.close()
    ready = mark if "{mark}" in line else folder / "ready"
    with subprocess.Popen(  # noqa: ASYNC220 - it returns at once
        [sys.executable, "-c", PROGRAM, str(tmp_path), line.replace("{mark}", mark.name)],
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
    ) as killed:
        eventually(ready.exists)
        sign, seen = tmp_path / "home" / "s" / "undo" / "alive", ready.lstat().st_ctime_ns
        eventually(lambda: sign.exists() and sign.lstat().st_mtime_ns > seen)  # it lived on behind the change
        killed.kill()
    mark.unlink(missing_ok=True)
    async with undo_rig(tmp_path, SqliteStore.open(tmp_path / "home" / "s")) as rig:
        await rig.agent.recover()
        (ended,) = rig.of(e.CallEnded)
        assert isinstance(ended, e.CallEnded)
        assert ended.outcome == "interrupted"
        assert words in ended.text
        assert ended.observed == ("unknown" if "none" in words else "part")
        assert "Effect unknown outside of this folder. " in ended.text
        (moved,) = rig.of(e.FilesMoved)
        assert isinstance(moved, e.FilesMoved)
        assert moved.later
        if moved.changes:  # may be empty: the last line changes nothing in the folder
            await rig.undo.rewind(rig.agent, 1, "files")
        assert contents(folder) == before


@needs("git", "linux")
async def test_what_a_stopped_command_did_is_said_behind_its_turn(tmp_path: Path) -> None:
    async with undo_rig(tmp_path) as rig:
        turn = asyncio.create_task(rig.bash("echo x > made; touch ready; sleep 100"))
        await until((rig.folder / "ready").exists)
        rig.agent.stop()
        await turn
        await until(lambda: bool(rig.of(e.FilesMoved)))
        (moved,) = rig.of(e.FilesMoved)
        assert isinstance(moved, e.FilesMoved)
        assert not moved.later
        assert "It created made, ready." in moved.note
        await rig.calls(Call("read", {"path": "made"}))
        assert moved.note in str(rig.agent.conversation.messages)
        await rig.undo.rewind(rig.agent, 1, "files")
        assert not (rig.folder / "made").exists()


@needs("git", "linux")
async def test_what_happened_after_a_crash_is_left_alone_and_not_said_of_the_command(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    for name in ("essay", "gone", "log"):
        (folder / name).write_text("draft\n")
    async with undo_rig(tmp_path) as rig:
        turn = asyncio.create_task(rig.bash("echo x > made; echo y > log; rm gone; touch ready; sleep 100"))
        await until((folder / "ready").exists)
        sign, seen = rig.session / "undo" / "alive", (folder / "ready").lstat().st_ctime_ns
        await until(lambda: sign.exists() and sign.lstat().st_mtime_ns > seen)
        entries = rig.entries
        rig.agent.stop()
        await turn
    cut = MemoryStore()
    cut.append(entries, expected=0)
    (folder / "essay").write_text("two hours of work\n")
    (folder / "mine").write_text("new\n")
    async with undo_rig(tmp_path, cut) as again:
        await again.agent.recover()
        (ended,) = again.of(e.CallEnded)
        assert isinstance(ended, e.CallEnded)
        assert "It created made, ready and changed log." in ended.text
        assert "Since it began, it or another program created mine and changed essay and deleted gone." in ended.text
        await again.undo.rewind(again.agent, 1, "files")
        texts = {path: state[1] for path, state in contents(folder).items()}
        assert texts == {
            "essay": b"two hours of work\n",
            "mine": b"new\n",
            "log": b"draft\n",
            "gone": b"draft\n",
        }
        (restored,) = again.of(e.RestoreEnded)
        assert isinstance(restored, e.RestoreEnded)
        assert {each.path for each in restored.skipped} == {"essay", "mine"}


@needs("git")
async def test_no_sign_of_life_is_given_when_no_call_runs(tmp_path: Path) -> None:
    async with undo_rig(tmp_path) as rig:
        await rig.turn((Call("bash", {"command": "echo x > a"}), Call("bash", {"command": "echo y > b"})))
        sign = rig.session / "undo" / "alive"
        await until(lambda: not any(each.name == "signs of life" for each in threading.enumerate()))
        assert sign.exists()


@needs("git", "linux")
async def test_without_a_sign_of_life_only_what_is_gone_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "gone").write_text("one\n")
    async with undo_rig(tmp_path) as rig:
        await rig.bash("rm gone; echo x > made")
        entries = rig.entries
    cut = MemoryStore()
    last = next(at for at, each in enumerate(entries) if isinstance(each, e.CallEnded))
    cut.append(entries[:last], expected=0)
    (rig.session / "undo" / "alive").unlink()
    async with undo_rig(tmp_path, cut) as again:
        await again.agent.recover()
        (ended,) = again.of(e.CallEnded)
        assert isinstance(ended, e.CallEnded)
        assert "Since it began, it or another program created made and deleted gone." in ended.text
        await again.undo.rewind(again.agent, 1, "files")
        assert contents(folder).keys() == {"gone", "made"}


async def test_an_edit_that_was_killed_behind_its_effect_can_be_undone(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "a").write_text("one\n")
    async with undo_rig(tmp_path) as rig:
        await rig.calls(
            Call("write", {"path": "a", "content": "two\n"}), Call("write", {"path": "b", "content": "b\n"})
        )
        store, entries = rig.store, rig.entries
        last = next(at for at, each in enumerate(entries) if isinstance(each, e.CallEnded))
    cut = type(store)()
    cut.append(entries[:last], expected=0)
    (folder / "b").unlink()
    async with undo_rig(tmp_path, cut) as again:
        await again.agent.recover()
        (ended,) = again.of(e.CallEnded)
        assert isinstance(ended, e.CallEnded)
        assert ended.observed == "all"
        await again.undo.rewind(again.agent, 1, "files")
        assert (folder / "a").read_text() == "one\n"


def test_only_what_was_seen_is_said() -> None:
    made = e.PathChange("made", e.PathState("absent"), e.PathState("file", "0" * 40, 0o644))
    moved = e.FilesMoved(call="c", changes=(made,), uncovered=("big.bin",))
    assert observed_effect(None, "") == ("unknown", "")
    assert observed_effect(e.FilesMoved(call="c", failed="It took too long."), "workspace") == ("unknown", "")
    assert observed_effect(None, "read")[0] == "no_effect"
    observed, words = observed_effect(moved, "workspace")
    assert observed == "part"
    assert words.startswith("It created made. Of files that are not kept: big.bin changed. It could write only in this")
    assert words.endswith("and had no network.")
    assert observed_effect(e.FilesMoved(call="c"), "network")[0] == "unknown"
