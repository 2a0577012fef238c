"""Every attempt to get out of a wall fails, as seen from outside; what is not stopped is in the document's table."""

from __future__ import annotations

import os
import subprocess
from itertools import product
from pathlib import Path

import pytest

import escape_attempts
import walls
from escape_attempts import ATTEMPTS, COLUMNS, Column
from polling import eventually
from tiers import sampled

PAGE = Path(__file__).parents[3] / "docs/reference/confinement.md"
BEGIN, END = "<!-- the table of tests/escape_attempts.py -->\n", "\n<!-- end of the table -->"

USERS = dict.fromkeys((os.geteuid(), walls.NOBODY))


@pytest.mark.parametrize(
    ("column", "user"),
    sampled(product(COLUMNS, USERS), 2 * len(COLUMNS)),
    ids=lambda value: value.name if isinstance(value, Column) else None,
)
def test_only_what_the_table_names_gets_out(column: Column, user: int, open_folder: Path) -> None:
    found = escape_attempts.escapes(open_folder, escape_attempts.wall_of(column, open_folder, user))
    assert {name for name, escaped in found.items() if escaped} == set(column.passes)


def test_the_table_of_the_page_is_current() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin
    assert end
    current = f"{before}{begin}{escape_attempts.table()}{end}{after}"
    if os.environ.get("HOLDFAST_WRITE_TABLE") and current != text:
        PAGE.write_text(current, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == current, "run this test with HOLDFAST_WRITE_TABLE=1"


def test_names_of_attempts_differ() -> None:
    assert len({each.name for each in ATTEMPTS}) == len(ATTEMPTS)


OF_ANY_USER = {
    "write in the home folder",
    "write in the workspace",
    "write through a link that leads out",
    "change the configuration of git",
    "rename .git and make another",
    "change a file that other programs obey",
    "change a mode outside",
    "change a time outside",
    "kill a process outside",
    "connect to a Unix socket in the home folder",
    "connect to a Unix socket in TMPDIR",
    "connect to an abstract Unix socket",
    "send from a pair of datagram sockets to a Unix socket",
    "connect by TCP to the machine",
    "send by UDP",
    "change the priority of a process outside",
    "read the keys file",
    "read the journal of another session",
    "read a private key",
    "read a masked file of the workspace",
    "read a file outside",
    "hard link a file outside",
    "list a folder outside",
    "learn the size of a file outside",
    "read the environment of other processes",
    "read the command line of another process",
}
"""What every user may do to the own files and processes: without a wall it succeeds, else the suite proves nothing."""


def test_without_a_wall_the_attempts_succeed(open_folder: Path) -> None:
    user = walls.NOBODY if os.geteuid() == 0 else os.geteuid()  # never as root: it could take the machine down
    folder = open_folder / "open"
    wall = walls.Wall(folder=folder, kind="none", level="read", user=user, inherited=str(folder / "outside/plain.txt"))
    try:
        found = escape_attempts.escapes(folder, wall)
    finally:
        for beginning in ("/tmp/escape", "/dev/shm/escape"):
            escape_attempts.in_shared_folder(beginning, folder).unlink(missing_ok=True)
        for each in escape_attempts.shared_memory(4711):
            subprocess.run(["ipcrm", "-m", each], check=True)
    assert {name for name in OF_ANY_USER if not found[name]} == set()


@pytest.mark.parametrize("kind", ["bwrap", "landlock"])
def test_children_without_number_end_with_their_time(kind: walls.WallKind, tmp_path: Path) -> None:
    folder = walls.hostile_folder(tmp_path / "many", os.geteuid())
    wall = walls.Wall(folder=folder, kind=kind, level="read")
    (ran,) = wall.run("for i in $(seq 60); do setsid sleep 1000.5 & done; echo ready; wait", seconds=3)
    assert "ready" in ran.output
    assert ran.timed_out
    if kind == "bwrap":  # the kernel ends the namespace; without one it is the supervisor's work
        eventually(lambda: not running("1000.5"))
    else:
        for pid in running("1000.5"):
            os.kill(pid, 9)


def running(argument: str) -> list[int]:
    """Return the processes that have this argument."""
    found: list[int] = []
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdigit() and argument.encode() in (each / "cmdline").read_bytes().split(b"\0"):
                found.append(int(each.name))
        except OSError:  # it has ended
            continue
    return found


@pytest.mark.parametrize(
    ("kind", "level"), sampled([("bwrap", "read"), ("bwrap", "workspace"), ("landlock", "read")], 3)
)
def test_what_is_written_to_the_temporary_folder_is_kept(
    kind: walls.WallKind, level: walls.Level, tmp_path: Path
) -> None:
    folder = walls.hostile_folder(tmp_path / "kept", os.geteuid())
    walls.Wall(folder=folder, kind=kind, level=level).run("echo kept > $TMPDIR/file")
    assert (folder / "temporary/file").read_text() == "kept\n"
