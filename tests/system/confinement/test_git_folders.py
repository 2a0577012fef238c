"""A workspace's git folders: what git obeys is protected, and the word of a file in the workspace is not believed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast.system.confinement.description import GitFolders, LevelUnavailable
from holdfast.system.confinement.git_folders import git_folders, settle_git_folders
from holdfast.system.confinement.survey import appeared_files, describe


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def only(folder: Path) -> GitFolders:
    """Return what a `.git` that is a file has at least: it stays as it is."""
    return GitFolders(pinned=(f"{folder}/.git",), protected=(f"{folder}/.git",))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "main"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "--allow-empty", "-qm", "one")
    return folder


def test_a_repository_in_the_workspace(repository: Path) -> None:
    module = repository / ".git/modules/a/b"
    module.mkdir(parents=True)
    for name in ("HEAD", "config"):
        (module / name).write_text("x\n")
    found = git_folders(str(repository))
    assert found.pinned == (f"{repository}/.git",)
    assert {f"{repository}/.git/hooks", f"{repository}/.git/config", f"{module}/config"} <= set(found.protected)
    assert found.common == ""


def test_a_linked_worktree_shows_its_repository(repository: Path) -> None:
    linked = repository.parent / "linked"
    git(repository, "worktree", "add", "-q", str(linked))
    found = git_folders(str(linked))
    assert found.common == f"{repository}/.git"
    assert found.hooks == (f"{repository}/.git/hooks",)
    own = f"{repository}/.git/worktrees/linked"
    assert {f"{linked}/.git", f"{own}/gitdir", f"{own}/commondir", f"{repository}/.git/config"} <= set(found.protected)


def test_a_file_that_names_another_folder_is_not_believed(repository: Path, tmp_path: Path) -> None:
    linked = repository.parent / "linked"
    git(repository, "worktree", "add", "-q", str(linked))
    secret = tmp_path / "secret"
    (secret / "worktrees/x").mkdir(parents=True)
    evil = tmp_path / "evil"
    evil.mkdir()
    for named in (secret, secret / "worktrees/x", repository / ".git/worktrees/linked", repository / ".git"):
        (evil / ".git").write_text(f"gitdir: {named}\n")
        assert git_folders(str(evil)) == only(evil)


def test_a_repository_of_the_attacker_opens_only_itself(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    for name in ("HEAD", "objects", "refs"):
        (folder / "fake" / name).mkdir(parents=True)
    own = folder / "fake/worktrees/x"
    own.mkdir(parents=True)
    ws = folder / "ws"
    ws.mkdir()
    (ws / ".git").write_text(f"gitdir: {own}\n")
    (own / "gitdir").write_text(f"{ws}/.git\n")
    (own / "commondir").write_text(f"{folder}\n")
    assert git_folders(str(ws)) == only(ws)
    (own / "commondir").write_text("../..\n")
    assert git_folders(str(ws)).common == f"{folder}/fake"


@pytest.mark.parametrize("text", ["", "gitdir: ", "nonsense", "gitdir: \0", "gitdir: ../.."])
def test_what_is_no_repository_has_no_folders(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    assert git_folders(str(tmp_path)) == only(tmp_path)


def test_a_link_to_a_repository_is_not_followed(repository: Path, tmp_path: Path) -> None:
    folder = tmp_path / "evil"
    folder.mkdir()
    (folder / ".git").symlink_to(repository / ".git")
    assert git_folders(str(folder)) == GitFolders()


def test_a_repository_without_hooks_gets_an_empty_folder_that_can_be_kept(repository: Path) -> None:
    shutil.rmtree(repository / ".git/hooks")
    git(repository, "config", "extensions.worktreeConfig", "true")
    assert f"{repository}/.git/hooks" not in git_folders(str(repository)).protected
    settle_git_folders(str(repository))
    found = git_folders(str(repository))
    assert {f"{repository}/.git/hooks", f"{repository}/.git/config.worktree"} <= set(found.protected)
    git(repository, "commit", "--allow-empty", "-qm", "two")


def test_what_can_only_be_looked_for_afterwards_is_found(repository: Path, tmp_path: Path) -> None:
    described = describe(
        "workspace",
        cwd=str(repository),
        roots=(str(repository),),
        temporary=str(tmp_path / "t"),
        placeholders=str(tmp_path / "m"),
        environ={"HOME": str(tmp_path), "PATH": "/usr/bin"},
    )
    assert appeared_files(described) == ()
    (repository / ".git/commondir").write_text("../evil")
    assert appeared_files(described) == (f"{repository}/.git/commondir",)


@pytest.mark.parametrize("name", [".git", ".git/hooks", ".git/config"])
def test_where_a_command_may_write_a_link_that_git_obeys_is_refused(repository: Path, name: str) -> None:
    path = repository / name
    path.rename(repository / "elsewhere")
    path.symlink_to(repository / "elsewhere")
    with pytest.raises(LevelUnavailable, match=f"{name}' is a link"):
        settle_git_folders(str(repository))
