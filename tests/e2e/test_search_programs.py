"""grep and glob through the real program say the same with ripgrep and without it, whichever this machine has."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from launching import World

from hidden_programs import path_without
from holdfast.testing.script import Call, Say
from skips import needs

SEARCHES = {
    "pattern": Call("grep", {"pattern": "needle"}),
    "context": Call("grep", {"pattern": "needle", "context": 1, "path": "app.py"}),
    "glob": Call("grep", {"pattern": "NEEDLE", "ignore_case": True, "glob": "*.py"}),
    "nothing": Call("grep", {"pattern": "no such words"}),
    "another dialect": Call("grep", {"pattern": r"(?<=print\()needle"}),
    "names": Call("glob", {"pattern": "**/*.py"}),
}
FOUND = [
    "app.py:2:needle = 1\napp.py:3:print(needle)",
    "app.py-1-import os\napp.py:2:needle = 1\napp.py:3:print(needle)",
    "app.py:2:needle = 1\napp.py:3:print(needle)",
    "No lines match 'no such words' in '.' (2 files).",
    "app.py:3:print(needle)",
    "app.py",
]


def with_ripgrep(folder: Path, log: Path) -> str:
    """Return a PATH whose `rg` writes each of its starts into a log."""
    path = path_without(folder, "rg")
    rg = folder / "rg"
    rg.write_text(f'#!/bin/sh\necho started >>{shlex.quote(str(log))}\nexec {shutil.which("rg")} "$@"\n')
    rg.chmod(0o755)
    return path


@pytest.mark.parametrize("ripgrep", [pytest.param(True, marks=needs("ripgrep")), False], ids=["with", "without"])
def test_searches_find_the_same(one_world: World, tmp_path: Path, *, ripgrep: bool) -> None:
    world, log = one_world, tmp_path / "started"
    path = with_ripgrep(tmp_path / "bin", log) if ripgrep else path_without(tmp_path / "bin", "rg")
    (world.folder / "app.py").write_text("import os\nneedle = 1\nprint(needle)\n")
    (world.folder / ".gitignore").write_text("*.log\n")
    (world.folder / "a.log").write_text("needle\n")
    world.script(tuple(SEARCHES.values()), (Say("Found."),))
    ran = world.ask("search", environ=world.environ(PATH=path))
    assert (ran.code, ran.out) == (0, "Found.\n"), ran.err
    assert world.results == FOUND
    # One start for each grep; whose dialect ripgrep does not read, it is asked and refuses, or not asked at all.
    starts = len(log.read_text().split()) if log.exists() else 0
    assert starts in ((4, 5) if ripgrep else (0,))
    asked = str(world.provider.requests[-1].body)
    assert ("rg is installed" in asked, "rg is not installed" in asked) == (ripgrep, not ripgrep)
