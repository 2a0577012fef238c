"""The list of files from git: what is there, below the folder, and never through a link."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.system.safe_paths import SafePath
from holdfast.system.threads import in_thread
from holdfast.tools.builtin.glob import GlobTool
from holdfast.tools.builtin.grep import GrepTool
from holdfast.tools.process.session_supervisors import Supervisors
from holdfast.tools.tool import ToolContext, Workspace
from holdfast.tools.workspace.file_list import GitNames, git_names_within, regular_files
from holdfast.ui.tui.widgets.completion import listed_names
from skips import needs
from tool_harness import planned, workspace

pytestmark = needs("git")


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def plant(root: Path, *names: str, text: str = "needle\n") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    """Return a repository with files of every kind that git and a walk may see in another way."""
    found = workspace(tmp_path)
    root = found.root
    plant(root, "a.py", "src/b.py", "src/deep/c.txt", "docs/d.py", "gone.py", "kept.log", "odd\nname.py", "ä.py", "-")
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    git(root, "init")
    git(root, "add", "-A")
    git(root, "add", "-f", "kept.log")
    git(root, "commit", "-m", "all")
    plant(root, "new.py", "src/new.py", "other.log", "build/out.py")
    plant(root, "private.py")
    (root / ".git/info/exclude").write_text("private.py\n")
    (root / "gone.py").unlink()
    (root / "link.py").symlink_to(tmp_path / "secret.txt")
    os.mkfifo(root / "pipe.py")
    plant(root, "clone/inner.py", "clone/x.log")
    git(root / "clone", "init")
    return found


LISTED = {
    "-",
    "a.py",
    "ä.py",
    "odd\nname.py",
    "kept.log",
    "new.py",
    ".gitignore",
    "src/b.py",
    "src/new.py",
    "src/deep/c.txt",
    "docs/d.py",
    "clone/inner.py",
}


async def output(space: Workspace, tool: str, **arguments: object) -> str:
    supervisors = Supervisors(space.spool.parent, workspace=space.root)
    made = GrepTool(space, supervisors.capture) if tool == "grep" else GlobTool(space, supervisors.capture)
    try:
        context = ToolContext(call="call_1", stop=asyncio.Event(), emit=lambda _: None)
        return (await planned(made, **arguments).run(context)).text
    finally:
        await supervisors.close()


def grep(space: Workspace, **arguments: object) -> str:
    return asyncio.run(output(space, "grep", **arguments))


def glob(space: Workspace, **arguments: object) -> str:
    return asyncio.run(output(space, "glob", **arguments))


def start(space: Workspace) -> SafePath:
    return SafePath(anchor=space.root, parts=(), name=".", outside=None)


def listed(space: Workspace) -> GitNames:
    found = git_names_within(20, space.root, os.environ)
    assert found is not None
    return found


def regular(space: Workspace) -> set[str]:
    groups = regular_files(space.root, start(space), listed(space), stop=threading.Event(), unread=[])
    return {f"{folder}/{name}" if folder else name for folder, names in groups.items() for name in names}


def test_the_files_are_those_of_git_that_are_there(space: Workspace) -> None:
    assert regular(space) == LISTED


def test_grep_glob_and_the_composer_have_the_same_list(space: Workspace) -> None:
    found = {line.partition(":")[0] for line in grep(space, pattern="needle").split("\n")}
    assert found >= {"-", "a.py", "kept.log", "src/new.py", "clone/inner.py", "ä.py"}
    assert not found & {"private.py", "build/out.py", "other.log", "gone.py", "link.py"}
    names = set(glob(space, pattern="**/*.py").split("\n"))
    assert names >= {"a.py", "new.py", "src/b.py", "clone/inner.py", "link.py"}
    assert not names & {"private.py", "build/out.py", "gone.py", "pipe.py"}
    mentioned = listed_names(space.root, os.environ)
    assert mentioned.complete
    assert {*mentioned.names} >= {"a.py", "new.py", "src/", "src/deep/", "clone/inner.py"}
    assert not {*mentioned.names} & {"private.py", "build/out.py", ".git/"}


def test_a_pattern_without_stars_for_folders_lists_folders(space: Workspace) -> None:
    (space.root / "empty").mkdir()
    assert {"src/", "empty/", "a.py", "kept.log"} <= {*glob(space, pattern="*").split("\n")}
    assert {*glob(space, pattern="src/*").split("\n")} == {"src/b.py", "src/new.py", "src/deep/"}


def test_a_folder_that_git_ignores_is_searched_if_it_is_named(space: Workspace) -> None:
    assert grep(space, pattern="needle", path="build") == "build/out.py:1:needle"
    assert glob(space, pattern="*.py", path="build") == "build/out.py"


def test_a_folder_that_became_a_link_is_not_searched(space: Workspace, tmp_path: Path) -> None:
    plant(tmp_path / "outside", "d.py", "e.py")
    for old in ("docs/d.py", "src/deep/c.txt"):
        (space.root / old).unlink()
    (space.root / "docs").rmdir()
    (space.root / "docs").symlink_to(tmp_path / "outside")
    assert regular(space) == LISTED - {"docs/d.py", "src/deep/c.txt"}
    assert "docs/" not in grep(space, pattern="needle")
    assert "docs/" not in glob(space, pattern="**/*.py")


@pytest.mark.parametrize("name", ["../secret.txt", ".git/config", "a/../../secret.txt"])
def test_a_name_that_git_would_not_write_is_left_out(space: Workspace, name: str) -> None:
    index, written = space.root / ".git/index", name.replace("/", "0")
    plant(space.root, written)
    git(space.root, "add", "-f", written)
    content = index.read_bytes()[:-20].replace(written.encode(), name.encode())
    index.write_bytes(content + hashlib.sha1(content, usedforsecurity=False).digest())
    (space.root / written).unlink()
    raw = subprocess.run(["git", "ls-files", "-z"], cwd=space.root, check=True, capture_output=True).stdout
    assert name.encode() in raw.split(b"\0"), "git itself would list it"
    assert regular(space) == LISTED


def test_a_submodule_is_walked(space: Workspace) -> None:
    plant(space.root, "module/m.py")
    git(space.root / "module", "init")
    git(space.root / "module", "add", "-A")
    git(space.root / "module", "commit", "-m", "m")
    git(space.root, "add", "module")
    assert "module/m.py" in regular(space)
    assert "module/m.py" in glob(space, pattern="**/*.py").split("\n")
    assert not listed_names(space.root, os.environ).complete


def test_git_runs_no_program_of_the_repository(space: Workspace, tmp_path: Path) -> None:
    (tmp_path / "monitor").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (tmp_path / "monitor").chmod(0o755)
    git(space.root, "config", "core.fsmonitor", str(tmp_path / "monitor"))
    subprocess.run(["git", "status"], cwd=space.root, check=True, capture_output=True)
    assert (tmp_path / "ran").exists(), "the trap works"
    (tmp_path / "ran").unlink()
    assert "a.py" in glob(space, pattern="**/*.py")
    assert "a.py" in listed_names(space.root, os.environ).names
    assert not (tmp_path / "ran").exists()


def test_a_program_of_the_workspace_is_not_run(
    space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("git", "rg", "grep", "xargs", "env", "timeout"):
        (space.root / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (space.root / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{space.root}{os.pathsep}{os.environ['PATH']}")
    assert "a.py" in grep(space, pattern="needle")
    assert "a.py" in listed_names(space.root, os.environ).names
    assert not (tmp_path / "ran").exists()


def test_a_stop_ends_git(space: Workspace) -> None:
    async def run() -> str:
        stop = asyncio.Event()

        async def endless(argv: Sequence[str], **_of: object) -> tuple[int, bytes]:
            assert "ls-files" in argv
            stop.set()
            await asyncio.Event().wait()
            return 0, b""

        context = ToolContext(call="call_1", stop=stop, emit=lambda _: None)
        out = await asyncio.wait_for(planned(GlobTool(space, endless), pattern="**").run(context), 20)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return out.text

    assert asyncio.run(run()).endswith("[Stopped before the search was complete.]")
    assert list(space.spool.iterdir()) == []


def test_work_on_a_thread_that_begins_after_the_stop_knows_it() -> None:
    async def run() -> bool:
        stop = asyncio.Event()
        stop.set()
        return await in_thread(threading.Event.is_set, stop)

    assert all(asyncio.run(run()) for _ in range(20))
