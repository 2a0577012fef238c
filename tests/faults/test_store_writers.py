"""Several processes on one session: one writes, the others are refused at once, and after kill -9 another may write.

Two rules. Processes meet at a file, so that they start together. A time is the median of several: one may be unlucky.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from report import record

from holdfast.errors import SessionBusy
from holdfast.session.journal.entries import PromptAccepted
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from polling import HANGS, slowness
from tiers import DEEP

_SECONDS = 0.3

_WRITER = """
import sys, time
from pathlib import Path
from holdfast.errors import SessionBusy, StateError
from holdfast.session.journal.entries import PromptAccepted
from holdfast.session.storage.sqlite_store import SqliteStore

how, folder, gate, name, count = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], int(sys.argv[5])
print("ready", flush=True)
while not gate.exists():
    time.sleep(0.001)
done = 0
while done < count:
    started = time.monotonic()
    try:
        store = SqliteStore.create(folder) if how == "create" else SqliteStore.open(folder)
    except SessionBusy:
        print("busy", time.monotonic() - started, flush=True)
        if how != "share":
            break
        time.sleep(0.002)
        continue
    except StateError:
        print("there", flush=True)
        break
    length = store.append([PromptAccepted(turn=store.length + 1, text=f"{name} {done}")], expected=store.length)
    done += 1
    print("wrote", length, flush=True)
    if how != "share":
        sys.stdin.read()
    store.close()
"""


@contextmanager
def writers(how: str, folder: Path, number: int, count: int = 1) -> Generator[list[subprocess.Popen[str]]]:
    """Run so many processes that begin together, each to append `count` entries."""
    gate = folder.with_name("gate")
    with ExitStack() as stack:
        running: list[subprocess.Popen[str]] = []
        for each in range(number):
            command = [sys.executable, "-c", _WRITER, how, str(folder), str(gate), f"writer-{each}", str(count)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            running.append(process)
        for process in running:
            assert next_word(process) == "ready"
        gate.touch()
        yield running


def next_word(process: subprocess.Popen[str]) -> str:
    """Return the next line, without its numbers."""
    assert process.stdout is not None
    return process.stdout.readline().split(" ")[0].strip()


def texts(folder: Path) -> list[str]:
    return [each.entry.text for each in read_copy(folder).records if isinstance(each.entry, PromptAccepted)]


@pytest.mark.parametrize("how", ["create", "open"])
@pytest.mark.parametrize("number", [2, 4])
def test_exactly_one_of_several_that_come_together_holds_the_session(tmp_path: Path, how: str, number: int) -> None:
    folder = tmp_path / "s"
    if how == "open":
        SqliteStore.create(folder).close()
    with writers(how, folder, number) as running:
        outcomes = Counter(next_word(process) for process in running)
        record(f"{number} writers", f"{how} together", points=number, violations=[])
        assert outcomes["wrote"] == 1
        assert outcomes["busy"] == number - 1
        assert len(texts(folder)) == 1


@pytest.mark.parametrize("number", [2, 4])
def test_writers_that_take_turns_append_each_entry_once_and_in_order(tmp_path: Path, number: int) -> None:
    folder, count = tmp_path / "s", 100 if DEEP else 12
    SqliteStore.create(folder).close()
    with writers("share", folder, number, count) as running:
        for process in running:
            process.communicate(timeout=HANGS)
            assert process.returncode == 0
    found = texts(folder)
    expected = {f"writer-{each}": [f"writer-{each} {number}" for number in range(count)] for each in range(number)}
    wrong = [name for name, words in expected.items() if [text for text in found if text.startswith(name)] != words]
    record(f"{number} writers", "take turns", points=number * count, violations=wrong)
    assert wrong == []
    assert len(found) == number * count


def test_a_refusal_takes_no_time(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    store = SqliteStore.create(folder)
    times: list[float] = []
    for _ in range(21):
        started = time.monotonic()
        with pytest.raises(SessionBusy):
            SqliteStore.open(folder)
        times.append(time.monotonic() - started)
    store.close()
    slow = [json.dumps(times)] if statistics.median(times) > _SECONDS * slowness() else []
    record("2 writers", f"refused within {_SECONDS} s", points=len(times), violations=slow)
    assert slow == []


def test_the_session_is_free_once_its_holder_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    for number in range(5):
        with writers("open" if number else "create", folder, 1) as (holder,):
            assert next_word(holder) == "wrote"
            holder.kill()
            holder.wait(timeout=HANGS)
            SqliteStore.open(folder).close()  # the first attempt: nothing is waited for
        assert len(texts(folder)) == number + 1
    record("2 writers", "taken over after kill -9", points=5, violations=[])
