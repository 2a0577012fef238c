"""A run among readers that are slow, gone or full, and signals that are to be ignored: real processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from holdfast.session.journal.entries import Entry, PromptAccepted, SessionOpened, TurnEnded
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.testing.script import Call, Hold, Say
from holdfast.testing.scripted_provider import ScriptedProvider
from long_texts import prose
from polling import HANGS, eventually, expect_within
from skips import needs

MODEL = "openai-chat:m"
MUCH = prose(150_000)  # more than a pipe holds


class Place:
    """A provider, a home and a folder to work in."""

    def __init__(self, provider: ScriptedProvider, home: Path, folder: Path) -> None:
        self.provider = provider
        self.home = home
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []

    def start(
        self, *arguments: str, stdout: int | IO[str] = subprocess.PIPE, shell: str = 'exec "$@"'
    ) -> subprocess.Popen[str]:
        """Start a run, through a line of shell."""
        environ = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
        process = subprocess.Popen(
            ["sh", "-c", shell, "sh", sys.executable, "-m", "holdfast", *arguments],
            env={**environ, "HOLDFAST_HOME": str(self.home), **self.provider.environ()},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def ask(self, *arguments: str, **how: Any) -> subprocess.Popen[str]:
        """Start the first turn of a session."""
        return self.start("-m", MODEL, "-y", "-p", "go", *arguments, **how)

    def entries(self) -> list[Entry]:
        """Return the journal of the only session."""
        folders = [path.parent for path in (self.home / "sessions").glob("*/session.db")]
        return [record.entry for folder in folders for record in read_copy(folder).records]

    def end(self) -> TurnEnded | None:
        """Return how the turn ended, None if it has not."""
        ends = [entry for entry in self.entries() if isinstance(entry, TurnEnded)]
        return ends[-1] if ends else None


@pytest.fixture
def place(holdfast_home: Path, tmp_path: Path) -> Iterator[Place]:
    with ScriptedProvider() as provider:
        place = Place(provider, holdfast_home, tmp_path)
        yield place
        for process in place.started:
            process.kill()
            process.communicate()


def ended(process: subprocess.Popen[str], within: float) -> int:
    since = time.monotonic()
    code = process.wait(HANGS)
    expect_within(within, since)
    return code


@needs("linux")
def test_an_output_that_cannot_be_written_stops_the_turn_whose_prompt_is_kept(place: Place) -> None:
    place.provider.extend([Call("bash", {"command": "sleep 20; echo hi >> ran"})], [Say("done")])
    with Path("/dev/full").open("w") as full:
        process = place.ask("--output-format", "stream-json", stdout=full)
        _, err = process.communicate(timeout=HANGS)
    assert process.returncode == 1
    assert "cannot write to standard output: No space left on device" in err
    assert err.count("\n") == 1
    assert [entry.text for entry in place.entries() if isinstance(entry, PromptAccepted)] == ["go"]
    assert not (place.folder / "ran").exists()
    assert place.end() is not None


def test_a_stopped_turn_waits_for_no_reader(place: Place) -> None:
    place.provider.extend([Say(MUCH, chunk=4000), Hold("here")])
    process = place.ask("--output-format", "stream-json")  # and no process reads
    place.provider.wait_for("here", timeout=HANGS)
    process.send_signal(signal.SIGINT)
    assert ended(process, 5) == 130
    end = place.end()
    assert end is not None
    assert end.cause == "user"


def test_a_turn_that_ended_by_itself_waits_for_a_slow_reader(place: Place) -> None:
    place.provider.extend([Say(MUCH, chunk=4000)])
    process = place.ask("--output-format", "stream-json")
    eventually(place.end, every=0.3)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.3)
    out, err = process.communicate(timeout=HANGS)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out.splitlines()[-1])["result"] == MUCH


def test_waiting_for_a_slow_reader_can_be_interrupted(place: Place) -> None:
    place.provider.extend([Say(MUCH, chunk=4000)])
    process = place.ask("--output-format", "stream-json")
    eventually(place.end, every=0.3)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.3)
    process.send_signal(signal.SIGINT)
    assert ended(process, 5) == 130


def test_a_reader_that_left_before_the_first_line_stops_the_turn_at_once(place: Place) -> None:
    place.provider.extend([Call("bash", {"command": "echo hi >> ran"})], [Say("done")])
    reader, writer = os.pipe()
    os.close(reader)
    process = place.ask("--output-format", "stream-json", stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=HANGS)
    assert (process.returncode, err) == (130, "")
    assert not (place.folder / "ran").exists()
    end = place.end()
    assert end is not None
    assert (end.cause, end.detail) == ("output", "the reader has closed it")


def test_a_signal_that_was_ignored_stays_ignored(place: Place) -> None:
    place.provider.extend([Hold("here"), Say("done")])
    process = place.ask(shell="trap '' HUP INT; exec \"$@\"")
    place.provider.wait_for("here", timeout=HANGS)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGINT)
    place.provider.release("here")
    out, _ = process.communicate(timeout=HANGS)
    assert (process.returncode, out) == (0, "done\n")


@pytest.mark.parametrize("kind", ["json", "stream-json"])
def test_a_session_without_a_model_is_refused_before_a_turn_begins(place: Place, kind: str) -> None:
    store = SqliteStore.create(place.home / "sessions" / "nomodel")
    opened = SessionOpened(session="nomodel", cwd=str(place.folder), model="", system="S", tools=(), version="0")
    store.append([opened], expected=0)
    store.close()
    process = place.start("-r", "nomodel", "-p", "go", "--output-format", kind)
    out, err = process.communicate(timeout=HANGS)
    assert (process.returncode, out) == (2, "")
    assert err.count("Unknown model of session") == 1


@pytest.mark.parametrize(("text", "mode"), [("{half a", 0o600), ('{"keys": {"OPENAI_API_KEY": "sk-old"}}', 0o644)])
def test_a_file_of_keys_that_cannot_be_used_is_reported_and_the_turn_still_runs(
    place: Place, text: str, mode: int
) -> None:
    path = place.home / "holdfast-keys.json"
    path.write_text(text)
    path.chmod(mode)
    place.provider.extend([Say("Here.")])
    out, err = (process := place.ask()).communicate(timeout=HANGS)
    assert (process.returncode, out) == (0, "Here.\n"), err
    assert re.search(r"^holdfast: Key file .*keys\.json' is .* Its keys are not used\.$", err, re.MULTILINE)
    out, err = (process := place.start("-m", "openrouter:m", "-p", "go")).communicate(timeout=HANGS)
    assert process.returncode == 2
    assert "Key file" in err.splitlines()[0]
    assert "No API key for openrouter" in err.splitlines()[1]
    out, _ = (process := place.start("config")).communicate(timeout=HANGS)
    assert process.returncode == 0
    assert "Its keys are not used" in out
    assert re.search(r"OPENAI_API_KEY +set, environment", out)
    assert "sk-old" not in out
