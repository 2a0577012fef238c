"""What the disk adds to the words of a command: links, matching names, what lies below a folder, and repositories.

Everything has a bound, because a command is judged before the user allowed it: what goes over is not known, and asks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from posixpath import join, normpath

import msgspec

from holdfast.system.secret_files import holds_secrets
from holdfast.tools.workspace.git_repository import StartsPrograms, read_repositories
from holdfast.tools.workspace.program_files import chosen_elsewhere, program_file
from holdfast.tools.workspace.real_paths import LinksFollowed, real_path

MOST_NAMES = 2_000
"""The most names that a pattern may match, and ten times as many may be read; with more, they are unknown."""

MOST_BELOW = 20_000
"""The most names below a folder that are read; with more, what lies there is unknown."""

_INSTALLED = frozenset(
    {
        *("node_modules", "bower_components", ".venv", "venv", "site-packages", "__pycache__", ".tox", ".nox", ".git"),
        *("target", "vendor", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".gradle", ".next"),
    }
)
"""Folders of installed packages and of what was built: they hold far more files than the project.

They are named themselves, as if they were files, and not entered, except where links in them count. Files with secrets
that lie in them, or one folder deeper, are found: a project's own lie there, a package's lie deeper."""

_INSTALLED_MOST = 10_000
"""The most names in such folders that are looked at; more are left alone."""

_COST = 200
"""As how many names a pattern counts, whatever it matches: a line has room for a hundred."""

_FOLDER = 16
"""As how many names it counts to list a folder, or to find that it is none."""

_MOST_PARTS = 32
_LONGEST_NAME = 255
_LINKS = 2_000


class Below(msgspec.Struct, frozen=True):
    """What lies below a folder: the files, and where the links in it lead. All paths are absolute.

    `is_complete` is False if there was too much to look at.
    """

    files: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    is_complete: bool = True
    rules: tuple[str, ...] = ()
    """Where links lead that are files with names to ignore, which programs that search read and may quote."""
    seen_names: int = 0
    """How many names were looked at."""


class Surroundings(msgspec.Struct, frozen=True):
    """Lookups on the disk.

    `real` is a path as the kernel finds it, `matches` are the paths that match a pattern (None: too many), `below` is
    what lies below a folder, `program` the file that a program's name runs in a folder ("": none), `chosen` the same if
    it may run another program, `repositories` what they start. All paths are absolute. The default reads nothing: each
    path leads where it says.
    """

    real: Callable[[str], str] = normpath
    matches: Callable[[str], tuple[str, ...] | None] = lambda _: ()
    below: Callable[[str, bool], Below] = lambda _folder, _through_links: Below()
    program: Callable[[str, str], str] = lambda _name, _folder: ""
    chosen: Callable[[str, str], str] = lambda _name, _folder: ""
    repositories: Callable[[str], StartsPrograms] = lambda _: StartsPrograms()

    def remembering(self) -> Surroundings:
        """Return the same lookups, each made once, with one bound for all names: for the judging of one line."""
        names = [0]

        def matches(pattern: str) -> tuple[str, ...] | None:
            names[0] += _COST
            found = self.matches(pattern) if names[0] <= MOST_BELOW else None
            names[0] += len(found or ())
            return found

        def below(folder: str, through_links: bool) -> Below:  # noqa: FBT001 - of a lookup with two arguments
            if names[0] > MOST_BELOW:
                return Below(is_complete=False)
            found = self.below(folder, through_links)
            names[0] += found.seen_names
            return found

        return Surroundings(
            real=cache(self.real),
            matches=cache(matches),
            below=cache(below),
            program=cache(self.program),
            chosen=cache(self.chosen),
            repositories=cache(self.repositories),
        )


NO_SURROUNDINGS = Surroundings()


def disk_surroundings(*, is_confined: bool = False) -> Surroundings:
    """Return the surroundings that read the disk, for one line: all its patterns share a bound.

    With `is_confined`, what only reads runs inside a wall: then a shim of a program may stand for it.
    """
    name_count = [0]
    links = LinksFollowed()
    beginnings: dict[tuple[str, ...], tuple[str, ...]] = {}
    return Surroundings(
        real=links.real,
        matches=lambda pattern: _matches(pattern, name_count, beginnings),
        below=_below,
        program=program_file,
        chosen=(lambda _name, _folder: "") if is_confined else chosen_elsewhere,
        repositories=read_repositories,
    )


def _matches(
    pattern: str, name_count: list[int], beginnings: dict[tuple[str, ...], tuple[str, ...]]
) -> tuple[str, ...] | None:
    """Return the paths that `*` and `?` in a path stand for, as bash finds them; None if there are too many.

    `name_count` counts the names that all patterns of a line were compared with, and the folders. `beginnings` has
    what their beginnings match.
    """
    parts = pattern.split("/")[1:]
    if len(parts) > _MOST_PARTS:
        return None
    if any(len(part) > _LONGEST_NAME for part in parts):
        return ()
    found = ["/"]
    for at, part in enumerate(parts, 1):
        beginning = tuple(parts[:at])
        if beginning in beginnings:
            found = list(beginnings[beginning])
            continue
        if not set(part) & {"*", "?"}:
            found = [join(each, part) for each in found]
            continue
        # Where bash counts bytes, several `?` stand for one character.
        name = re.compile("".join({"*": ".*", "?": ".?"}.get(each, re.escape(each)) for each in part), re.DOTALL)
        deeper: list[str] = []
        for folder in found:
            name_count[0] += _FOLDER
            if name_count[0] > 10 * MOST_NAMES:
                return None
            try:
                with os.scandir(folder) as listing:
                    for entry in listing:
                        name_count[0] += 1
                        if name_count[0] > 10 * MOST_NAMES or len(deeper) > MOST_NAMES:
                            return None
                        is_hidden = entry.name.startswith(".") and not part.startswith(".")
                        if not is_hidden and (part == "*" or name.fullmatch(entry.name)):
                            deeper.append(join(folder, entry.name))
            except OSError:
                continue  # bash finds nothing there either
        found = deeper
        beginnings[beginning] = tuple(found)
    return tuple(found)


def _below(folder: str, through_links: bool) -> Below:  # noqa: FBT001 - of a lookup with two arguments
    """Return what lies below a folder. Where links count, folders of packages are entered too."""
    links: list[str] = []
    files: list[str] = []
    rules: list[str] = []
    installed: list[str] = []
    waiting, count = [folder], 0
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                for entry in listing:
                    count += 1
                    if count > MOST_BELOW or len(links) > _LINKS:
                        return Below(tuple(files), tuple(links), is_complete=False, seen_names=count)
                    if entry.is_symlink():
                        links.append(real_path(entry.path))
                        rules += links[-1:] if entry.name.endswith("ignore") else []
                    elif entry.is_dir(follow_symlinks=False) and (through_links or entry.name not in _INSTALLED):
                        waiting.append(entry.path)
                    else:
                        files.append(entry.path)
                        if entry.name in _INSTALLED and entry.is_dir(follow_symlinks=False):
                            installed.append(entry.path)
        except OSError:
            continue  # what cannot be listed the command cannot list either
    files += _secrets_of_installed(installed)
    return Below(tuple(files), tuple(links), rules=tuple(rules), seen_names=count)


def _secrets_of_installed(folders: list[str]) -> Iterator[str]:
    """Yield the files with secrets in these folders and in the folders in them. Repositories are git's own."""
    waiting = [(folder, True) for folder in folders if not folder.endswith("/.git")]
    count = 0
    while waiting and count < _INSTALLED_MOST:
        folder, is_first = waiting.pop()
        try:
            with os.scandir(folder) as listing:
                for entry in islice(listing, _INSTALLED_MOST):
                    count += 1
                    if is_first and entry.is_dir(follow_symlinks=False):
                        waiting.insert(0, (entry.path, False))
                    elif holds_secrets(entry.path) and entry.is_file(follow_symlinks=False):
                        yield entry.path
        except OSError:
            continue  # what cannot be listed the command cannot list either
