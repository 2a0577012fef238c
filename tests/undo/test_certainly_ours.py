"""An undo touches only what is certainly the call's: what was not seen before is not "created", and stays."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.session.journal import entries as e
from holdfast.undo.private_git import GitFailed
from holdfast.undo.snapshots import Snapshots
from skips import needs
from undo_rig import State, contents, git, undo_rig

BIG = b"l" * 2_000_000
LARGEST = b"l" * 20_000_001


def nested(folder: Path) -> None:
    (folder / "vendor").mkdir()
    (folder / "vendor" / "precious").write_text("mine\n")
    git(folder / "vendor", "init", "-q")


def ignored(folder: Path) -> None:
    (folder / ".gitignore").write_text("data.bin\n")
    (folder / "data.bin").write_bytes(BIG)


def large(folder: Path) -> None:
    (folder / "large").write_bytes(LARGEST)


def database(folder: Path) -> None:
    with sqlite3.connect(folder / "db") as opened:
        opened.execute("create table t(x)")
        opened.execute("insert into t values(zeroblob(20000000))")
    opened.close()


def pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


def closed(folder: Path) -> None:
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "m.js").write_text("m\n")


def secret(folder: Path) -> None:
    (folder / ".env").write_text("KEY=very-secret\n")


SQL = "d.execute('delete from t'); d.execute('vacuum')"
SHRINK = f"python3 -c \"import sqlite3; d = sqlite3.connect('db', isolation_level=None); {SQL}\""
NOT_KEPT: tuple[tuple[Callable[[Path], None], str, tuple[str, ...]], ...] = (
    (nested, "rm -rf vendor/.git", ("vendor/precious",)),
    (ignored, "echo '*.log' > .gitignore", ("data.bin",)),
    (ignored, "head -c 100 data.bin > t; mv t data.bin", ("data.bin",)),
    (large, "head -c 1000 large > t; mv t large", ("large",)),
    (database, SHRINK, ("db",)),
    (pipe, "rm pipe; echo x > pipe", ("pipe",)),
    (closed, "mv node_modules old", ("old/m.js",)),
    (closed, "cp -r node_modules old; rm -r node_modules", ("old/m.js",)),
    (closed, "mv node_modules old; mkdir node_modules", ("old/m.js",)),
    (secret, "mv .env settings", ("settings",)),
    (secret, "mv .env a", ("a",)),
    (secret, "cp .env settings; echo > .env", ("settings",)),
    (large, "gzip -1 large", ("large.gz",)),
)  # fmt: skip


@needs("git")
@pytest.mark.parametrize(("make", "line", "left"), NOT_KEPT)
async def test_what_was_not_kept_before_is_not_deleted_but_listed(
    tmp_path: Path, make: Callable[[Path], None], line: str, left: tuple[str, ...]
) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a").write_text("a\n")
    make(folder)
    async with undo_rig(tmp_path) as rig:
        await rig.bash(f"{line}; echo more > other; rm other")
        after = contents(folder)
        await rig.undo.rewind(rig.agent, 1, "both")
        now = contents(folder)
        assert {path: now.get(path) for path in left} == {path: after[path] for path in left}
        (ended,) = rig.of(e.RestoreEnded)
        assert isinstance(ended, e.RestoreEnded)
        listed = {each.path for each in ended.skipped}
        (moved,) = rig.of(e.FilesMoved)
        assert isinstance(moved, e.FilesMoved)
        unchanged = {"data.bin"} if "echo" in line.partition(";")[0] else set[str]()
        assert set(left) - unchanged <= listed
        assert listed.isdisjoint(unchanged)
        created = {each.path for each in moved.changes if each.before.kind == "absent"}
        assert created.isdisjoint(
            path for path in left if path in {"vendor/precious", "data.bin", "large", "db", "pipe"}
        )


@needs("git")
async def test_what_a_call_created_beside_unkept_files_that_stay_is_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    for make in (ignored, large, closed, secret, pipe):
        make(folder)
    os.mknod(folder / "socket", stat.S_IFSOCK | 0o600)
    before = kept(folder)
    async with undo_rig(tmp_path) as rig:
        await rig.bash("mkdir made; echo x > made/x; echo y > y; chmod 600 y")
        await rig.undo.rewind(rig.agent, 1, "both")
        assert kept(folder) == before
        (ended,) = rig.of(e.RestoreEnded)
        assert isinstance(ended, e.RestoreEnded)
        assert ended.skipped == ()


def kept(folder: Path) -> dict[str, State]:
    """Return the files of a folder, and its pipes and sockets."""
    found: dict[str, State] = {}
    for path in folder.rglob("*"):
        if not path.is_dir():
            found[str(path.relative_to(folder))] = ("file", path.read_bytes() if path.is_file() else "", "")
    return found


@needs("git")
def test_a_later_process_that_keeps_more_does_not_take_it_for_created(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text("data/\n")
    (folder / "data").mkdir()
    for number in range(40):
        (folder / "data" / str(number)).write_bytes(b"%d" % number * 500_000)
    first = Snapshots(tmp_path / "kept", folder)
    before = first.take()
    later = Snapshots(tmp_path / "kept", folder)
    (folder / "made").write_text("x")
    found = later.difference(before, later.take(after_call=True))
    assert [(each.path, each.before.kind) for each in found.changes] == [("made", "absent")]


@needs("git")
def test_of_two_looks_at_different_folders_nothing_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "w" / "sub"
    folder.mkdir(parents=True)
    (folder / "a").write_text("a\n")
    git(tmp_path / "w", "init", "-q")
    first = Snapshots(tmp_path / "kept", folder)
    before = first.take()
    (tmp_path / "w" / ".git").rename(tmp_path / "gone")
    later = Snapshots(tmp_path / "kept", folder)
    with pytest.raises(GitFailed, match="is another one since"):
        later.difference(before, later.take(after_call=True))


@needs("git")
async def test_odd_names_and_many_permissions_are_undone(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    git(folder, "init", "-q")
    names = (":(x)y", ":!z", "-rf", "*", "a\nb")
    for name in names:
        (folder / name).write_text("1\n")
    (folder / "private").mkdir(mode=0o700)
    (folder / "private" / "x").write_text("x\n")
    (folder / "open").mkdir()
    before = contents(folder)
    async with undo_rig(tmp_path) as rig:
        await rig.bash("chmod 600 *; chmod 700 open; rm -r private; rm -- -rf ':!z'")
        await rig.undo.rewind(rig.agent, 1, "both")
        assert contents(folder) == before
        modes = {name: (folder / name).stat().st_mode & 0o777 for name in ("private", "open")}
        assert modes == {"private": 0o700, "open": 0o755}
