"""The git repository of a folder and its branch, read from its files without starting a process."""

from __future__ import annotations

import os
import re
from pathlib import Path

from holdfast.system.bounded_files import read_text_beginning

LARGEST_GIT_NAME = 4096
"""Bytes that are read of a file with the name of a branch or a folder."""
_BRANCH = re.compile(r"ref: refs/heads/(\S+)\s*")
_COMMIT = re.compile(r"([0-9a-f]{8})[0-9a-f]*\s*")


def repository(folder: Path) -> Path | None:
    """Return the nearest folder from `folder` upwards that contains a `.git`, None if there is none."""
    return next((each for each in (folder, *folder.parents) if os.path.lexists(each / ".git")), None)


def branch(root: Path) -> str:
    """Return the branch checked out in the repository `root`, "" if there is none or it is unknown."""
    found = _BRANCH.fullmatch(_head(root))
    return found[1] if found else ""


def branch_or_commit(folder: Path) -> str:
    """Return the branch checked out in the folder's repository, the short commit if detached, "" if unknown."""
    root = repository(folder)
    head = _head(root) if root else ""
    found = _BRANCH.fullmatch(head) or _COMMIT.fullmatch(head)
    return found[1] if found else ""


_OPERATIONS = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}


def unfinished_operation(root: Path) -> str:
    """Return the unfinished operation of git in the repository `root` ("rebase", "merge", …), "" if none is known."""
    try:
        git = _folder(root)
    except (OSError, ValueError):
        return ""
    return next((name for file, name in _OPERATIONS.items() if os.path.lexists(git / file)), "")


def _folder(root: Path) -> Path:
    """Return the folder that holds the repository's state."""
    git = root / ".git"
    if git.is_file():  # in a worktree it contains the path of the real folder
        return root / _beginning(git).removeprefix("gitdir:").strip()
    return git


def _head(root: Path) -> str:
    try:
        return _beginning(_folder(root) / "HEAD")
    except (OSError, ValueError):
        return ""


def _beginning(path: Path) -> str:
    return read_text_beginning(path, LARGEST_GIT_NAME) if path.is_file() else ""
