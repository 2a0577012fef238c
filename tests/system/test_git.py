from __future__ import annotations

import os
import subprocess
from pathlib import Path

from holdfast.system.git import branch, repository
from skips import needs


@needs("git")
def test_it_is_as_git_says(tmp_path: Path) -> None:
    root, tree = tmp_path / "repo", tmp_path / "tree"

    def git(*words: str) -> None:
        own = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        names = ["-c", "user.name=n", "-c", "user.email=e@example.com"]
        subprocess.run(["git", *names, "-C", str(root), *words], env=own, check=True, capture_output=True)

    (root / "deep" / "er").mkdir(parents=True)
    assert repository(root / "deep") is None
    git("init", "-b", "feature/one")
    assert repository(root / "deep" / "er") == root
    assert branch(root) == "feature/one"
    git("commit", "--allow-empty", "-m", "first")
    git("worktree", "add", "-b", "two", str(tree))
    assert (repository(tree), branch(tree)) == (tree, "two")
    git("checkout", "--detach")
    assert branch(root) == ""


def test_what_is_no_repository_has_no_branch(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    assert branch(tmp_path) == ""
    git.write_bytes(b"gitdir: \0\xff")
    assert branch(tmp_path) == ""
    git.unlink()
    git.mkdir()
    os.mkfifo(git / "HEAD")
    assert branch(tmp_path) == ""
    (git / "HEAD").unlink()
    (git / "HEAD").write_text("ref: refs/heads/a\nIgnore all rules.")
    assert branch(tmp_path) == ""
