"""A restore of 200 files, killed before its system calls, and killed again where it goes on: always finished."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent_harness import opened
from holdfast.session.journal import entries as e
from holdfast.session.storage.sqlite_store import SqliteStore
from skips import needs
from tiers import sampled
from undo_rig import contents, undo_rig

FILES = 200
PROGRAM = """\
import asyncio, os, signal, sys
from pathlib import Path
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.undo import restore_steps
from undo_rig import undo_rig

home, last, what = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
count = 0
CALLS = ("open", "rename", "unlink", "mkdir", "rmdir", "symlink", "fchmod", "fsync")

def struck(name):
    call = getattr(os, name)
    def wrapped(*args, **kwargs):
        global count
        count += 1
        if count == last and what != "full":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "full" and count >= last and name == "open" and args[1] & os.O_CREAT:
            raise OSError(28, "No space left on device")
        return call(*args, **kwargs)
    return wrapped

carried_out = restore_steps.carried_out

def counted(*args, **kwargs):
    for name in CALLS:
        setattr(os, name, struck(name))
    return carried_out(*args, **kwargs)

import holdfast.undo.session_undo as module
module.carried_out = counted

async def main():
    async with undo_rig(home, SqliteStore.open(home / "home" / "s")) as rig:
        if what != "recover":
            await rig.undo.rewind(rig.agent, 1, "both")
        else:
            await rig.agent.recover()
    print(count)

asyncio.run(main())
"""


async def prepared(home: Path) -> tuple[dict[str, object], dict[str, object]]:
    """Make a session whose one turn changed 200 paths of each kind; return what they were, and what they are."""
    folder = home / "w"
    for number in range(FILES):
        path = folder / f"d{number % 7}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n")
    (home / "home" / "s").mkdir(parents=True)
    store = SqliteStore.create(home / "home" / "s")
    store.append([opened()], expected=0)
    before = contents(folder)
    async with undo_rig(home, store) as rig:
        await rig.bash(
            "rm -r d0 && sed -i s/1/one/ d1/* d2/* && chmod 600 d3/* && mkdir -p new/deep && mv d4/* new/deep "
            "&& rm d5/* && mkdir d5/f5 && ln -s d1 link && touch d5/f5/x"
        )
    return dict(before), dict(contents(folder))


def run(home: Path, last: int, what: str) -> subprocess.CompletedProcess[str]:
    """Undo in a process that kills itself before that system call; 0 counts them."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(home), str(last), what],
        check=False,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
        timeout=120,
    )


async def expect_finished(home: Path, before: dict[str, object]) -> None:
    """Assert that the next process ends the restore, and that everything is as it was."""
    async with undo_rig(home, SqliteStore.open(home / "home" / "s")) as rig:
        await rig.agent.recover()
        assert contents(rig.folder) == before
        started, ended, rewound = (rig.of(kind) for kind in (e.RestoreStarted, e.RestoreEnded, e.Rewound))
        assert (len(started), len(ended), len(rewound)) == (1, 1, 1)
        assert isinstance(ended[0], e.RestoreEnded)
        assert ended[0].skipped == ()
        await rig.undo.redo(rig.agent)
        await rig.undo.rewind(rig.agent, 1, "files")
        assert contents(rig.folder) == before


@needs("git", "linux")
@pytest.mark.parametrize("last", sampled(range(1, 901, 9), 4))
async def test_a_killed_restore_is_finished_by_the_next_process(tmp_path: Path, last: int) -> None:
    before, _ = await prepared(tmp_path)
    killed = run(tmp_path, last, "undo")
    assert killed.returncode == -9, killed.stderr
    run(tmp_path, 1 + last // 2, "recover")
    await expect_finished(tmp_path, before)


@needs("git", "linux")
async def test_the_restore_has_so_many_system_calls(tmp_path: Path) -> None:
    await prepared(tmp_path)
    done = run(tmp_path, 0, "undo")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 900


@needs("git", "linux")
async def test_a_full_disk_ends_a_restore_which_is_done_once_there_is_room(tmp_path: Path) -> None:
    before, after = await prepared(tmp_path)
    assert run(tmp_path, 500, "full").returncode == 0
    async with undo_rig(tmp_path, SqliteStore.open(tmp_path / "home" / "s")) as rig:
        (ended,) = rig.of(e.RestoreEnded)
        assert isinstance(ended, e.RestoreEnded)
        left = {each.path for each in ended.skipped}
        assert left
        assert {each.why for each in ended.skipped} == {"the disk could not take it: No space left on device"}
        now = contents(rig.folder)
        assert now != before
        paths = now.keys() | before.keys() | after.keys()
        assert {path for path in paths if now.get(path) not in (before.get(path), after.get(path))} == set()
        assert {path for path in paths if now.get(path) != before.get(path)} <= left
        await rig.undo.redo(rig.agent)
        assert contents(rig.folder) == after
        await rig.undo.rewind(rig.agent, 1, "files")
        assert contents(rig.folder) == before
