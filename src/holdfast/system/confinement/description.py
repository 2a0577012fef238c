"""What a command may see and do, as a frozen value: the only input of the builder of the wall."""

from __future__ import annotations

from typing import Literal, NamedTuple

Level = Literal["read", "workspace", "network"]
"""`read`: only TMPDIR is writable. `workspace`: also the workspace and the caches. `network`: also HTTP by name."""

WallKind = Literal["none", "bwrap", "landlock"]
"""What the kernel confines with on this machine. Another system's gets a word here and a branch in `launch`."""

SCRATCH_BYTES = 64 << 20
"""The most that each private /tmp, /run, /var/tmp and /dev/shm holds; without a size it could take half the memory."""


OUTER_SCRATCH_BYTES = 1 << 30
"""The same for a wall around a whole session, whose builds have no other temporary folder."""

Outer = Literal["", "offline", "online"]
"""Whether the wall is around a program that runs commands by itself; `online`: it shares the machine's network."""


class LevelUnavailable(Exception):
    """A command cannot be confined at that level: by this machine's wall, or in this workspace."""


class Mask(NamedTuple):
    """A secret that is refused inside: a file with its size and time, so that git sees no change, or a folder."""

    path: str
    is_folder: bool
    size: int = 0
    mtime_ns: int = 0


class SystemView(NamedTuple):
    """What this machine has: folders of the system as they are, and links (path, target) among them."""

    folders: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    scratch: tuple[str, ...]
    """Those of /tmp, /run, /var/tmp and the runtime folder that exist, by their real paths."""


class GitFolders(NamedTuple):
    """The git folders of one workspace root.

    `pinned` become mounts of their own, so that they cannot be renamed; `protected` below them stay read-only.
    `common` is the repository of a linked worktree, "" if the repository is in the root. `hooks` are hidden where
    nothing is written, for no hook runs there. `absent` are files that git would obey and that do not exist: no wall
    can keep a command from making them, so look for them afterwards.
    """

    pinned: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    common: str = ""
    hooks: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


class Confinement(NamedTuple):
    """A command's wall. Every path is real (`os.path.realpath`) and exists.

    `roots` are the workspace and the added folders. `temporary` is TMPDIR. `placeholders` is a folder, outside of
    every root, for what covers the secrets. `toolchains` are seen read-only. `caches` and `roots` are writable above
    level `read`, but for `fixed`: what other programs run or obey. `masks` are refused at every level.

    `sees_disk` is for a command that the user allowed: it sees the whole disk, read-only and masked. `is_looking` is
    for a line of nothing but `ps`, `pgrep`, `ss` and `netstat`, which must see the machine's processes to be right.
    A command that `stays` ends when nothing is left of what it started. `python` runs the listener of level `network`;
    its folders are among the toolchains. `outer` is for a wall around a supervisor: nothing waits for what it leaves
    behind or reads how it ended. `bubblewrap` is the program that builds the wall, "" if there is none outside of the
    roots.
    """

    level: Level
    cwd: str
    roots: tuple[str, ...]
    temporary: str
    placeholders: str
    home: str
    system: SystemView
    toolchains: tuple[str, ...] = ()
    git: tuple[GitFolders, ...] = ()
    caches: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    masks: tuple[Mask, ...] = ()
    sees_disk: bool = False
    is_looking: bool = False
    stays: bool = False
    python: str = ""
    outer: Outer = ""
    bubblewrap: str = "bwrap"


def is_below(path: str, folder: str) -> bool:
    """Return whether the path is the folder or lies in it. Both are real paths."""
    return folder in (path, "/") or path.startswith(f"{folder}/")


def is_within(path: str, folders: tuple[str, ...]) -> bool:
    """Return whether the path is or lies in one of the folders."""
    return any(is_below(path, each) for each in folders)
