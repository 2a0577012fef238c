"""Finds the folder in which a clone keeps the state of one of its worktrees."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def worktree_entry(cwd: Path) -> Path | None:
    """Return the worktree's folder below `worktrees` of its clone, None if `cwd` is no worktree.

    The commands of a session can write `.git`. So the clone counts only if it names this worktree in turn, which they
    cannot write anywhere else.
    """
    try:
        text = _short_text(cwd / ".git")
        if not text.startswith("gitdir:"):
            return None
        entry = (cwd / text.removeprefix("gitdir:").strip()).resolve(strict=True)
        back = (entry / _short_text(entry / "gitdir").strip()).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):  # a plain folder, not a worktree
        return None
    is_ours = back == cwd.resolve() / ".git" and entry.parent.name == "worktrees"
    return entry if is_ours else None


def _short_text(path: Path) -> str:
    """Return the text of a plain file, at most 4 KB of it; raises `OSError` for anything else."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(f"{str(path)!r} is not a plain file")
        return os.read(file, 4096).decode("utf-8", "replace")
    finally:
        os.close(file)
