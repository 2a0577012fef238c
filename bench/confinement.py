"""What a wall costs each command: `bash -c :` inside and outside, in turns, in a process with one thread.

The limit of CPU time is for Landlock. Bubblewrap alone, with the namespaces, `/dev` and `/proc` that every wall needs,
takes more than that, so of its wall the limit is what is ours, over what bubblewrap takes alone: see
docs/decisions/0114-what-may-be-widened.md, and docs/reference/confinement.md for a table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.system.confinement.description import WallKind
from holdfast.system.confinement.launch import Launch, confined_launch, launch_fields
from holdfast.system.confinement.probe import probe_walls
from holdfast.system.confinement.survey import describe
from holdfast.system.confinement.trial import run_forked
from pairs import AtMost, Comparison

if TYPE_CHECKING:
    from holdfast.system.confinement.entry import LaunchFields

CPU, WALL = 0.003, 0.015
"""Seconds that a wall may add to a command."""

OURS = 1.5
"""How much CPU time may be ours for each second that bubblewrap takes alone."""

_COMMAND = ("/bin/bash", "-c", ":")
_NAMES = {
    "namespaces": "bubblewrap alone, with our namespaces, /dev and /proc,",
    "bwrap": "bubblewrap",
    "landlock": "Landlock",
}
_NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-net", "--as-pid-1", "--ro-bind", "/", "/", "--disable-userns",
    "--cap-drop", "ALL", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent",
    "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc",
)  # fmt: skip
"""What no wall of bubblewrap can do without: below this its cost cannot be brought."""


def confining(folder: Path, *, rounds: int) -> list[Comparison]:
    """Compare what each wall that works here adds to a command with its limit."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__)), str(folder), str(rounds)], stdout=subprocess.PIPE, check=True
    )
    found: dict[str, list[list[float]]] = json.loads(done.stdout)
    limits = [
        Comparison(
            what=f"{what} that {_NAMES[kind]} adds to a command",
            against=f"{limit:g} s",
            ours=_added(found, kind, at),
            theirs=[limit] * rounds,
            aim=AtMost(ratio=1),
        )
        for kind in ("bwrap", "landlock")
        if kind in found
        for at, (what, limit) in enumerate((("CPU time", CPU), ("time", WALL)))
        if (kind, at) != ("bwrap", 0)
    ]
    if "bwrap" not in found:
        return limits
    whole, alone = _added(found, "bwrap", 0), _added(found, "namespaces", 0)
    ours = Comparison(
        what=f"CPU time that {_NAMES['bwrap']} adds for what is ours",
        against=f"what {_NAMES['namespaces']} adds",
        ours=[max(0.0, each - least) for each, least in zip(whole, alone, strict=True)],
        theirs=[max(each, _SHORTEST) for each in alone],
        aim=AtMost(ratio=OURS),
    )
    return [ours, *limits]


_SHORTEST = 0.000_1


def _added(found: dict[str, list[list[float]]], kind: str, at: int) -> list[float]:
    """Return what a wall adds to a command in each round: CPU time (0) or time (1)."""
    return [max(0.0, times[at] - bare[at]) for times, bare in zip(found[kind], found["none"], strict=True)]


def main(folder: str, rounds: int) -> None:
    """Run the command in each wall in turns, and write CPU and wall time of each round."""
    kinds: list[WallKind] = [each.kind for each in probe_walls(os.environ) if each.obstacle is None]
    launches = {"none": _bare(folder), **{kind: _confined(folder, kind) for kind in kinds}}
    if "bwrap" in kinds:
        launches["namespaces"] = _bare(folder, launches["bwrap"]["argv"][0], *_NAMESPACES)
    found: dict[str, list[list[float]]] = {kind: [] for kind in launches}
    for number in range(rounds + 1):
        for kind, fields in launches.items():
            result = run_forked(fields, _COMMAND, seconds=60)
            if number:
                found[kind].append([result.cpu, result.seconds])
    print(json.dumps(found))


def _bare(folder: str, *words: str) -> LaunchFields:
    return launch_fields(Launch("none", words, tuple(os.environ.items()), folder))


def _confined(folder: str, kind: WallKind) -> LaunchFields:
    workspace = f"{folder}/workspace"
    Path(workspace).mkdir(exist_ok=True)
    described = describe(
        "read",
        cwd=workspace,
        roots=(workspace,),
        temporary=f"{folder}/temporary",
        placeholders=f"{folder}/masks",
        environ=os.environ,
    )
    return launch_fields(confined_launch(described, kind, os.environ))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
