"""What the supervisor does with a launch: descriptors, placeholders, the status, and nothing left open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
import walls
from holdfast.system.confinement.description import Confinement, LevelUnavailable, SystemView
from holdfast.system.confinement.descriptor_numbers import GO_FD, READY_FD, WAITS_OPTION
from holdfast.system.confinement.entry import close_wall, let_begin, prepare_wall
from holdfast.system.confinement.launch import (
    Launch,
    Placeholder,
    confined_launch,
    launch_fields,
)


def test_a_command_has_begun_once_its_wall_was_there_and_it_was_told_to() -> None:
    wall = prepare_wall(launch_fields(launch()._replace(argv=(WAITS_OPTION,))))
    assert not wall.has_begun
    os.write(wall.inside[READY_FD], b"\n")
    assert not let_begin(wall)
    assert os.read(wall.inside[GO_FD], 9) == b"\n"
    wall.close_inside()
    assert let_begin(wall), "it has no more to say"
    assert close_wall(wall)


def test_a_wall_that_failed_differs_from_a_command_that_did() -> None:
    wall = prepare_wall(launch_fields(launch()._replace(argv=(WAITS_OPTION,))))
    wall.close_inside()
    assert let_begin(wall)
    assert not close_wall(wall)
    assert close_wall(prepare_wall(launch_fields(launch()))), "one that does not wait begins by itself"


def test_a_word_to_a_command_whose_first_process_was_killed_is_in_vain() -> None:
    wall = prepare_wall(launch_fields(launch()._replace(argv=(WAITS_OPTION,))))
    os.write(wall.inside[READY_FD], b"\n")
    wall.close_inside()
    assert not let_begin(wall)
    wall.close()


def test_the_supervisor_imports_little_for_it() -> None:
    sources = str(Path(holdfast.__file__).parents[1])
    check = (
        f"import sys; sys.path.append({sources!r}); import holdfast.system.confinement.entry; "
        "slow = ('typing', 'json', 'socket', 'ctypes', 'pathlib', 'subprocess'); "
        "print([each for each in slow if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def launch(*placeholders: Placeholder) -> Launch:
    return Launch("bwrap", ("bwrap",), (), "/", filter=b"12345678", placeholders=placeholders)


def test_placeholders_are_refused_files_with_size_and_time_and_refused_folders(tmp_path: Path) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    made = launch(
        Placeholder(str(file), is_folder=False, size=7, mtime_ns=1_000_000_000),
        Placeholder(str(folder), is_folder=True, size=0, mtime_ns=0),
    )
    for _ in range(2):  # the second time they are there
        prepare_wall(json.loads(json.dumps(launch_fields(made)))).close()
    status = file.stat()
    assert (status.st_size, status.st_mtime_ns, status.st_mode & 0o7777) == (7, 1_000_000_000, 0)
    assert folder.is_dir()
    assert folder.stat().st_mode & 0o7777 == 0


def test_what_is_no_placeholder_is_not_used_and_nothing_stays_open(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("something that everyone could read")
    before = open_descriptors()
    with pytest.raises(FileExistsError, match="no placeholder"):
        prepare_wall(launch_fields(launch(Placeholder(str(file), is_folder=False, size=7, mtime_ns=0))))
    assert open_descriptors() == before


@pytest.mark.parametrize(("argv", "more"), [((WAITS_OPTION,), 2), ((), 0)])  # behind an outer wall nothing waits
def test_a_wall_is_closed_with_all_that_it_opened(argv: tuple[str, ...], more: int) -> None:
    before = open_descriptors()
    wall = prepare_wall(launch_fields(launch()._replace(is_proxied=True, argv=argv)))
    assert open_descriptors() == before + 3 + 2 * more
    wall.close_inside()
    assert open_descriptors() == before + 1 + more
    wall.close()
    assert open_descriptors() == before


def test_landlock_has_level_read_only_and_no_wall_has_none(tmp_path: Path) -> None:
    described = Confinement(
        level="workspace",
        cwd=str(tmp_path),
        roots=(str(tmp_path),),
        temporary=str(tmp_path),
        placeholders=str(tmp_path),
        home="/",
        system=SystemView((), (), ()),
    )
    with pytest.raises(LevelUnavailable, match="only at level 'read'"):
        confined_launch(described, "landlock", {})
    with pytest.raises(LevelUnavailable, match="holdfast doctor sandbox"):
        confined_launch(described._replace(level="read"), "none", {})


def test_a_wall_that_cannot_be_built_runs_nothing_and_says_why(tmp_path: Path) -> None:
    folder = walls.hostile_folder(tmp_path / "spoilt", os.geteuid())
    secret = folder / "ws/.env"
    os.utime(secret, ns=(5, 5))
    (folder / f"masks/file-{secret.stat().st_size}-5").write_text("what everyone could read")
    wall = walls.Wall(folder=folder, kind="bwrap", level="workspace", masks=(str(secret),))
    with pytest.raises(AssertionError, match="no placeholder"):
        wall.run("touch ran")
    assert not (folder / "ws/ran").exists()
