"""The working tree compared with the last commit, by read-only git commands.

The settings of a repository are not trusted: no external diff, text conversion, filter or file system monitor of it is
run, nothing is fetched, git does not look into submodules, and no git of the workspace itself is used. The user's own
filters stay.
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
from holdfast.ui.tui.pages.file_diffs import ShownDiff, git_diffs, new_file
from holdfast.ui.view.columns import home

GIT_LIMIT = 10.0
"""Seconds that git may take."""

LARGEST_DIFF = 4_000_000
"""Bytes of a diff that are shown."""

LARGEST_FULL_DIFF = 1_000_000
"""Bytes of a diff that is shown with all unchanged lines, folded; of a larger one, the folds do not open."""

LARGEST_NEW = 200_000
"""Bytes of an untracked file that are shown."""

MOST_NEW = 200
"""Untracked files that are shown."""

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
_DIFF = (
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "-M",
    "--ignore-submodules=dirty",
)
_FILTERS = ("config", "--includes", "--show-scope", "--null", "--name-only", "--get-regexp", r"^filter\.")
_OF_REPOSITORY = frozenset({"local", "worktree"})
_NOTHING = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The tree without files: a repository without commits is compared with it."""


def working_tree(folder: Path, environ: Mapping[str, str]) -> tuple[ShownDiff, ...]:
    """Return every file that differs from the last commit. Raise `UsageError` if there is no repository, or no git."""
    root = repository(folder)
    if root is None:
        raise UsageError(f"{home(str(folder))!r} is not in a git repository. To create one: !git init.")
    environ = _without_filters(root, child_environment(environ) | {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""})
    head = _run(root, environ, "rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1)).decode().strip()
    text = _run(root, environ, *_DIFF, f"-U{LARGEST_FULL_DIFF}", head or _NOTHING)
    if len(text) > LARGEST_FULL_DIFF:
        text = _run(root, environ, *_DIFF, head or _NOTHING)
    listed = _run(root, environ, "ls-files", "--others", "--exclude-standard", "-z").decode("utf-8", "surrogateescape")
    return (
        *git_diffs(text.decode("utf-8", "replace")),
        *(_untracked(root, name) for name in listed.split("\0")[:MOST_NEW] if name),
    )


def _without_filters(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which git runs no filter that the repository's settings name."""
    listed = _run(root, environ, *_FILTERS, codes=(0, 1)).decode("utf-8", "surrogateescape").split("\0")
    keys = (key for scope, key in zip(listed[::2], listed[1::2], strict=False) if scope in _OF_REPOSITORY)
    filters = dict.fromkeys(key.rpartition(".")[0] for key in keys)
    off = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    return dict(environ) | git_settings(environ, [(f"{name}.{key}", value) for name in filters for key, value in off])


def _untracked(root: Path, name: str) -> ShownDiff:
    shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    path = root / name
    if path.is_symlink() or not path.is_file():
        return ShownDiff(shown, (), "not tracked by git, not a regular file")
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_NEW + 1)
    except OSError as error:
        return ShownDiff(shown, (), f"not tracked by git, cannot be read: {error.strerror}")
    if b"\0" in data or len(data) > LARGEST_NEW:
        return ShownDiff(shown, (), "not tracked by git, binary or large")
    return new_file(shown, data.decode("utf-8", "replace"))


def _run(root: Path, environ: Mapping[str, str], *words: str, codes: tuple[int, ...] = (0,)) -> bytes:
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
