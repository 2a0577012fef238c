"""The first example of the library's page: short, of one package, and it survives a kill in the middle of a call."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.session.journal.entries import CallEnded, CallStarted
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.testing import Call, Say, ScriptedProvider
from polling import HANGS, eventually

PAGE = Path(__file__).parents[3] / "docs/reference/library.md"
MOST_LINES = 15


def example() -> str:
    """Return the first program of the page."""
    found = re.search(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_it_is_short_and_imports_nothing_below_holdfast() -> None:
    lines = [line for line in example().splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES
    imports = [node for node in ast.walk(ast.parse(example())) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names]
    assert "holdfast" in names
    assert [name for name in names if name.startswith("holdfast.")] == []
    assert [node.module for node in imports if isinstance(node, ast.ImportFrom)] == []


def calls_of(folder: Path) -> list[str]:
    """Return the calls that have started."""
    try:
        return [each.entry.call for each in read_copy(folder).records if isinstance(each.entry, CallStarted)]
    except HoldfastError:  # it is being created
        return []


def test_killed_in_a_call_and_started_again_it_tells_the_model_the_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    program.write_text(example())
    first = [Call("deploy", {"step": "tag"})]
    second = [Call("deploy", {"step": "upload"}), Call("deploy", {"step": "notify", "seconds": 60})]
    with ScriptedProvider([first, second, [Say("I see.")]]) as provider:
        for name, value in provider.environ().items():
            monkeypatch.setenv(name, value)
        command = [sys.executable, str(program), "s"]
        killed = subprocess.Popen([*command, "Go"], cwd=tmp_path, env=dict(os.environ), stdout=subprocess.DEVNULL)
        try:
            eventually(lambda: len(calls_of(tmp_path / "s")) == 3)
        finally:
            killed.kill()
            killed.wait()
        again = subprocess.run(
            [*command, "Go on"], check=False, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS
        )
        assert (again.stdout, again.stderr) == ("I see.", "")
        assert (provider.refusals, provider.complaints) == ((), ())
        assert len(provider.requests) == 3
    ended = [each.entry for each in read_copy(tmp_path / "s").records if isinstance(each.entry, CallEnded)]
    assert [each.outcome for each in ended] == ["ok", "ok", "interrupted"]
    assert [each.text for each in ended[:2]] == ["tag done", "upload done"]
    assert "Effect unknown" in ended[2].text
