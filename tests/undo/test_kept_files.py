"""What is kept, and what is not: bytes as they are, no secrets, for the user alone; and a restore is always ended."""

from __future__ import annotations

import os
import stat
import zlib
from pathlib import Path

import pytest

from holdfast.session.journal import entries as e
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call
from holdfast.undo.budget import UndoBudget, kept_by_session
from holdfast.undo.kept_contents import KeptContents, kept_bytes
from holdfast.undo.known_states import ABSENT_STATE
from holdfast.undo.path_changes import PathChanged, make
from holdfast.undo.path_states import look
from holdfast.undo.scan import DEPENDENCY_FOLDERS
from skips import needs
from undo_rig import contents, git, undo_rig

ENCODED = "*.x working-tree-encoding=UTF-16LE eol=lf"
LIMITS = Path(__file__).parents[2] / "docs/reference/limits.md"


def objects(folder: Path) -> list[bytes]:
    """Return everything that is kept below a folder of the undo."""
    found = (path for path in (folder / "objects").rglob("*") if path.is_file() and len(path.name) == 38)
    return [zlib.decompress(path.read_bytes()) for path in found]


@needs("git")
async def test_line_ends_that_git_converts_come_back_as_they_were(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".gitattributes").write_text("*.txt text eol=crlf\n")
    (folder / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    os.utime(folder / "a.txt", (1, 1))  # of a file that is as old as its index, git looks at the content
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    before = contents(folder)
    async with undo_rig(tmp_path) as rig:
        await rig.bash("rm a.txt")
        await rig.undo.rewind(rig.agent, 1, "files")
        assert contents(folder) == before


def attributes(folder: Path, line: str, where: str) -> None:
    """Give a repository an attribute, in one of the places where git looks for them."""
    match where:
        case "folder":
            (folder / "sub" / ".gitattributes").write_text(line)
        case "setting":
            (folder / ".git" / "mine").write_text(line)
            git(folder, "config", "core.attributesFile", str(folder / ".git" / "mine"))
        case _:
            (folder / ".git" / "info" / "attributes").write_text(line)


@needs("git")
@pytest.mark.parametrize(
    ("line", "where"), [("*.x filter=rot", "folder"), ("*.x filter=rot", "setting"), (ENCODED, "info")]
)
async def test_what_git_converts_into_as_many_bytes_comes_back_as_it_was(tmp_path: Path, line: str, where: str) -> None:
    folder = tmp_path / "w"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "config", "filter.rot.clean", "tr a-z A-Z")
    attributes(folder, f"{line}\n", where)
    content = "a漢".encode("utf-16le")
    (folder / "sub" / "a.x").write_bytes(content if line == ENCODED else b"hello\n")
    os.utime(folder / "sub" / "a.x", (1, 1))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    before = contents(folder)
    async with undo_rig(tmp_path) as rig:
        await rig.bash("rm sub/a.x")
        await rig.undo.rewind(rig.agent, 1, "files")
        assert contents(folder) == before


@needs("git")
@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
async def test_what_git_leaves_out_is_looked_at(tmp_path: Path, flag: str) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a").write_text("committed\n")
    (folder / "b").write_text("committed\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    git(folder, "update-index", flag, "a", "b")
    (folder / "a").write_text("mine: a change that is not committed\n")
    before = contents(folder)
    async with undo_rig(tmp_path) as rig:
        await rig.bash("rm a; echo changed > b")
        (moved,) = rig.of(e.FilesMoved)
        assert isinstance(moved, e.FilesMoved)
        assert [each.path for each in moved.changes] == ["a", "b"]
        await rig.undo.rewind(rig.agent, 1, "files")
        assert contents(folder) == before


@needs("git")
async def test_secrets_are_not_kept_and_the_rest_is_for_the_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / ".env").write_text("KEY=very-secret\n")
    (folder / "a.txt").write_text("open\n")
    async with undo_rig(tmp_path) as rig:
        await rig.bash("echo >> .env; echo >> a.txt")
        kept = rig.session / "undo"
        assert any(b"open" in each for each in objects(kept))
        assert not any(b"very-secret" in each for each in objects(kept))
        modes = [stat.S_IMODE(path.lstat().st_mode) for path in kept.rglob("*") if path.is_file()]
        assert modes
        assert all(mode & 0o077 == 0 for mode in modes)
        (moved,) = rig.of(e.FilesMoved)
        assert isinstance(moved, e.FilesMoved)
        assert moved.uncovered == (".env",)


