"""What `/diff` shows: edits by file and in order, and git's own words for everything else."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from holdfast.errors import UsageError
from holdfast.session.journal.parts import CallPart
from holdfast.ui.tui.pages import git_diff
from holdfast.ui.tui.pages.diff_screen import heading
from holdfast.ui.tui.pages.file_diffs import MOST_LINES, ShownDiff, edit_diffs, git_diffs, new_file
from holdfast.ui.tui.pages.git_diff import working_tree
from holdfast.ui.tui.render.diff import with_hidden
from holdfast.ui.view.blocks import CallBlock, UserBlock, call_block


def call(name: str, state: str = "ok", **arguments: str) -> CallBlock:
    block = call_block(CallPart(id="c", name=name, arguments=json.dumps(arguments)), "k", cut=False)
    return msgspec.structs.replace(block, state=state)


def signs(file: ShownDiff) -> list[str]:
    return [f"{line.sign}{line.text}" for line in file.lines]


PROMPT = UserBlock(key="p", turn=2, text="more")
PATCH = "*** Begin Patch\n*** Update File: b.py\n@@\n one\n-two\n+2\n*** Add File: c.py\n+new\n*** End Patch"


def test_edits_are_shown_by_file() -> None:
    blocks = [
        call("write", path="a.py", content="x\ny\n"),
        call("edit", "failed", path="never.py", old="x", new="z"),
        PROMPT,
        call("edit", path="a.py", old="x", new="z"),
        call("apply_patch", input=PATCH),
        call("edit", path="a.py", old="y", new="w"),
        call("bash", command="rm a.py"),
    ]
    session = edit_diffs(blocks, turn=False)
    assert [file.path for file in session] == ["a.py", "b.py", "c.py"]
    assert signs(session[0]) == ["+x", "+y", "…", "-x", "+z", "…", "-y", "+w"]
    assert signs(session[1]) == [" one", "-two", "+2"]
    assert signs(session[2]) == ["+new"]
    turn = edit_diffs(blocks, turn=True)
    assert signs(turn[0]) == ["-x", "+z", "…", "-y", "+w"]
    assert (turn[0].added, turn[0].removed) == (2, 2)
    assert edit_diffs([*blocks, PROMPT], turn=True) == ()
    assert "1/3  a.py  +2 -2" in heading("turn", turn, 0).plain


def test_a_long_file_is_cut_and_says_so() -> None:
    file = new_file("a", "x\n" * (MOST_LINES + 3))
    assert file.added == MOST_LINES + 3
    assert "… 3 more lines" in str(file.fragments()[-1])


def git(root: Path, *words: str) -> None:
    who = {f"GIT_{role}_{what}": "x@y" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *words], cwd=root, env={**os.environ, **who}, check=True, capture_output=True)


def test_the_working_tree(tmp_path: Path) -> None:
    """With renamed, deleted, binary and untracked files, also before the first commit; a repository runs nothing."""
    with pytest.raises(UsageError, match="not in a git repository"):
        working_tree(tmp_path / "nowhere", os.environ)
    root = tmp_path / "r"
    root.mkdir()
    git(root, "init", "-q")
    (root / "old name.txt").write_text("one\ntwo\nthree\nfour\n")
    (root / "gone.txt").write_text("gone\n")
    (root / "same.txt").write_text("a\nb\nc\n")
    (root / "data.bin").write_bytes(b"\0\1")
    git(root, "add", "-A")
    (found,) = [file for file in working_tree(root, os.environ) if file.path == "same.txt"]
    assert signs(found) == ["+a", "+b", "+c"]
    git(root, "commit", "-q", "-m", "x")
    assert working_tree(root, os.environ) == ()
    git(root, "mv", "old name.txt", "ünew.txt")
    (root / "gone.txt").unlink()
    (root / "same.txt").write_text("a\nB\nc\n")
    (root / "data.bin").write_bytes(b"\0\2")
    (root / "fresh.txt").write_text("f\x1b[2J\n")
    (root / "link").symlink_to("/etc/passwd")
    git(root, "config", "diff.external", f"touch {tmp_path}/ran")
    git(root, "config", "core.fsmonitor", f"touch {tmp_path}/ran")
    hook = root / ".git/hooks/post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    files = {file.path: file for file in working_tree(root, os.environ)}
    assert set(files) == {"ünew.txt", "gone.txt", "same.txt", "data.bin", "fresh.txt", "link"}
    assert signs(files["same.txt"]) == [" a", "-b", "+B", " c"]
    assert [line.number for line in files["same.txt"].lines] == [1, 2, 2, 3]
    assert signs(files["gone.txt"]) == ["-gone"]
    assert "rename" in files["ünew.txt"].note
    assert "Binary" in files["data.bin"].note
    assert files["link"].lines == ()
    assert "\x1b" not in str(files["fresh.txt"].lines)
    assert not (tmp_path / "ran").exists()
    assert git_diffs("") == ()


def test_what_is_far_from_a_change_is_folded_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a diff that is too large with all of its lines, the folds say how many there are, and do not open."""
    git(tmp_path, "init", "-q")
    lines = [f"{number}" for number in range(1, 61)]
    (tmp_path / "a").write_text("".join(f"{line}\n" for line in lines))
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "x")
    lines[29] = "thirty"
    (tmp_path / "a").write_text("".join(f"{line}\n" for line in lines))
    (file,) = working_tree(tmp_path, os.environ)
    assert signs(file) == [
        "…26 unchanged lines",
        " 27",
        " 28",
        " 29",
        "-30",
        "+thirty",
        " 31",
        " 32",
        " 33",
        *signs(file)[9:],
    ]
    assert [each.text for each in with_hidden(file.lines) if each.sign != "-"] == lines
    assert [type(each).__name__ for each in file.fragments()] == ["DiffFold", "Diff", "DiffFold"]
    monkeypatch.setattr(git_diff, "LARGEST_FULL_DIFF", 100)
    (large,) = working_tree(tmp_path, os.environ)
    assert signs(large) == [" 27", " 28", " 29", "-30", "+thirty", " 31", " 32", " 33"]
