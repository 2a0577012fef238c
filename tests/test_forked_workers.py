"""The tests' own workers: every test is reported once, also where a worker dies, and what is printed stays apart."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TESTS = """
import os, pytest

@pytest.mark.parametrize("number", range(100))
def test_passes(number):
    print("noise of another test")

def test_fails():
    print("its own words")
    raise AssertionError("wrong")

@pytest.mark.skip(reason="not today")
def test_is_skipped(): ...

def test_dies():
    os._exit(7)

def test_behind_it(): ...
"""


def run(folder: Path, *words: str) -> tuple[int, str]:
    (folder / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-p", "forked_workers", *words]
    environ = {**os.environ, "PYTHONPATH": str(HERE)}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("many", [1, 3])
def test_each_test_is_reported_once(tmp_path: Path, many: int) -> None:
    code, output = run(tmp_path, "--workers", str(many))
    assert code == 1, output
    assert "2 failed, 101 passed, 1 skipped" in output
    assert "ended with exit code 7" in output
    assert "its own words" in output
    assert "noise of another test" not in output
    assert "not today" in output


def test_the_first_failure_may_end_the_run(tmp_path: Path) -> None:
    code, output = run(tmp_path, "--workers", "2", "-x", "-k", "fails or behind or passes")
    assert code == 1, output
    assert re.search(r"\b1 failed", output)
    assert "stopping after 1 failures" in output


def test_a_number_of_workers_that_is_none_is_refused(tmp_path: Path) -> None:
    code, output = run(tmp_path, "--workers", "many")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "--workers is 'many'" in output
