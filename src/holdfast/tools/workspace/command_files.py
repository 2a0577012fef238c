"""What the disk adds to the words of a command: links, matching names, what lies below a folder, and repositories.

Everything has a bound, because a command is judged before anybody allowed it: what goes over is not known, and asks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from posixpath import normpath

import msgspec

from holdfast.system.secret_files import holds_secrets
from holdfast.tools.workspace.git_repository import StartsPrograms, read_repositories

MOST_NAMES = 2_000
"""The most names that a pattern may match, and ten times as many may be looked at; with more, they are unknown."""

MOST_BELOW = 20_000
"""The most names below a folder that are looked at; with more, what lies there is unknown."""

_MOST_PARTS = 32
_LONGEST_NAME = 255
_LINKS = 2_000


class Below(msgspec.Struct, frozen=True):
    """What lies below a folder: where the links in it lead, and the files that hold secrets. All paths are absolute.

    `whole` is False if there was too much to look at.
    """

    links: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    whole: bool = True


class Surroundings(msgspec.Struct, frozen=True):
    """Lookups on the disk: the real path as the kernel finds it, the paths that match a pattern (None: too many), what
    lies below a folder, the file that a program's name runs in a folder ("": none), what repositories start.

    All paths are absolute. The default reads nothing: each path leads where it says.
    """

    real: Callable[[str], str] = normpath
    matches: Callable[[str], tuple[str, ...] | None] = lambda _: ()
    below: Callable[[str], Below] = lambda _: Below()
    program: Callable[[str, str], str] = lambda _name, _folder: ""
    repositories: Callable[[str], StartsPrograms] = lambda _: StartsPrograms()

    def remembering(self) -> Surroundings:
        """Return the same lookups, each made once: for the judging of one line."""
        return Surroundings(
            real=cache(self.real),
            matches=cache(self.matches),
            below=cache(self.below),
            program=cache(self.program),
            repositories=cache(self.repositories),
        )


NO_SURROUNDINGS = Surroundings()


def disk_surroundings() -> Surroundings:
    """Return the surroundings that read the disk."""
    return Surroundings(
        real=os.path.realpath, matches=_matches, below=_below, program=_program, repositories=read_repositories
    )


def _matches(pattern: str) -> tuple[str, ...] | None:
    """Return the paths that `*` and `?` in a path stand for, as bash finds them; None if there are too many."""
    parts = pattern.split("/")[1:]
    if len(parts) > _MOST_PARTS:
        return None
    if any(len(part) > _LONGEST_NAME for part in parts):
        return ()
    found, looked = ["/"], 0
    for part in parts:
        if not set(part) & {"*", "?"}:
            found = [os.path.join(each, part) for each in found]
            continue
        name = re.compile("".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in part), re.DOTALL)
        deeper: list[str] = []
        for folder in found:
            try:
                with os.scandir(folder) as listing:
                    for entry in listing:
                        looked += 1
                        if looked > 10 * MOST_NAMES or len(deeper) > MOST_NAMES:
                            return None
                        if name.fullmatch(entry.name) and (part.startswith(".") or not entry.name.startswith(".")):
                            deeper.append(os.path.join(folder, entry.name))
            except OSError:
                continue  # bash finds nothing there either
        found = deeper
    return tuple(found)


def _below(folder: str) -> Below:
    """Return what lies below a folder, or that it is a link or a file with a secret itself."""
    links: list[str] = []
    secrets: list[str] = []
    waiting, looked = [folder], 0
    if holds_secrets(folder) and not os.path.isdir(folder):
        return Below(secrets=(folder,))
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                for entry in listing:
                    looked += 1
                    if looked > MOST_BELOW or len(links) > _LINKS:
                        return Below(tuple(links), tuple(secrets), whole=False)
                    if entry.is_symlink():
                        links.append(os.path.realpath(entry.path))
                    elif entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif holds_secrets(entry.path):
                        secrets.append(entry.path)
        except OSError:
            continue  # what cannot be listed the command cannot list either
    return Below(tuple(links), tuple(secrets))


def _program(name: str, folder: str) -> str:
    """Return the file that a program's name runs in a folder, by the search path of commands; "" if there is none."""
    for place in os.environ.get("PATH", os.defpath).split(":"):
        path = os.path.join(folder, place, name)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return os.path.realpath(os.path.dirname(path)) + "/" + name
    return ""
