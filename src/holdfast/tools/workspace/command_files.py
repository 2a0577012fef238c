"""What a look at the disk adds to the words of a command: links, matching names, and the settings of a repository."""

from __future__ import annotations

import os
from collections.abc import Callable
from glob import iglob
from itertools import islice
from posixpath import normpath

import msgspec

from holdfast.tools.workspace.git_repository import StartsPrograms, read_repositories

MOST_NAMES = 2000
"""The most names that are looked at for one pattern; of a pattern with more, nothing is known."""


class Surroundings(msgspec.Struct, frozen=True):
    """How to look: where a path leads, which paths match a pattern (None: too many), and what git's repositories start.

    All paths are absolute. The default looks at nothing: each path is what it says.
    """

    real: Callable[[str], str] = normpath
    matches: Callable[[str], tuple[str, ...] | None] = lambda _: ()
    repositories: Callable[[str], StartsPrograms] = lambda _: StartsPrograms()


NOT_LOOKED_AT = Surroundings()


def on_disk() -> Surroundings:
    """Return the surroundings as they are now."""
    return Surroundings(real=os.path.realpath, matches=_matches, repositories=read_repositories)


def _matches(pattern: str) -> tuple[str, ...] | None:
    found = tuple(islice(iglob(pattern), MOST_NAMES + 1))  # noqa: PTH207 - a Path cannot match an absolute pattern
    return found if len(found) <= MOST_NAMES else None
