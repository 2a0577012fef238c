"""A group of tests that needs a program is skipped with its reason, and fails where HOLDFAST_NEEDED names it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from needs import APART, NEEDS, needed, packages, program

HERE = Path(__file__).parent
TESTS = """
from skips import imported, needs, require

@needs("ripgrep")
def test_marked(): ...

def test_asks():
    require("ripgrep")

def test_needs_nothing(): ...
"""
CONFTEST = """
import pytest
import needs
from skips import names_of, require

def pytest_configure(config):
    config.addinivalue_line("markers", "needs(group): as in the tests of the project")

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    for name in names_of(item):
        require(name)
"""


def run(folder: Path, *, path: str, needed: str) -> tuple[int, str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_some.py").write_text(TESTS)
    environ = {**os.environ, "PATH": path, "PYTHONPATH": str(HERE), "HOLDFAST_NEEDED": needed}
    command = [sys.executable, "-m", "pytest", "-q", "-rsfE", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def with_ripgrep(tmp_path: Path) -> str:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/rg").write_text("#!/bin/sh\n")
    (tmp_path / "bin/rg").chmod(0o755)
    return str(tmp_path / "bin")


def test_a_skip_says_its_group_what_is_missing_and_how_to_get_it(tmp_path: Path) -> None:
    code, output = run(tmp_path, path=str(tmp_path), needed="browser")
    assert code == 0, output
    assert "1 passed, 2 skipped" in output
    assert "ripgrep (grep with ripgrep): no rg on the PATH. To get it: Debian: ripgrep." in output


@pytest.mark.parametrize("needed", ["all", "zsh, ripgrep"])
def test_where_it_must_be_run_it_fails_with_the_reason(tmp_path: Path, needed: str) -> None:
    code, output = run(tmp_path, path=str(tmp_path), needed=needed)
    assert code == 1, output
    assert re.search(r"1 failed, 1 passed, 1 error\b", output), output
    assert output.count("Must be run here (HOLDFAST_NEEDED), and cannot: ripgrep (grep with ripgrep): no rg") >= 2


def test_what_is_here_is_run(tmp_path: Path, with_ripgrep: str) -> None:
    code, output = run(tmp_path, path=with_ripgrep, needed="all")
    assert (code, "3 passed" in output) == (0, True), output


def test_all_is_what_can_be_installed_and_a_group_that_is_none_is_refused() -> None:
    assert needed("") == frozenset()
    assert {"ripgrep", "bubblewrap", "browser", "editors", "ag-ui", "mcp-servers", "zsh", "fish"} < needed("all")
    assert needed("all") == {each.name for each in NEEDS if not each.of_machine} - {APART}
    assert needed(f"{APART}, ipv6") == {APART, "ipv6"}
    with pytest.raises(ValueError, match=r"Unknown group in HOLDFAST_NEEDED: fisch, ripgerp \(see tests/needs.py\)"):
        needed("ripgerp, fisch, zsh")


def test_every_group_that_can_be_installed_says_how() -> None:
    assert len({each.name for each in NEEDS}) == len(NEEDS) > 20
    assert [each.name for each in NEEDS if not each.of_machine and not each.debian] == [
        "editors",
        "ag-ui",
        "mcp-servers",
        "aiohttp",
        "llama",
        "libraries",
        APART,
    ]


def test_packages_of_npm_are_missing_one_by_one(
    tmp_path: Path, with_ripgrep: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    (Path(with_ripgrep) / "node").symlink_to("rg")
    monkeypatch.setenv("PATH", with_ripgrep)
    assert packages(tmp_path, "there")() == ""
    assert packages(tmp_path, "there", "absent")() == "not installed: absent"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert packages(tmp_path, "there")() == program("node")() == "no node on the PATH"
