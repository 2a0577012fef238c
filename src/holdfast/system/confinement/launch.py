"""How a confined command is started: everything decided beforehand, nothing left to the process that forks.

`confined_launch` is pure but for one thing: Landlock's rules need the names beside each secret. The result is plain
data (`launch_fields`), so that it can be sent to the supervisor as JSON; `entry` does there what it says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holdfast.system.confinement.bubblewrap import bubblewrap_words, placeholder, visible_masks
from holdfast.system.confinement.command_environment import confined_environment
from holdfast.system.confinement.description import Confinement, LevelUnavailable, Mask, WallKind
from holdfast.system.confinement.kernel.landlock_rights import LIST_NAMES, READ, WRITE, WRITE_DEVICE
from holdfast.system.confinement.kernel.readable_paths import read_grants
from holdfast.system.confinement.kernel.seccomp import filter_program
from holdfast.system.confinement.network.listener import listener_words

if TYPE_CHECKING:
    from holdfast.system.confinement.entry import LaunchFields

_WRITABLE_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
_READABLE_DEVICES = ("/dev/random", "/dev/urandom")
"""Not all of /dev: root owns the disks there, and an owner needs no capability to read them."""


class Placeholder(NamedTuple):
    """A file or folder of mode 000 to make before the start; a file with that size and time."""

    path: str
    is_folder: bool
    size: int
    mtime_ns: int


class Launch(NamedTuple):
    """The start of a confined command.

    `argv` goes before the shell's own words. `environment` is all of the command's environment, `cwd` its folder.
    `filter` is the program of seccomp: bubblewrap reads it from a descriptor, with Landlock the child loads it. `rules`
    are Landlock's, as (path, rights). `is_proxied` says that the child inherits a channel to the proxy.
    What appears at the paths `absent` is moved away when the command has ended: git would obey it.
    """

    kind: WallKind
    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    cwd: str
    filter: bytes = b""
    placeholders: tuple[Placeholder, ...] = ()
    rules: tuple[tuple[str, int], ...] = ()
    keep_file_capabilities: bool = False
    is_proxied: bool = False
    absent: tuple[str, ...] = ()


def confined_launch(described: Confinement, kind: WallKind, environ: Mapping[str, str]) -> Launch:
    """Return how to start a command in that wall, with the command's `environ` made fit for it.

    Raises `LevelUnavailable` if the wall has no such level, `RuleLimit` if Landlock would need too many rules.
    """
    environment = tuple(sorted(confined_environment(environ, described).items()))
    match kind:
        case "none":
            raise LevelUnavailable("The command cannot be confined: no wall works here. See: holdfast doctor sandbox")
        case "bwrap":
            if not described.bubblewrap:
                raise LevelUnavailable(
                    "The command cannot be confined: PATH has no bubblewrap (bwrap) outside of the workspace. "
                    "See: holdfast doctor sandbox"
                )
            proxied = described.level == "network"
            return Launch(
                kind,
                bubblewrap_words(described, listener=listener_words(described.python) if proxied else ()),
                environment,
                described.cwd,
                filter=filter_program("looking" if described.is_looking else "bwrap", os.uname().machine),
                placeholders=tuple(_placeholders(described)),
                is_proxied=proxied,
                absent=() if described.level == "read" else tuple(path for git in described.git for path in git.absent),
            )
        case "landlock":
            if described.level != "read":
                raise LevelUnavailable(
                    f"The command cannot be confined at level {described.level!r}: Landlock confines only at level "
                    "'read'. Install bubblewrap, or allow the command to run outside."
                )
            return Launch(
                kind,
                (),
                environment,
                described.cwd,
                filter=filter_program("landlock", os.uname().machine),
                rules=tuple(_rules(described)),
                keep_file_capabilities=_belongs_to_another_user(described.cwd),
            )


def _placeholders(described: Confinement) -> Iterator[Placeholder]:
    hooks = (Mask(path, is_folder=True) for git in described.git for path in git.hooks)
    for mask in (*visible_masks(described), *hooks):
        yield Placeholder(placeholder(described, mask), *mask[1:])


def _rules(described: Confinement) -> Iterator[tuple[str, int]]:
    repositories = tuple(each.common for each in described.git if each.common)
    folders = (*described.system.folders, *described.toolchains, *described.roots, *repositories)
    hidden = (*described.masks, *(Mask(path, is_folder=True) for git in described.git for path in git.hooks))
    grants = read_grants(folders, hidden, _entries)
    for path in grants.subtrees:
        yield path, READ
    for path in grants.names:
        yield path, LIST_NAMES
    for path in ("/proc", *_READABLE_DEVICES):
        yield path, READ
    for path in _WRITABLE_DEVICES:
        yield path, WRITE_DEVICE
    yield described.temporary, WRITE


def _entries(folder: str) -> list[str]:
    """Return the names in a folder without its links: a rule for a link would reach where it leads."""
    try:
        with os.scandir(folder) as found:
            return [each.name for each in found if not each.is_symlink()]
    except OSError:  # what cannot be listed is not granted
        return []


def _belongs_to_another_user(path: str) -> bool:
    return os.geteuid() == 0 and Path(path).stat().st_uid != 0


def launch_fields(launch: Launch) -> LaunchFields:
    """Return the launch as JSON has it, for `prepare_wall` in another process."""
    return {
        "kind": launch.kind,
        "argv": list(launch.argv),
        "environment": dict(launch.environment),
        "cwd": launch.cwd,
        "filter": launch.filter.hex(),
        "placeholders": [(each.path, each.is_folder, each.size, each.mtime_ns) for each in launch.placeholders],
        "rules": list(launch.rules),
        "keep_file_capabilities": launch.keep_file_capabilities,
        "is_proxied": launch.is_proxied,
        "absent": list(launch.absent),
    }
