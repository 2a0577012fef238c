"""The law that what runs unasked opens nothing outside and starts nothing else, behind each wall and without one.

The lines are put together at random (`free_lines.py`) over a folder with links outward and hostile repositories; what
they do is judged by `strace` alone (`traced_lines.py`). Deep: 5,000 lines, as this user and as another one.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import free_lines
import traced_lines
import walls
from skips import needs
from tiers import SEED, TIER, sampled

MANY = {"quick": 50, "wider": 500, "deep": 500}[TIER]
SHARES = {"quick": 1, "wider": 1, "deep": 10}[TIER]
"""In how many tests the lines of one wall and user are tried: 5,000 in one would take longer than a test may."""
KINDS: tuple[walls.WallKind, ...] = ("none", "bwrap", "landlock")
USERS = walls.users()
SECRETS = (walls.SECRET, walls.NEIGHBOUR)


def wall_around(folder: Path, kind: walls.WallKind, user: int) -> walls.Wall:
    """Return a wall at level `read` around a new hostile folder."""
    walls.need(kind)
    walls.need_user(user)
    walls.hostile_folder(folder, user)
    free_lines.build(folder, user)
    return walls.Wall(folder=folder, kind=kind, level="read", user=user, masks=(str(folder / "ws/.env"),))


def without_caches(folder: Path) -> dict[str, object]:
    """Return what a command must leave as it is: all but git's caches of times, and what the trace needs."""
    everything = walls.snapshot(folder)
    return {
        path: state
        for path, state in everything.items()
        if path.split("/")[0] not in ("temporary", "masks") and not path.endswith((".git", ".git/index"))
    }


@needs("strace")
@pytest.mark.parametrize(("kind", "user", "share"), sampled(product(KINDS, USERS, range(SHARES)), 6))
def test_no_free_line_opens_or_starts_what_lies_outside(
    kind: walls.WallKind, user: int, share: int, open_folder: Path
) -> None:
    wall = wall_around(open_folder / "hostile", kind, user)
    lines = free_lines.free_lines(wall.folder, MANY, seed=SEED + 1_000 * share)
    before = without_caches(wall.folder)
    wrong = [
        each
        for at in range(0, len(lines), traced_lines.BATCH)
        for each in traced_lines.wrong_lines(wall, lines[at : at + traced_lines.BATCH], SECRETS)
    ]
    assert wrong == []
    assert without_caches(wall.folder) == before


SEEN = {
    "cat link": "opened: ",
    "cat data/../plain.txt": "opened: ",
    "cat .env": "opened: ",
    "ls ../outside": "opened: ",
    "cat /etc/hostname": "opened: ",
    "echo */*": "opened: ",
    "cd repos/gitlink && git log": "opened: ",
    "cat < link": "opened: ",
    "./evil.sh": "executed: ",
    "python3 -v < evil.py": "opened for writing: ",
    "cd repos/commonevil && git status": "executed: ",
    "cd repos/textconv && git show --textconv": "executed: ",
    "echo x > PWNED": "opened for writing: ",
    "rm a.txt": "acted: ",
    "chmod 600 b.txt": "acted: ",
    "exec 3<>/dev/tcp/127.0.0.1/9": "reached: ",
}
"""Lines that are not free, and what is said of each: without this the law might see nothing."""


@needs("strace")
def test_strace_sees_what_lines_do_that_are_not_free(open_folder: Path) -> None:
    wall = wall_around(open_folder / "hostile", "none", walls.another_user())
    lines = list(SEEN)
    assert [line for line in lines if free_lines.is_free(wall.workspace, line)] == []
    found = [each for line in lines for each in traced_lines.wrong_lines(wall, [line], SECRETS)]
    missed = [line for line in lines if not any(each.line == line and SEEN[line] in each.what for each in found)]
    assert missed == []


def test_a_third_of_the_lines_is_free_and_they_differ(open_folder: Path) -> None:
    folder = walls.hostile_folder(open_folder / "hostile", walls.this_user())
    free_lines.build(folder, walls.this_user())
    source = free_lines.Lines(SEED)
    lines = {source.line() for _ in range(400)}
    free = [line for line in lines if free_lines.is_free(folder / "ws", line.replace("$B", str(folder)))]
    assert len(lines) > 390
    assert 60 < len(free) < 200
    assert len({line.split()[0] for line in free}) > 25
