"""The git repository that a folder is in, as its files tell: no process is started."""

from __future__ import annotations

import os
import re
from pathlib import Path

_MOST = 4096
_BRANCH = re.compile(r"ref: refs/heads/(\S+)\s*")


def repository(folder: Path) -> Path | None:
    """Return the nearest folder from `folder` upwards that holds a `.git`, None if none does."""
    return next((each for each in (folder, *folder.parents) if os.path.lexists(each / ".git")), None)


def branch(root: Path) -> str:
    """Return the branch that is checked out in the repository `root`, "" if none is or it cannot be told."""
    git = root / ".git"
    try:
        if git.is_file():  # of a worktree: the path of its real folder
            git = root / _beginning(git).removeprefix("gitdir:").strip()
        found = _BRANCH.fullmatch(_beginning(git / "HEAD"))
    except (OSError, ValueError):
        return ""
    return found[1] if found else ""


def _beginning(path: Path) -> str:
    if not path.is_file():  # opening a pipe would wait
        return ""
    with path.open(encoding="utf-8") as file:
        return file.read(_MOST)
