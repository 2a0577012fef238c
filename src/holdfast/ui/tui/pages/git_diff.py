"""The working tree compared with the last commit, by read-only git commands.

No external diff or text conversion is run; `repository` says what else is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import UsageError
from holdfast.system.git import repository
from holdfast.ui.tui.pages.file_diffs import ShownDiff, git_diffs, new_file
from holdfast.ui.view.columns import home
from holdfast.ui.view.repository import read_git, unfiltered

LARGEST_FULL_DIFF = 1_000_000
"""Bytes of a diff that is shown with all unchanged lines, folded; of a larger one, the folds do not open."""

LARGEST_NEW = 200_000
"""Bytes of an untracked file that are shown."""

MOST_NEW = 200
"""Untracked files that are shown."""

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
_NOTHING = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The tree without files: a repository without commits is compared with it."""


def working_tree(folder: Path, environ: Mapping[str, str]) -> tuple[ShownDiff, ...]:
    """Return every file that differs from the last commit. Raise `UsageError` if there is no repository, or no git."""
    root = repository(folder)
    if root is None:
        raise UsageError(f"{home(str(folder))!r} is not in a git repository. To create one: !git init.")
    environ = unfiltered(root, environ)
    head = read_git(root, environ, "rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1)).decode().strip()
    text = read_git(root, environ, *_DIFF, f"-U{LARGEST_FULL_DIFF}", head or _NOTHING)
    if len(text) > LARGEST_FULL_DIFF:
        text = read_git(root, environ, *_DIFF, head or _NOTHING)
    listed = read_git(root, environ, "ls-files", "--others", "--exclude-standard", "-z").decode(
        "utf-8", "surrogateescape"
    )
    return (
        *git_diffs(text.decode("utf-8", "replace")),
        *(_untracked(root, name) for name in listed.split("\0")[:MOST_NEW] if name),
    )


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
