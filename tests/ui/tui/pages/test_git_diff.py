"""The page of changes in a hostile repository: nothing that its settings name is started."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from holdfast.errors import UsageError
from holdfast.ui.tui.pages.git_diff import working_tree
from skips import needs

WORKTREE_CONFIG = ("extensions.worktreeConfig", "true")

pytestmark = needs("git")


def git(root: Path, *words: str) -> str:
    settings = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    return subprocess.run(["git", *settings, *words], cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "repository"
    place.mkdir()
    git(place, "init", "-q")
    (place / "a.txt").write_text("one\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "one")
    (place / "a.txt").write_text("two\n")
    return place


@pytest.mark.parametrize("driver", ["x", "a=b.c", "ÄÖ.clean", 'q"q'])
@pytest.mark.parametrize("key", ["clean", "process"])
@pytest.mark.parametrize("where", ["local", "worktree", "include"])
def test_a_filter_of_the_repository_is_not_run(root: Path, tmp_path: Path, driver: str, key: str, where: str) -> None:
    mark = tmp_path / "mark"
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_text(f'*.txt filter={driver}\n*.txt "filter={driver}"\n')
    file = {"local": root / ".git/config", "worktree": root / ".git/config.worktree", "include": tmp_path / "more"}
    git(root, "config", "-f", str(file[where]), f"filter.{driver}.{key}", f"touch {mark}; cat")
    git(root, "config", "-f", str(file[where]), f"filter.{driver}.required", "true")
    if where != "local":
        name, value = (
            ("include.path", str(file[where])) if where == "include" else ("extensions.worktreeConfig", "true")
        )
        git(root, "config", name, value)
    (shown,) = working_tree(root, os.environ)
    assert [line.text for line in shown.lines] == ["one", "two"]
    assert not mark.exists()


def test_a_filter_of_the_user_is_run(root: Path, tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text('[filter "mine"]\n\tclean = tr a-z A-Z\n')
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_text("*.txt filter=mine\n")
    (shown,) = working_tree(root, {"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    assert [line.text for line in shown.lines] == ["one", "TWO"]


def test_nothing_is_fetched(root: Path, tmp_path: Path) -> None:
    blob = git(root, "rev-parse", "HEAD:a.txt").strip()
    (root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    for name, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::sh -c touch% {tmp_path}/mark",
        "protocol.ext.allow": "always",
    }.items():
        git(root, "config", name, value)
    with pytest.raises(UsageError, match="git failed"):
        working_tree(root, os.environ)
    assert not (tmp_path / "mark").exists()


def test_git_does_not_look_into_a_submodule(root: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(root), str(root / "sub"))
    git(root, "add", "sub")
    git(root, "config", "-f", ".gitmodules", "submodule.sub.path", "sub")
    git(root, "commit", "-qm", "two")
    (root / "sub/.git/info/attributes").write_text("*.txt filter=x\n")
    git(root / "sub", "config", "filter.x.clean", f"touch {tmp_path}/mark; cat")
    (root / "sub/a.txt").write_text("two\n")
    assert [shown.path for shown in working_tree(root, os.environ)] == ["a.txt", ".gitmodules"]
    assert not (tmp_path / "mark").exists()
