"""No program of the workspace is started by holdfast itself, wherever the search path leads."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

import confined_session
from holdfast.errors import StateError, UsageError
from holdfast.fleet.places.worktree import git as places_git
from holdfast.system.confinement.bubblewrap import BUBBLEWRAP
from holdfast.system.confinement.description import Confinement, LevelUnavailable, SystemView
from holdfast.system.confinement.launch import confined_launch
from holdfast.system.trusted_programs import trusted_program, trusted_search_path
from holdfast.tools.builtin.grep import GrepTool
from holdfast.tools.tool import Workspace
from holdfast.ui.tui.environment.status_command import StatusCommand
from holdfast.ui.tui.pages.git_diff import working_tree
from holdfast.ui.tui.prompt.clipboard_image import clipboard_image
from skips import needs
from tool_harness import called


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder `ws` with programs that leave a mark and do their work, first in the search path."""
    place = tmp_path / "ws" / "bin"
    place.mkdir(parents=True)
    (tmp_path / "own").mkdir()
    for name in (BUBBLEWRAP, "rg", "git", "bash", "sh", "python3", "ls", "timeout", "xclip"):
        real = shutil.which(name) or "/bin/true"
        (place / name).write_text(f'#!/bin/sh\necho {name} >> {tmp_path}/mark\nexec {real} "$@"\n')
        (place / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "ws"


def marks(workspace: Path) -> list[str]:
    mark = workspace.parent / "mark"
    return mark.read_text().split() if mark.exists() else []


@pytest.mark.parametrize("contained", [False, True], ids=["", "contained"])
@needs("bubblewrap")
def test_the_wall_and_what_is_around_it(trap: Path, contained: bool) -> None:  # noqa: FBT001 - a parameter of the test
    request = confined_session.Request(
        folder=str(trap.parent), mode="ask", commands=["echo hello"], contained=contained
    )
    fates = asyncio.run(confined_session.run(request))
    assert [(each.outcome, "hello" in each.text) for each in fates] == [("ok", True)]
    assert marks(trap) == []


def test_a_search(trap: Path) -> None:
    (trap / "a.txt").write_text("hello\n")
    ran: list[str] = []

    async def run(argv: Sequence[str], **_of: object) -> tuple[int, bytes]:
        ran.append(argv[0])
        return 2, b""

    called(GrepTool(Workspace(root=trap, spool=trap.parent / "own"), run), pattern="hello")
    assert [Path(each).is_relative_to(trap) for each in ran] == [False] * len(ran)  # may be empty: without ripgrep


def test_the_page_of_changes(trap: Path) -> None:
    with pytest.raises(UsageError):  # it is no repository
        working_tree(trap, os.environ)
    assert marks(trap) == []


def test_the_clipboard(trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trap)
    with pytest.raises(UsageError):
        clipboard_image({"DISPLAY": ":77", "PATH": str(trap / "bin"), "HOME": str(trap)})
    assert marks(trap) == []


def test_the_status_line(trap: Path) -> None:
    command = StatusCommand("true", environ=os.environ, show=lambda _: None, notify=lambda _: None)
    command._output(b"{}", str(trap))  # pyright: ignore[reportPrivateUsage] - what the task runs in a thread
    assert marks(trap) == []


@pytest.mark.parametrize("entry", ["bin", "./bin", "", ".", "bin/../bin"])
def test_a_relative_folder_of_the_search_path_does_not_count(
    trap: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    monkeypatch.chdir(trap if entry else trap / "bin")
    assert trusted_program("rg", environ={"PATH": entry}) == ""


def test_links_into_the_workspace_and_out_of_it_do_not_count(trap: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/rg").symlink_to(trap / "bin/rg")
    (tmp_path / "folder").symlink_to(trap / "bin")
    (trap / "linked").mkdir()
    (trap / "linked/rg").symlink_to("/bin/true")
    for place in ("outside", "folder", "ws/linked", "ws/bin"):
        assert trusted_program("rg", trap, environ={"PATH": str(tmp_path / place)}) == ""
        assert trusted_program("rg", environ={"PATH": str(tmp_path / place)})


def test_in_a_workspace_above_the_system_the_systems_programs_count() -> None:
    found = trusted_program("sh", "/", "/usr", environ={"PATH": "/usr/bin:/bin"})
    assert found in ("/usr/bin/sh", "/bin/sh")
    assert trusted_program("sh", "/usr/bin", environ={"PATH": "/usr/bin"}) == ""


def test_without_a_trusted_bubblewrap_nothing_is_confined_by_another() -> None:
    described = Confinement("read", "/r", ("/r",), "/t", "/m", "/h", SystemView((), (), ()), bubblewrap="")
    with pytest.raises(LevelUnavailable, match="outside of the workspace"):
        confined_launch(described, "bwrap", {})


def test_what_a_program_starts_by_its_name_lies_outside_too(tmp_path: Path) -> None:
    (tmp_path / "ws/bin").mkdir(parents=True)
    (tmp_path / "link").symlink_to("ws/bin")
    search = f"{tmp_path}/ws/bin:/usr/bin:bin::{tmp_path}/link:{tmp_path}/other:."
    assert trusted_search_path(tmp_path / "ws", environ={"PATH": search}) == f"/usr/bin:{tmp_path}/other"


def test_git_of_a_place_and_what_it_starts(trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = trap.parent / "clones/one.git"
    folder.mkdir(parents=True)
    assert places_git(folder, "init", "--quiet", "--bare", str(folder), places=trap.parent) == ""
    assert places_git(folder, "config", "core.bare", places=trap) == "true"
    places_git(folder, "-c", "alias.x=!ls >/dev/null", "x", places=trap)
    assert marks(trap) == []
    monkeypatch.setenv("PATH", str(trap / "bin"))
    with pytest.raises(StateError, match="outside of the sessions' folders"):
        places_git(folder, "version", places=trap)
    assert marks(trap) == []
