"""Hostile lines at level `read`, as if the judge had let them through: nothing changes, nothing leaves."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import pytest

import escape_attempts
import walls
from hostile_lines import LINES
from tiers import sampled, some

OUTSIDE = "A-NAME-OUTSIDE"
BYTES = "BYTES-OUTSIDE"


@pytest.mark.parametrize(
    ("kind", "user"), sampled(product(["bwrap", "landlock"], dict.fromkeys((os.geteuid(), walls.NOBODY))), 4)
)
def test_no_line_acts_at_level_read(kind: walls.WallKind, user: int, open_folder: Path) -> None:
    walls.need(kind)
    walls.need_user(user)
    folder = open_folder / "hostile"
    world = escape_attempts.build(folder, user)
    for name in ("outside", "outside/d", "home", "home/.ssh", walls.NEIGHBOUR):
        (folder / name / OUTSIDE).write_text(f"{BYTES}\n")
    before = outside(folder)
    wall = walls.Wall(
        folder=folder,
        kind=kind,
        level="read",
        user=user,
        masks=(str(folder / "ws/.env"),),
        inherited=str(folder / "outside/plain.txt"),
    )
    lines = [row[0] for row in some([(line,) for line in LINES], 150)]
    try:
        ran = wall.run(*(line.replace("$B", str(folder)) for line in lines), seconds=60, environ=world.environ())
        assert outside(folder) == before
        assert world.prey.poll() is None
        assert os.getpriority(os.PRIO_PROCESS, world.victim.pid) == os.getpriority(os.PRIO_PROCESS, 0)
        assert [name for name in world.sockets if world.reached(name)] == []
        leaked = {line: each.output for line, each in zip(lines, ran, strict=True) if tells(each.output)}
        assert leaked == {}
        assert [line for line, each in zip(lines, ran, strict=True) if not each.did_start] == []
    finally:
        world.close()


def tells(output: str) -> bool:
    """Return whether an output has a byte or a name of what lies outside."""
    return any(each in output for each in (walls.SECRET, OUTSIDE, BYTES))


def outside(folder: Path) -> dict[str, object]:
    """Return everything that must stay as it is: all but the temporary folder and the placeholders."""
    everything = walls.snapshot(folder)
    return {path: state for path, state in everything.items() if path.split("/")[0] not in ("temporary", "masks")}


def test_there_are_lines_of_every_class_and_none_twice() -> None:
    assert len(LINES) >= 150
    assert len(set(LINES)) == len(LINES)
