from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from holdfast.tool_calls import FileSeen
from holdfast.tools.builtin.edit import EditTool
from holdfast.tools.builtin.read_write import ReadTool, WriteTool
from holdfast.tools.tool import Workspace
from holdfast.tools.workspace.file_snapshots import LARGEST_HASHED, current_snapshot
from tool_harness import called, workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return workspace(tmp_path)


def seen(space: Workspace, name: str = "a.txt") -> FileSeen:
    """Return the file as reading it says it was."""
    (found,) = called(ReadTool(space), path=name).snapshots
    assert found is not None
    return found


def test_a_file_is_the_same_until_its_content_is_another(space: Workspace) -> None:
    file = space.root / "a.txt"
    file.write_text("one\n")
    before = seen(space)
    assert before == FileSeen(
        path="a.txt",
        size=4,
        modified=file.stat().st_mtime_ns,
        sha256=hashlib.sha256(b"one\n").hexdigest(),
    )
    assert current_snapshot(space.root, before) is before
    os.utime(file, ns=(1, 1))
    assert current_snapshot(space.root, before).same(before)
    file.write_text("two\n")
    assert not current_snapshot(space.root, before).same(before)
    file.write_text("one\n")
    assert current_snapshot(space.root, before).same(before)


def test_what_was_written_and_edited_is_seen_as_it_is_on_the_disk(space: Workspace) -> None:
    (written,) = called(WriteTool(space), path="new/a.txt", content="one\n").snapshots
    assert written == seen(space, "new/a.txt")
    (edited,) = called(EditTool(space), path="new/a.txt", old="one", new="two").snapshots
    assert edited == seen(space, "new/a.txt")
    assert not edited.same(written)


def test_a_window_is_of_the_whole_file_and_an_empty_file_is_one(space: Workspace) -> None:
    (space.root / "a.txt").write_text("1\n2\n3\n")
    (window,) = called(ReadTool(space), path="a.txt", offset=2, limit=1).snapshots
    assert window == seen(space)
    (space.root / "empty").touch()
    assert seen(space, "empty").size == 0


def test_a_large_file_is_recognized_by_its_size_and_time(space: Workspace) -> None:
    file = space.root / "big.log"
    file.write_bytes(b"line\n" * (LARGEST_HASHED // 5 + 1))
    (before,) = called(ReadTool(space), path="big.log", limit=1).snapshots
    assert before.sha256 == ""
    assert current_snapshot(space.root, before).same(before)
    os.utime(file, ns=(1, 1))
    assert not current_snapshot(space.root, before).same(before)
    file.write_text("small\n")
    assert not current_snapshot(space.root, before).same(before)


def test_a_file_that_is_gone_or_something_else_is_gone(space: Workspace) -> None:
    file = space.root / "sub" / "a.txt"
    file.parent.mkdir()
    for replace in (lambda: None, file.mkdir, lambda: os.mkfifo(file)):
        file.write_text("one\n")
        before = seen(space, "sub/a.txt")
        file.unlink()
        replace()
        assert current_snapshot(space.root, before) == FileSeen(path="sub/a.txt")
        if file.is_dir():
            file.rmdir()
        else:
            file.unlink(missing_ok=True)
    file.parent.rmdir()
    assert current_snapshot(space.root, before).size is None
    file.parent.write_text("a file where the folder was\n")
    assert current_snapshot(space.root, before).size is None
    back = current_snapshot(space.root, FileSeen(path="sub"))
    assert not back.same(FileSeen(path="sub"))


def test_of_what_is_out_of_reach_nothing_is_said(space: Workspace) -> None:
    known = FileSeen(path="a.txt", size=4, modified=1, sha256="0" * 64)
    assert current_snapshot(space.root / "gone", known) is known
    (space.root / "a.txt").symlink_to("b.txt")  # not ours to follow: it is read under the name it leads to
    assert current_snapshot(space.root, known) is known
    unreachable = FileSeen(path="a\0b", size=4)
    assert current_snapshot(space.root, unreachable) is unreachable
