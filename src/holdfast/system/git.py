"""The git repository of a folder and its branch, read from its files without starting a process."""

from __future__ import annotations

import os
import re
from pathlib import Path

from holdfast.system.bounded_files import read_text_beginning

LARGEST_GIT_NAME = 4096
"""Bytes that are read of a file with the name of a branch or a folder."""
_BRANCH = re.compile(r"ref: refs/heads/(\S+)\s*")
_REMOTE = re.compile(r'^\[remote "[^"\n]*"\]\n(?:\s+(?!url\b)[^\[\n]*\n)*?\s*url *= *(\S[^\n]*)', re.MULTILINE)
_FIRST_COMMIT = re.compile(r"0{40,64} ([0-9a-f]{40,64}) ")
_SCHEME = re.compile(r"^[a-z+]+://", re.IGNORECASE)
_USER = re.compile(r"^[^/@]*@")
_LARGEST_CONFIG = 65_536
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


def repository_names(folder: Path) -> tuple[str, ...]:
    """Return names that the folder's repository has wherever it is: its remote, and its first commit, if known.

    A clone of the same remote, another worktree and a folder that was moved or renamed have a name in common with it.
    No name has credentials. Empty if there is no repository, or nothing is known of it.
    """
    root = repository(folder)
    if root is None:
        return ()
    try:
        git = git_folder(root)
        shared = git / _beginning(git / "commondir").strip()  # of a worktree; else the folder itself
        remote = _REMOTE.search(read_text_beginning(shared / "config", _LARGEST_CONFIG))
        log = shared / "logs" / "HEAD"
        first = _FIRST_COMMIT.match(_beginning(log))
    except (OSError, ValueError):
        return ()
    names = (_remote_name(remote[1]) if remote else "", f"commit {first[1]}" if first else "")
    return tuple(name for name in names if name)


def _remote_name(url: str) -> str:
    """Return the place of a remote, without what differs between the ways to reach it: scheme, user, ending."""
    place = _USER.sub("", _SCHEME.sub("", url.strip().strip('"')))
    host, separator, path = place.partition(":") if "/" not in place.partition(":")[0] else ("", "", place)
    joined = f"{host.lower()}/{path.lstrip('/')}" if separator else path
    return f"remote {joined.rstrip('/').removesuffix('.git')}" if joined.strip("/") else ""


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
        git = git_folder(root)
    except (OSError, ValueError):
        return ""
    return next((name for file, name in _OPERATIONS.items() if os.path.lexists(git / file)), "")


def git_folder(root: Path) -> Path:
    """Return the folder that holds the repository's state."""
    git = root / ".git"
    if git.is_file():  # in a worktree it contains the path of the real folder
        return root / _beginning(git).removeprefix("gitdir:").strip()
    return git


def _head(root: Path) -> str:
    try:
        return _beginning(git_folder(root) / "HEAD")
    except (OSError, ValueError):
        return ""


def _beginning(path: Path) -> str:
    return read_text_beginning(path, LARGEST_GIT_NAME) if path.is_file() else ""
