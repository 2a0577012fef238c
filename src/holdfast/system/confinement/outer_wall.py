"""A wall around a program that runs commands itself, such as the supervisor of a session in a sandboxed place.

It is level `workspace` with the whole disk in view: writable are the place and the folder of the session. What is
inside starts no further wall, for this one forbids it. The prefix is a program of holdfast, not bubblewrap's name:
bubblewrap takes the filter for system calls from a descriptor. That program opens it, and becomes bubblewrap.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from holdfast.system.confinement.description import Confinement, is_within
from holdfast.system.confinement.entry import enter_wall, prepare_wall
from holdfast.system.confinement.launch import confined_launch, launch_fields
from holdfast.system.confinement.machine import masks_of
from holdfast.system.confinement.survey import describe

_PACKAGES = str(Path(__file__).parents[3])
_PROGRAM = (
    "import sys; sys.path.append(sys.argv.pop(1)); from holdfast.system.confinement.outer_wall import main; main()"
)
_FAILED = 126


def outer_words(
    place: Path,
    session_folder: Path,
    *,
    placeholders: Path,
    hidden: tuple[Path, ...],
    network: bool,
    environ: Mapping[str, str],
) -> tuple[str, ...]:
    """Return the words before a program that may write only `place` and `session_folder`, and sees nothing `hidden`.

    With `network` it shares the machine's. Raises `OSError`, and `LevelUnavailable` if no wall can keep the place.
    """
    described = describe(
        "workspace",
        cwd=str(place),
        roots=(str(place),),
        temporary=str(session_folder),
        placeholders=str(placeholders),
        environ=environ,
        masks=masks_of(map(str, hidden)),
        sees_disk=True,
    )
    launch = confined_launch(_around_programs(described, network=network), "bwrap", environ)
    fields = json.dumps(launch_fields(launch._replace(environment=())))  # arguments are seen by everybody
    return (sys.executable, "-I", "-S", "-X", "utf8", "-c", _PROGRAM, _PACKAGES, fields)


def _around_programs(described: Confinement, *, network: bool) -> Confinement:
    """Return the description for a program of this Python, without the caches of the user who runs the worker."""
    needed = tuple(dict.fromkeys(os.path.realpath(path) for path in (_PACKAGES, sys.prefix, sys.base_prefix)))
    shown = tuple(path for path in needed if not is_within(path, described.roots) and path.count("/") > 1)
    return described._replace(
        outer="online" if network else "offline",
        caches=(),
        toolchains=tuple(dict.fromkeys((*described.toolchains, *shown))),
    )


def main() -> None:
    """Become the program that the arguments name, in the wall that the first one describes; say why if that fails."""
    fields, *words = sys.argv[1:]
    try:
        enter_wall(prepare_wall(json.loads(fields)), words, os.environ)
    except OSError:
        sys.exit(_FAILED)
