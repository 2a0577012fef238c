"""What a repository makes git run while it only reads: git itself runs it here, and holdfast sees it beforehand."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from holdfast.tools.approval.command_analysis import command_parts
from holdfast.tools.workspace.command_files import disk_surroundings
from holdfast.tools.workspace.git_repository import MOST_GIT_NAMES, read_repositories


class Place:
    """A workspace with a repository of one file, and a program that leaves a mark when it runs."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.home = folder
        self.mark = folder / "ran"
        self.program = folder / "program"
        self.program.write_text(f"#!/bin/sh\ntouch {self.mark}\n")
        self.program.chmod(0o755)
        self.repository(self.root)

    def git(self, *words: str, at: Path) -> None:
        """Run git as an invented user."""
        options = ["-c", "user.name=a", "-c", "user.email=b", "-c", "protocol.file.allow=always"]
        subprocess.run(["git", *options, *words], cwd=at, check=True, capture_output=True, env=self.environ, timeout=60)

    @property
    def environ(self) -> dict[str, str]:
        """Return an environment without settings of the user."""
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "LC_ALL": "C.UTF-8"}

    def repository(self, at: Path) -> None:
        """Make a repository."""
        at.mkdir(parents=True)
        (at / "a.txt").write_text("one\n")
        self.git("init", "-q", at=at)
        self.git("add", "a.txt", at=at)
        self.git("commit", "-qm", "x", at=at)

    def watches(self, at: Path) -> None:
        """Have git ask the program which files changed."""
        self.git("config", "core.fsmonitor", str(self.program), at=at)

    def runs(self, command: str) -> bool:
        """Return whether the program runs when the command does."""
        self.mark.unlink(missing_ok=True)
        (self.root / "a.txt").touch()
        subprocess.run(["/bin/bash", "-c", command], cwd=self.root, check=False, env=self.environ, timeout=60)
        return self.mark.exists()

    def more(self, command: str) -> str:
        """Return why the command asks, "" if it does not."""
        parts = command_parts(command, root=str(self.root), around=disk_surroundings()).parts
        return next((each.more for each in parts if each.more), "")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def test_a_plain_repository_starts_nothing(place: Place) -> None:
    for command in ("git status", "git diff", "cd .git && git log"):
        assert not place.runs(command)
        assert place.more(command) == ""
    assert read_repositories(str(place.home)).settings == "", "there is none"


def test_a_setting_of_the_repository(place: Place) -> None:
    place.watches(place.root)
    assert place.runs("git status")
    assert place.more("git status") == "the repository's setting 'core.fsmonitor' makes git run a program"


def test_a_hook_that_runs_when_git_refreshes_its_cache(place: Place) -> None:
    hook = place.root / ".git/hooks/post-index-change"
    hook.write_bytes(place.program.read_bytes())
    assert place.more("git status") == "", "git runs none that may not be run"
    hook.chmod(0o755)
    assert place.runs("sleep 1.1; touch a.txt; git status")
    assert place.more("git status") == "the repository's hook 'post-index-change' is a program that git runs"


def test_a_repository_without_a_working_tree_in_a_folder(place: Place) -> None:
    inner = place.root / "inner"
    place.git("init", "-q", "--bare", str(inner), at=place.root)
    for name, value in (("core.bare", "false"), ("core.worktree", str(place.root))):
        place.git("config", "-f", str(inner / "config"), name, value, at=place.root)
    place.git("config", "-f", str(inner / "config"), "core.fsmonitor", str(place.program), at=place.root)
    assert place.runs("cd inner && git status")
    for command in ("cd inner && git status", "git -C inner status", "git -C inner/refs status"):
        assert "makes git run a program" in place.more(command)
    assert place.more("git status") == ""


def test_a_folder_that_only_looks_like_a_repository_hides_none(place: Place) -> None:
    place.watches(place.root)
    (place.root / "sub" / ".git").mkdir(parents=True)
    assert place.runs("cd sub && git status")
    assert "core.fsmonitor" in place.more("cd sub && git status")


def test_a_submodule_that_has_its_repository_in_its_folder(place: Place) -> None:
    place.repository(place.root / "sub")
    place.git("add", "sub", at=place.root)
    assert place.more("git status") == ""
    place.watches(place.root / "sub")
    assert place.runs("git status")
    assert "core.fsmonitor" in place.more("git status")


