"""What the disk adds to the words of a command: links, matching names, and the settings of a repository."""

from __future__ import annotations

import os
from collections.abc import Callable
from glob import iglob
from itertools import islice
from posixpath import normpath

import msgspec

from holdfast.tools.workspace.git_repository import StartsPrograms, read_repositories

MOST_NAMES = 2000
"""The most names that a pattern may match; with more, its matches count as unknown."""


class Surroundings(msgspec.Struct, frozen=True):
    """Lookups on the disk: the real path, the paths that match a pattern (None: too many), what repositories start.

    All paths are absolute. The default reads nothing: each path leads where it says.
    """

    real: Callable[[str], str] = normpath
    matches: Callable[[str], tuple[str, ...] | None] = lambda _: ()
    repositories: Callable[[str], StartsPrograms] = lambda _: StartsPrograms()


NO_SURROUNDINGS = Surroundings()


def disk_surroundings() -> Surroundings:
    """Return the surroundings that read the disk."""
    return Surroundings(real=os.path.realpath, matches=_matches, repositories=read_repositories)


def _matches(pattern: str) -> tuple[str, ...] | None:
    found = tuple(islice(iglob(pattern), MOST_NAMES + 1))  # noqa: PTH207 - a Path cannot match an absolute pattern
    return found if len(found) <= MOST_NAMES else None