async def test_a_restore_without_an_end_is_ended_by_the_next_process(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "a").write_text("one\n")
    async with undo_rig(tmp_path) as rig:
        await rig.calls(Call("write", {"path": "a", "content": "two\n"}))
        await rig.undo.rewind(rig.agent, 1, "both")
        entries = rig.entries
    at = next(number for number, each in enumerate(entries) if isinstance(each, e.RestoreEnded))
    assert [type(each) for each in entries[at:]] == [e.RestoreEnded, e.Rewound]
    (folder / "a").write_text("two\n")
    cut = MemoryStore()
    cut.append(entries[:at], expected=0)
    async with undo_rig(tmp_path, cut) as again:
        await again.agent.recover()
        assert (folder / "a").read_text() == "one\n"
        assert [type(each) for each in again.entries[at:]] == [e.RestoreEnded, e.Rewound]


async def test_what_is_kept_of_a_call_is_durable_with_its_start(tmp_path: Path) -> None:
    async with undo_rig(tmp_path) as rig:
        await rig.calls(Call("write", {"path": "deep/a", "content": "one\n"}))
        at = next(number for number, each in enumerate(rig.entries) if isinstance(each, e.SnapshotTaken))
        taken, started = rig.entries[at : at + 2]
        assert isinstance(started, e.CallStarted)
        assert taken == e.SnapshotTaken(
            call=started.call,
            states={"deep": ABSENT_STATE, "deep/a": ABSENT_STATE},
            seconds=taken.seconds if isinstance(taken, e.SnapshotTaken) else 0.0,
        )


@needs("git")
async def test_what_only_old_turns_need_is_deleted_beyond_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.undo.session_undo.CALLS_BETWEEN", 1)
    async with undo_rig(tmp_path) as rig:
        for number in range(4):
            await rig.bash(f"echo version-{number} > a; echo only-{number} > b{number}")
        before = contents(rig.folder)
        rig.undo.budget = UndoBudget(turns=2, session=1)
        await rig.bash("true")
        assert not any(b"version-0" in each for each in objects(rig.session / "undo"))
        rig.undo.budget = UndoBudget()
        await rig.undo.rewind(rig.agent, 4, "files")
        assert (rig.folder / "a").read_text() == "version-2\n"
        await rig.undo.redo(rig.agent)
        assert contents(rig.folder) == before
        await rig.undo.rewind(rig.agent, 1, "files")
        assert contents(rig.folder) == {}


@needs("git")
async def test_other_sessions_count_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.undo.session_undo.CALLS_BETWEEN", 1)
    async with undo_rig(tmp_path) as rig:
        (rig.session.parent / "other" / "undo").mkdir(parents=True)
        (rig.session.parent / "other" / "undo" / "a").write_bytes(bytes(200_000))
        assert kept_by_session(rig.session.parent) == {"other": kept_bytes(rig.session.parent / "other")}
        rig.undo.budget = UndoBudget(total=100_000)
        await rig.bash("echo 1 > a", "echo 2 > a")
        failed = [each.failed for each in rig.of(e.SnapshotTaken) if isinstance(each, e.SnapshotTaken)]
        assert any("undo.max_total" in each for each in failed)


def test_a_path_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    kept = KeptContents(tmp_path / "kept")
    (tmp_path / "a").write_text("one\n")
    before = look(tmp_path, "a", kept, keep=True)
    (tmp_path / "a").write_text("two\n")
    with pytest.raises(PathChanged, match="changed since"):
        make(tmp_path, "a", before, ABSENT_STATE, kept, temporary=".t")
    assert (tmp_path / "a").read_text() == "two\n"
    (tmp_path / "a").unlink()
    (tmp_path / "a").mkdir()
    with pytest.raises(PathChanged, match="changed since"):
        make(tmp_path, "a", before, ABSENT_STATE, kept, temporary=".t")
    assert (tmp_path / "a").is_dir()


def test_nothing_is_done_through_a_link(tmp_path: Path) -> None:
    kept = KeptContents(tmp_path / "kept")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a").write_text("one\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "d").symlink_to("../other")
    assert look(tmp_path / "w", "d/a", kept).kind == "other"
    with pytest.raises(PathChanged):
        make(tmp_path / "w", "d/a", e.PathState("file", "0" * 40, 0o644), ABSENT_STATE, kept, temporary=".t")
    assert (tmp_path / "other" / "a").exists()


def test_the_page_of_limits_lists_every_folder_that_is_skipped() -> None:
    page = LIMITS.read_text(encoding="utf-8").partition("## Undo")[2]
    assert [name for name in DEPENDENCY_FOLDERS if f"`{name}`" not in page] == []
