"""Reads the user's repository with git, whose settings there are not trusted.

No external diff, text conversion, filter or file system monitor of a repository is run, nothing is fetched, git does
not look into submodules, and no git of the workspace itself is used. The user's own filters stay.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import UsageError
from holdfast.system.confinement.command_environment import git_settings
from holdfast.system.git import repository
from holdfast.system.trusted_programs import trusted_program
from holdfast.tools.process.environment import child_environment
from holdfast.ui.view.columns import home

GIT_LIMIT = 10.0
"""Seconds that git may take."""

LARGEST_DIFF = 4_000_000
"""Bytes of a diff that are shown."""

_GIT = (
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.quotePath=false",
)
_FILTERS = ("config", "--includes", "--show-scope", "--null", "--name-only", "--get-regexp", r"^filter\.")
_OF_REPOSITORY = frozenset({"local", "worktree"})


def uncommitted_files(folder: Path, environ: Mapping[str, str]) -> frozenset[str]:
    """Return the absolute paths of all files that differ from the last commit; raises `UsageError`."""
    root = repository(folder)
    if root is None:
        raise UsageError(f"{home(str(folder))!r} is not in a git repository. To create one: !git init.")
    environ = unfiltered(root, environ)
    words = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
    listed = read_git(root, environ, *words)
    if len(listed) == LARGEST_DIFF:
        raise UsageError("Too many files differ from the last commit to list them. Try !git status.")
    return frozenset(str(root / each[3:]) for each in listed.decode("utf-8", "surrogateescape").split("\0") if each)


def unfiltered(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which git runs no filter that the repository's settings name, and fetches nothing."""
    environ = child_environment(environ) | {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}
    listed = read_git(root, environ, *_FILTERS, codes=(0, 1)).decode("utf-8", "surrogateescape").split("\0")
    keys = (key for scope, key in zip(listed[::2], listed[1::2], strict=False) if scope in _OF_REPOSITORY)
    filters = dict.fromkeys(key.rpartition(".")[0] for key in keys)
    off = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    return dict(environ) | git_settings(environ, [(f"{name}.{key}", value) for name in filters for key, value in off])


def read_git(root: Path, environ: Mapping[str, str], *words: str, codes: tuple[int, ...] = (0,)) -> bytes:
    """Return what a reading git command writes, up to a bound; raises `UsageError`."""
    if not (program := trusted_program("git", root, environ=environ)):
        raise UsageError("Cannot show the working tree: git is not installed (outside of this folder). Install git.")
    try:
        done = subprocess.run(  # noqa: S603 - git, with fixed words
            [program, *_GIT, *words],
            cwd=root,
            env={**environ, "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_LIMIT,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"Cannot show the working tree: git failed: {error}. Try !git status.") from error
    if done.returncode not in codes:
        reason = done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
        raise UsageError(
            f"Cannot show the working tree: git failed: {' '.join(reason.split())[:300]}. Try !git status."
        )
    return done.stdout[:LARGEST_DIFF]
