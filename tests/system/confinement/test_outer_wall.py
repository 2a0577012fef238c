"""Every attempt to get out of the wall around a sandboxed place fails, but for what a place allows."""

from __future__ import annotations

import json
import os
from itertools import product
from pathlib import Path

import pytest

import escape_attempts
import walls
from escape_attempts import ALLOWED, ATTEMPTS, WORKSPACE
from holdfast.system.confinement.probe import outer_obstacle
from holdfast.tools.process.environment import child_environment
from tiers import sampled

PROGRAM = Path(__file__).parents[2] / "place_program.py"
USERS = dict.fromkeys((os.geteuid(), walls.NOBODY))

IN_THE_PLACE = {
    "change a file that other programs obey",
    "rename the folder of a file that other programs obey",
}
"""No program of the worker obeys files of a place, apart from git; a session's user reads them like any change."""

WITH_NETWORK = {"connect by TCP to the machine", "send by UDP"}


@pytest.mark.parametrize(("network", "user"), sampled(product([False, True], USERS), 4))
def test_only_what_a_place_allows_gets_out(open_folder: Path, *, network: bool, user: int) -> None:
    walls.need("bwrap")
    walls.need_user(user)
    world = escape_attempts.build(open_folder, user)
    try:
        outputs = run_in_place(world, user, [each.line for each in ATTEMPTS], network=network)
        world.outputs = {each.name: output for each, output in zip(ATTEMPTS, outputs, strict=True)}
        escaped = {each.name for each in ATTEMPTS if each.escaped(world)}
    finally:
        world.close()
    reached = WITH_NETWORK if network else set[str]()
    assert escaped == {*WORKSPACE, *ALLOWED, *IN_THE_PLACE, *reached}


def run_in_place(world: escape_attempts.World, user: int, lines: list[str], *, network: bool) -> list[str]:
    """Return what each line printed in a sandboxed place, the hostile workspace."""
    folder = world.folder
    hidden = ("ws/.env", "home/.config/holdfast", "home/.local/share/holdfast")
    environ = {**child_environment(os.environ), **world.environ()}
    request = {
        "place": str(folder / "ws"),
        "own": str(folder / "temporary"),
        "placeholders": str(folder / "masks"),
        "hidden": [str(folder / name) for name in hidden],
        "network": network,
        "environ": {**environ, "HOME": str(folder / "home"), "TMPDIR": str(folder / "temporary")},
        "inherited": str(folder / "outside/plain.txt"),
        "lines": lines,
    }
    words = [walls.python_for(user), "-I", "-S", "-X", "utf8", str(PROGRAM), str(walls.SOURCES)]
    done = walls.as_user(user, words, json.dumps(request).encode())
    assert done.returncode == 0, done.stderr.decode()
    outputs: list[str] = json.loads(done.stdout)
    return outputs


def test_what_stands_in_the_way_is_said(tmp_path: Path) -> None:
    words = ("/bin/sh", "-c", "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", "sh")
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "bwrap").symlink_to("/bin/true")
    found = outer_obstacle(words, tmp_path / "place", {"PATH": str(tmp_path / "programs")})
    assert found is not None
    assert "setting up uid map: Permission denied" in found.reason
    assert found.remedy
    missing = outer_obstacle(words, tmp_path / "place", {"PATH": str(tmp_path / "empty")})
    assert missing is not None
    assert "not installed" in missing.reason
