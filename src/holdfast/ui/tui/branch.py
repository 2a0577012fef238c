"""The git branch of a folder, read as git writes it: no process is started for a word on the status line."""

from __future__ import annotations

from pathlib import Path

_HEAD = "ref: refs/heads/"
_SHORT = 8


def branch(folder: Path) -> str:
    """Return the branch that is checked out where `folder` lies, the commit if none is, "" outside a repository."""
    for above in (folder, *folder.parents):
        git = above / ".git"
        try:
            if git.is_file():  # a worktree or a submodule: the file names where the rest is
                git = above / git.read_text("utf-8", "replace").removeprefix("gitdir:").strip()
            head = (git / "HEAD").read_text("utf-8", "replace").strip()
        except OSError:
            continue
        return head.removeprefix(_HEAD) if head.startswith(_HEAD) else head[:_SHORT]
    return ""
