"""What a look at the disk adds to the words of a command: links, matching names, and the settings of a repository."""

from __future__ import annotations

import os
from collections.abc import Callable
from glob import iglob
from itertools import islice
from pathlib import Path
from posixpath import normpath

import msgspec

MOST_NAMES = 2000
"""The most names that are looked at for one pattern; of a pattern with more, nothing is known."""

LARGEST_CONFIG_OF_GIT = 262_144


class Surroundings(msgspec.Struct, frozen=True):
    """How to look: where a path leads, which paths match a pattern (None: too many), and git's settings for a folder.

    All paths are absolute. The default looks at nothing: each path is what it says.
    """

    real: Callable[[str], str] = normpath
    matches: Callable[[str], tuple[str, ...] | None] = lambda _: ()
    git_config: Callable[[str], str] = lambda _: ""


NOT_LOOKED_AT = Surroundings()


def on_disk() -> Surroundings:
    """Return the surroundings as they are now."""
    return Surroundings(real=os.path.realpath, matches=_matches, git_config=repository_config)


def _matches(pattern: str) -> tuple[str, ...] | None:
    found = tuple(islice(iglob(pattern), MOST_NAMES + 1))  # noqa: PTH207 - a Path cannot match an absolute pattern
    return found if len(found) <= MOST_NAMES else None


def repository_config(folder: str) -> str:
    """Return the text of the settings of the repository that contains `folder`, "" if there is none.

    Settings that cannot be read, or that stand elsewhere in a way that is not known, are "?", which is no setting.
    """
    for place in (Path(folder), *Path(folder).parents):
        git = place / ".git"
        if not os.path.lexists(git):
            continue
        try:
            return _config_in(_followed(git, place))
        except (OSError, UnicodeDecodeError, ValueError):
            return "?"
    return ""


def _followed(git: Path, place: Path) -> Path:
    """Return the folder with the settings: a file instead of a folder names it, as in a worktree or a submodule."""
    if git.is_dir():
        return git
    named = git.read_text("utf-8").strip()
    if not named.startswith("gitdir:"):
        raise ValueError(named)
    folder = place / named.removeprefix("gitdir:").strip()
    common = folder / "commondir"
    return folder / common.read_text("utf-8").strip() if common.exists() else folder


def _config_in(folder: Path) -> str:
    path = folder / "config"
    if not path.exists():
        return ""
    with path.open("rb") as file:
        raw = file.read(LARGEST_CONFIG_OF_GIT + 1)
    if len(raw) > LARGEST_CONFIG_OF_GIT:
        raise ValueError
    return raw.decode("utf-8")
