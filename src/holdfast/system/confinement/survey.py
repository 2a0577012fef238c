"""Looks at the machine for what one command's description needs: the usual way to make a `Confinement`.

described = describe(
    "read", cwd="/ws", roots=("/ws",), temporary=f"{session}/tmp", placeholders=f"{session}/masks",
    environ=os.environ, masks=masks_of([keys_file, "/ws/.env"]),
)
launch = confined_launch(described, wall.kind, child_environment(os.environ, call=call))
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from holdfast.system.confinement.bubblewrap import BUBBLEWRAP
from holdfast.system.confinement.credential_places import credential_masks
from holdfast.system.confinement.description import Confinement, Level, Mask, is_within
from holdfast.system.confinement.git_folders import git_folders, settle_git_folders
from holdfast.system.confinement.machine import (
    cache_folders,
    python_folders,
    system_view,
    toolchain_folders,
)
from holdfast.system.trusted_programs import trusted_program

LOOKING_PROGRAMS = frozenset({"ps", "pgrep", "ss", "netstat"})
"""Programs that would answer "nothing runs" inside a namespace, which is wrong and no error."""


def describe(  # noqa: PLR0913 - what a wall is made of
    level: Level,
    *,
    cwd: str,
    roots: tuple[str, ...],
    temporary: str,
    placeholders: str,
    environ: Mapping[str, str],
    masks: tuple[Mask, ...] = (),
    fixed: tuple[str, ...] = (),
    sees_disk: bool = False,
    programs: frozenset[str] = frozenset(),
) -> Confinement:
    """Return the description of a command's wall, from the machine as it is now.

    Raises `OSError`, and `LevelUnavailable` if no wall can keep the workspace at that level.
    Makes `temporary` and `placeholders`, which belong to the session. `masks` are added to the credentials of the
    machine and the user. `fixed` are files and folders that stay read-only, those that exist. `programs` are all that
    the line runs, if known: a line of nothing but `LOOKING_PROGRAMS` sees the machine's processes at level `read`.
    """
    for folder in (temporary, placeholders):
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    home = environ.get("HOME") or "/"
    if level != "read":
        for root in roots:
            settle_git_folders(os.path.realpath(root))
    real = tuple(dict.fromkeys(os.path.realpath(root) for root in roots))
    python = python_folders() if level == "network" else ()
    credentials = credential_masks(home, {**os.environ, **environ}, roots=real)
    secrets = {mask.path: mask for mask in (*credentials, *masks)}
    folders = tuple(mask.path for mask in secrets.values() if mask.is_folder)
    return Confinement(
        level=level,
        cwd=os.path.realpath(cwd),
        roots=real,
        temporary=os.path.realpath(temporary),
        placeholders=os.path.realpath(placeholders),
        home=os.path.realpath(home),
        system=system_view(environ),
        toolchains=tuple(dict.fromkeys((*toolchain_folders(environ, home, roots=real, secret=folders), *python))),
        git=tuple(git_folders(root) for root in real),
        caches=cache_folders(home, roots=real) if level != "read" else (),
        fixed=tuple(
            path for path in map(os.path.realpath, fixed) if os.access(path, os.F_OK) and is_within(path, real)
        ),
        masks=tuple(secrets.values()),
        sees_disk=sees_disk and level != "read",
        is_looking=level == "read" and bool(programs) and programs <= LOOKING_PROGRAMS,
        python=os.path.realpath(sys.executable),
        bubblewrap=trusted_program(BUBBLEWRAP, *real, environ=environ),
    )


def appeared_files(described: Confinement) -> tuple[str, ...]:
    """Return the files that make git obey another folder and that were not there before the command ran.

    Ask after a command at a level above `read`, before git runs outside of a wall: move them away, and tell the user.
    """
    return tuple(path for git in described.git for path in git.absent if os.path.lexists(path))
