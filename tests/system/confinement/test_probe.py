"""Which wall works: tried by building one, refused with the reason and the remedy by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

import walls
from holdfast.system.confinement.probe import (
    WallProbe,
    choose_wall,
    probe_bubblewrap,
    probe_landlock,
    probe_walls,
)
from holdfast.system.confinement.remedies import NOT_INSTALLED, Obstacle, bubblewrap_obstacle, landlock_obstacle
from holdfast.tool_calls import SandboxMode

WORKS = WallProbe("bwrap", "0.8.0", None)
MISSING = WallProbe("bwrap", "", NOT_INSTALLED)
LANDLOCK = WallProbe("landlock", "ABI 7", None)
NEITHER = WallProbe("landlock", "", Obstacle("the kernel has no Landlock", "Boot with it."))


@pytest.mark.parametrize(
    ("mode", "probes", "kind", "levels"),
    [
        ("auto", (WORKS, LANDLOCK), "bwrap", ("read", "workspace", "network")),
        ("auto", (MISSING, LANDLOCK), "landlock", ("read",)),
        ("auto", (MISSING, NEITHER), "none", ()),
        ("require", (WORKS, NEITHER), "bwrap", ("read", "workspace", "network")),
        ("require", (MISSING, NEITHER), "none", ()),
        ("off", (WORKS, LANDLOCK), "none", ()),
    ],
)
def test_the_first_wall_that_works_is_used(
    mode: SandboxMode, probes: tuple[WallProbe, ...], kind: str, levels: tuple[str, ...]
) -> None:
    choice = choose_wall(mode, probes)
    assert (choice.kind, choice.levels) == (kind, levels)
    assert bool(choice.refusal) == (mode == "require" and kind == "none")


def test_what_is_missing_is_said_with_its_remedy() -> None:
    for choice in (choose_wall("auto", (MISSING, LANDLOCK)), choose_wall("auto", (MISSING, NEITHER))):
        assert "bubblewrap is not installed" in choice.notice
        assert "Install bubblewrap" in choice.notice
    refusal = choose_wall("require", (MISSING, NEITHER)).refusal
    assert refusal.startswith("Nothing was run")
    assert "Install bubblewrap" in refusal
    assert choose_wall("auto", (WORKS, NEITHER)).notice == ""
    assert choose_wall("off", (MISSING, NEITHER)).notice == ""


@pytest.mark.parametrize(
    ("stderr", "flags", "reason", "remedy"),
    [
        ("bwrap: setting up uid map: Permission denied", {"is_restricted": True}, "AppArmor", "bwrap-userns-restrict"),
        (
            "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
            {"is_restricted": True},
            "AppArmor",
            "profile",
        ),
        ("bwrap: --disable-userns is not allowed", {"is_setuid": True}, "setuid", "chmod u-s"),
        ("bwrap: No permissions to create a new namespace", {"clone_off": True}, "kernel", "unprivileged_userns_clone"),
        ("bwrap: Creating new namespace failed: No space left on device", {}, "used up", "outside"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", {}, "around holdfast", "outside"),
        ("bwrap: Unknown option --disable-userns", {}, "too old", "0.8.0"),
        ("bwrap: something new", {}, "something new", "by hand"),
        ("", {}, "without a word", "by hand"),
    ],
)
def test_each_obstacle_has_a_reason_and_a_remedy(
    stderr: str, flags: Mapping[str, bool], reason: str, remedy: str
) -> None:
    known = {"is_setuid": False, "is_restricted": False, "clone_off": False, **flags}
    found = bubblewrap_obstacle(
        stderr,
        is_setuid=known["is_setuid"],
        is_restricted=known["is_restricted"],
        clone_off=known["clone_off"],
    )
    assert reason in found.reason
    assert remedy in found.remedy


def test_landlock_needs_a_version_that_keeps_signals_inside() -> None:
    assert landlock_obstacle(6, machine="x86_64", is_known=True, least=6) is None
    for abi, is_known, word in ((5, True, "version 5"), (0, True, "no Landlock"), (7, False, "riscv64")):
        found = landlock_obstacle(abi, machine="riscv64", is_known=is_known, least=6)
        assert found is not None
        assert word in found.reason


def test_bubblewrap_that_is_not_on_the_path_is_not_installed(tmp_path: Path) -> None:
    assert probe_bubblewrap({**os.environ, "PATH": str(tmp_path)}) == MISSING


def test_bubblewrap_that_refuses_is_found_by_trying(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed: No space left on device' >&2\nexit 1\n")
    program.chmod(0o755)
    found = probe_bubblewrap({**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert found.obstacle is not None
    assert "No space left" in found.obstacle.reason


def test_bubblewrap_that_runs_the_command_without_a_wall_is_not_believed(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    assert probe_bubblewrap({**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}).obstacle is not None


def test_what_works_here_has_a_version() -> None:
    for each in probe_walls(dict(os.environ)):
        assert each.obstacle is not None or each.version


def test_inside_a_wall_the_probe_finds_what_still_works(tmp_path: Path) -> None:
    folder = walls.hostile_folder(tmp_path / "nested", os.geteuid())
    line = "bwrap --unshare-user --ro-bind / / true 2>&1; echo ended $?"
    output = walls.Wall(folder=folder, kind="bwrap", level="workspace").output(line)
    assert "ended 1" in output
    said = bubblewrap_obstacle(output, is_setuid=False, is_restricted=False, clone_off=False)
    assert "outside" in said.remedy


def test_landlock_is_tried() -> None:
    walls.need("landlock")
    assert probe_landlock(dict(os.environ)).obstacle is None


@pytest.mark.parametrize("user", dict.fromkeys((os.geteuid(), walls.NOBODY)))
def test_a_wall_inside_a_pid_namespace_is_bubblewrap_s_but_for_root(user: int) -> None:
    walls.need("bwrap")
    walls.need("landlock")
    walls.need_user(user)
    code = (
        f"import os, sys; sys.path.append({str(walls.SOURCES)!r}); "
        "from holdfast.system.confinement.probe import probe_walls; "
        "print([each.kind for each in probe_walls(os.environ, contained=True) if each.obstacle is None])"
    )
    done = walls.as_user(user, [walls.python_for(user), "-I", "-S", "-c", code], None)
    works = ["landlock"] if user == 0 else ["bwrap", "landlock"]
    assert done.stdout.decode().strip() == str(works), done.stderr.decode()
