"""`holdfast doctor sandbox` tries the walls, names the remedy, and its exit code says whether one works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.system.confinement.probe import WallProbe, probe_walls
from holdfast.system.confinement.remedies import APPARMOR, NOT_INSTALLED, Obstacle
from holdfast.ui.commands.doctor.sandbox import sandbox_findings
from skips import needs

WORKS = WallProbe("bwrap", "0.8.0", None)
LANDLOCK = WallProbe("landlock", "ABI 7", None)
MISSING = WallProbe("bwrap", "", NOT_INSTALLED)
REFUSED = WallProbe("bwrap", "0.9.0", Obstacle("AppArmor refuses user namespaces to bubblewrap", APPARMOR))
OLD = WallProbe("landlock", "ABI 4", Obstacle("Landlock has version 4", "Use Linux 6.12 or later."))


@pytest.mark.parametrize(
    ("probes", "levels"),
    [
        ((WORKS, LANDLOCK), ["ok", "ok", "ok"]),
        ((WORKS, OLD), ["ok", "ok", "ok"]),
        ((MISSING, LANDLOCK), ["warn", "ok", "ok"]),
        ((REFUSED, OLD), ["warn", "warn", "fail"]),
    ],
)
def test_only_no_wall_at_all_is_a_failure(probes: tuple[WallProbe, ...], levels: list[str]) -> None:
    assert [each.level for each in sandbox_findings(probes)] == levels


def test_the_remedy_is_named_where_it_is_needed() -> None:
    refused, old, _ = sandbox_findings((REFUSED, OLD))
    assert "bwrap-userns-restrict" in refused.todo
    assert "0.9.0" in refused.what
    assert "Linux 6.12" in old.todo
    _, unneeded, _ = sandbox_findings((WORKS, OLD))
    assert unneeded.todo == ""


def doctor(*words: str, path: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PATH": path}
    command = [sys.executable, "-m", "holdfast", "doctor", "sandbox", *words]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, cwd=cwd)


def test_the_command_ends_with_whether_a_wall_works(tmp_path: Path) -> None:
    done = doctor(path=os.environ["PATH"])
    works = any(each.obstacle is None for each in probe_walls(os.environ))
    assert done.returncode == (0 if works else 1), done.stdout
    for word in ("bubblewrap", "Landlock", "confinement"):
        assert word in done.stdout
    without = json.loads(doctor("--format", "json", path=str(tmp_path)).stdout)
    assert without[0]["what"] == "bubblewrap is not installed"
    assert "Install bubblewrap" in without[0]["todo"] or without[0]["level"] == "ok"


def test_a_bubblewrap_of_the_folder_is_none_and_a_link_for_git_is_named(tmp_path: Path) -> None:
    (tmp_path / "ws/bin").mkdir(parents=True)
    trap = tmp_path / "ws/bin/bwrap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    trap.chmod(0o755)
    (tmp_path / "elsewhere/.git").mkdir(parents=True)
    (tmp_path / "ws/.git").symlink_to("../elsewhere/.git")
    found = json.loads(doctor("--format", "json", path=str(trap.parent), cwd=tmp_path / "ws").stdout)
    assert found[0]["what"] == "bubblewrap is not installed"
    assert not (tmp_path / "ran").exists()
    assert found[-1]["name"] == "workspace"
    assert f"{str(tmp_path / 'ws/.git')!r} is a link" in found[-1]["what"]


@needs("root")
def test_a_folder_of_another_user_has_landlock_alone_for_root(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    found = json.loads(doctor("--format", "json", path=os.environ["PATH"], cwd=tmp_path).stdout)
    assert str(tmp_path) in found[0]["what"] or found[0]["what"] == "bubblewrap is not installed"
    assert found[0]["level"] == "warn"
    assert "workspace" not in found[2]["what"]
