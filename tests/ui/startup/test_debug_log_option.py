"""A run with --debug, as a real process: where its log is, and who may read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.testing.script import Call, Fail, Say
from holdfast.testing.scripted_provider import ScriptedProvider

KEY = "key-of-the-provider-123"


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(key=KEY) as provider:
        yield provider


def run(provider: ScriptedProvider, home: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "holdfast", "-y", *arguments],
        env={"PATH": os.environ["PATH"], "HOLDFAST_HOME": str(home), **provider.environ()},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("form", ["text", "stream-json"])
def test_the_first_line_says_where_the_log_is(
    provider: ScriptedProvider, holdfast_home: Path, tmp_path: Path, form: str
) -> None:
    provider.extend((Fail(401, f"no such key: {KEY}"),), (Call("bash", {"command": "echo secret"}),), (Say("done"),))
    arguments = ("--debug", "--output-format", form, "-p", "go")
    refused = run(provider, holdfast_home, tmp_path, "-m", "openai-chat:m", *arguments)
    assert refused.returncode == 1
    first = refused.stderr.splitlines()[0]
    assert first.startswith("holdfast: debug log: ")
    path = Path(first.removeprefix("holdfast: debug log: "))
    assert (path.parent.parent, path.name) == (holdfast_home / "sessions", "debug.log")
    assert path.stat().st_mode & 0o777 == 0o600
    done = run(provider, holdfast_home, tmp_path, "-c", *arguments)
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, first)
    text = path.read_text()
    assert KEY not in text
    assert "secret" not in text
    kinds = [json.loads(line)["kind"] for line in text.splitlines()]
    assert kinds.count("opened") == 2
    assert {"entry", "move", "outgoing", "request", "response", "error-body", "stream"} <= set(kinds)


def test_without_debug_there_is_none(provider: ScriptedProvider, holdfast_home: Path, tmp_path: Path) -> None:
    provider.extend((Say("done"),))
    done = run(provider, holdfast_home, tmp_path, "-m", "openai-chat:m", "-p", "go")
    assert done.returncode == 0
    assert "debug log" not in done.stderr
    assert list(holdfast_home.rglob("debug.log*")) == []


def test_a_log_that_cannot_be_opened_is_reported_before_anything_is_sent(
    provider: ScriptedProvider, holdfast_home: Path, tmp_path: Path
) -> None:
    provider.extend((Say("done"),))
    assert run(provider, holdfast_home, tmp_path, "-m", "openai-chat:m", "-p", "go").returncode == 0
    (folder,) = (holdfast_home / "sessions").iterdir()
    (folder / "debug.log").mkdir()
    refused = run(provider, holdfast_home, tmp_path, "-c", "--debug", "-p", "more")
    assert refused.returncode == 1
    assert ": Is a directory." in refused.stderr
    assert len(provider.requests) == 1
