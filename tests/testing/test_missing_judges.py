"""A module of tests that needs a judge which is not installed is skipped, with the reason."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from missing_judges import JUDGES

CONFTEST = """
import sys
from missing_judges import MissingJudges
sys.meta_path.append(MissingJudges(("no_such_judge",)))
"""


def run(folder: Path, *, needed: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_with.py").write_text("import no_such_judge\n\ndef test_it() -> None: pass\n")
    (folder / "test_without.py").write_text("def test_it() -> None: pass\n")
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "HOLDFAST_NEEDED": needed}
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "."]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def test_what_needs_a_judge_that_is_not_there_is_skipped_with_the_reason(tmp_path: Path) -> None:
    ran = run(tmp_path, needed="")
    assert ran.returncode == 0, ran.stdout
    assert "1 passed, 1 skipped" in ran.stdout
    assert "no_such_judge is not installed: is there a wheel for Python 3." in ran.stdout


def test_where_the_libraries_must_be_there_it_fails(tmp_path: Path) -> None:
    ran = run(tmp_path, needed="all")
    assert ran.returncode != 0
    assert "Must be run here (HOLDFAST_NEEDED), and cannot: libraries" in ran.stdout
    assert "no_such_judge is not installed" in ran.stdout


def test_the_names_are_those_of_modules() -> None:
    """Here at least one is installed: a module with a wrong name would never be missed."""
    assert any(find_spec(name) for name in JUDGES)
