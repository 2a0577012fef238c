"""A wall around a program that runs commands itself, such as the supervisor of a session in a sandboxed place.

It is level `workspace` with the whole disk in view: writable are the place and one folder of the session's own. What is
inside starts no further wall, for this one forbids it. The prefix is a program of ours, not bubblewrap's name, because
bubblewrap takes the filter for system calls from a descriptor: that program opens it, and becomes bubblewrap.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from holdfast.system.confinement.bubblewrap import BUBBLEWRAP
from holdfast.system.confinement.description import Confinement, is_within
from holdfast.system.confinement.entry import enter_wall, prepare_wall
from holdfast.system.confinement.launch import confined_launch, launch_fields
from holdfast.system.confinement.machine import masks_of
from holdfast.system.confinement.probe import PROBE_SECONDS, obstacle_here, obstacle_in
from holdfast.system.confinement.remedies import NOT_INSTALLED, Obstacle
from holdfast.system.confinement.survey import describe

_PACKAGES = str(Path(__file__).parents[3])
_PROGRAM = (
    "import sys; sys.path.append(sys.argv.pop(1)); from holdfast.system.confinement.outer_wall import main; main()"
)
_FAILED = 126


def outer_words(
    place: Path, own: Path, *, placeholders: Path, hidden: tuple[Path, ...], network: bool, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the words before a program that may write only `place` and its `own` folder, and sees nothing `hidden`.

    With `network` it shares the machine's. Raises `OSError`, and `LevelUnavailable` if no wall can keep the place.
    """
    described = describe(
        "workspace",
        cwd=str(place),
        roots=(str(place),),
        temporary=str(own),
        placeholders=str(placeholders),
        environ=environ,
        masks=masks_of(map(str, hidden)),
        sees_disk=True,
    )
    launch = confined_launch(_around_programs(described, network=network), "bwrap", environ)
    fields = json.dumps(launch_fields(launch._replace(environment=())))  # arguments are seen by everybody
    return (sys.executable, "-I", "-S", "-X", "utf8", "-c", _PROGRAM, _PACKAGES, fields)


def outer_obstacle(words: tuple[str, ...], place: Path, environ: Mapping[str, str]) -> Obstacle | None:
    """Return why a program of this Python cannot work in the place below these words. Starts one, and blocks."""
    path = shutil.which(BUBBLEWRAP, path=environ.get("PATH"))
    if path is None:
        return NOT_INSTALLED
    try:
        done = subprocess.run(  # noqa: S603 - this package's own program
            [*words, sys.executable, "-I", "-S", "-c", ""],
            cwd="/",
            env=dict(environ),
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=PROBE_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Obstacle(f"the sandbox did not start: {error}", "See: holdfast doctor sandbox.")
    foreign = obstacle_in(str(place))
    return foreign or (obstacle_here(path, done.stderr.decode("utf-8", "replace")) if done.returncode else None)


def _around_programs(described: Confinement, *, network: bool) -> Confinement:
    """Return the description for a program of this Python, without the caches of the user who runs the worker."""
    own = tuple(dict.fromkeys(os.path.realpath(path) for path in (_PACKAGES, sys.prefix, sys.base_prefix)))
    shown = tuple(path for path in own if not is_within(path, described.roots) and path.count("/") > 1)
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