def test_a_submodule_as_git_makes_it(place: Place) -> None:
    origin = place.home / "origin"
    place.repository(origin)
    place.git("submodule", "add", "-q", str(origin), "libs/sub", at=place.root)
    assert "worktree" in (place.root / ".git/modules/libs/sub/config").read_text()
    for command in ("git status", "cd libs/sub && git log"):
        assert not place.runs(command)
        assert place.more(command) == ""
    place.watches(place.root / "libs/sub")
    assert place.runs("git status")
    for command in ("git status", "cd libs/sub && git status"):
        assert "core.fsmonitor" in place.more(command)
    place.git("config", "--unset", "core.fsmonitor", at=place.root / "libs/sub")
    place.git("config", "core.worktree", "/etc", at=place.root / "libs/sub")
    assert "core.worktree" in place.more("git status")


def test_a_further_working_tree(place: Place) -> None:
    place.git("worktree", "add", "-q", str(place.root / "other"), at=place.root)
    assert place.more("git -C other status") == ""
    place.watches(place.root)
    assert place.runs("git -C other status")
    assert "core.fsmonitor" in place.more("git -C other status")


@pytest.mark.parametrize(
    ("path", "text"),
    [(".git/config", b"\xff"), (".git/config", b"[a]\nb = c\n" * 40_000), (".git/config", b"what is this")],
    ids=["no text", "too large", "no setting"],
)
def test_what_cannot_be_read_asks(place: Place, path: str, text: bytes) -> None:
    (place.root / path).write_bytes(text)
    assert "makes git run a program" in place.more("git status")


def test_a_file_that_names_no_repository_asks(place: Place) -> None:
    (place.root / "sub").mkdir()
    (place.root / "sub/.git").write_text("what is this")
    assert "makes git run a program" in place.more("git -C sub status")


def test_an_index_in_a_form_that_shortens_names_asks_if_it_has_submodules(place: Place) -> None:
    place.git("update-index", "--index-version", "4", at=place.root)
    assert place.more("git status") == ""
    place.repository(place.root / "sub")
    place.git("add", "sub", at=place.root)
    assert "makes git run a program" in place.more("git status")


LEADS_OUT = {
    "a link in the place of its folder": 'mv .git ../x; ln -s "$PWD/../x" .git',
    "a file that names another folder": "mv .git ../x; echo gitdir: ../x > .git",
    "a file that names another folder for its settings": "cp -r .git ../x; echo ../../x > .git/commondir",
    "another folder with objects": 'cp -r .git ../x; echo "$PWD/../x/objects" > .git/objects/info/alternates',
    "a link to a file of names to ignore": "mkdir -p .git/info; ln -sf ../../../program .git/info/exclude",
    "a link in the place of a branch": "cp -r .git ../x; "
    "for f in .git/refs/heads/*; do ln -sf ../../../../x/${f#.git/} $f; done",
    "a link in the place of the objects": "mv .git/objects ../x; ln -s ../../x .git/objects",
}


@pytest.mark.parametrize("kind", LEADS_OUT)
def test_a_repository_that_makes_git_read_outside_of_the_workspace(place: Place, kind: str) -> None:
    assert place.more("git status") == ""
    subprocess.run(["/bin/bash", "-ec", LEADS_OUT[kind]], cwd=place.root, check=True, env=place.environ, timeout=60)
    for command in ("git log", "git -C . status"):
        assert "outside the workspace" in place.more(command)
    assert place.more("ls") == ""


def test_settings_in_the_folder_that_a_repository_names(place: Place) -> None:
    subprocess.run(["cp", "-r", ".git", "x"], cwd=place.root, check=True, timeout=60)
    (place.root / ".git/commondir").write_text("../x\n")
    assert place.more("git status") == ""
    place.git("config", "-f", "x/config", "core.fsmonitor", str(place.program), at=place.root)
    assert place.runs("git status")
    assert "core.fsmonitor" in place.more("git status")


def test_a_working_tree_and_a_submodule_have_their_repository_elsewhere(place: Place) -> None:
    origin, other = place.home / "origin", place.home / "other"
    place.git("worktree", "add", "-q", str(other), at=place.root)
    place.repository(origin)
    place.git("submodule", "add", "-q", str(origin), "sub", at=place.root)
    for root in (other, place.root / "sub"):
        parts = command_parts("git log", root=str(root), around=disk_surroundings()).parts
        assert [each.more for each in parts] == [""]
    (other / ".git").rename(other / "sub.git")
    (other / "deep").mkdir()
    (other / "sub.git").rename(other / "deep/.git")  # the same words in another folder, to which nothing points back
    parts = command_parts("git log", root=str(other / "deep"), around=disk_surroundings()).parts
    assert "outside the workspace" in parts[0].more


def test_a_repository_with_more_names_than_are_looked_at_asks(place: Place) -> None:
    (place.root / ".git/many").mkdir()
    for at in range(MOST_GIT_NAMES):
        (place.root / ".git/many" / str(at)).touch()
    assert "'?'" in place.more("git status")
