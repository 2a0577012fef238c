"""A soak: a process that appends is killed at any moment, over and over, on one journal that must keep all it told.

Two rules. Nothing is under the program but the system. The seed is printed: HOLDFAST_FAULTS_SEED plays it again.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import NoReturn

import pytest
from report import record
from store_plans import prompt
from store_trials import scratch
from stores import integrity

from holdfast.session.storage.blobs import BLOB_LIMIT
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from tiers import DEEP, SEED

_SECONDS = 180 if DEEP else 6
_FEW = 10  # kills, and entries: it goes on until it has more of both
_LONGEST = 150  # entries: then a new session begins
_SIZES = (20, 200, 200, 3000, 20_000, BLOB_LIMIT + 100)
_SERVER = "import sys, pathlib, test_store_soak as soak; soak.serve(pathlib.Path(sys.argv[1]), int(sys.argv[2]))"

pytestmark = pytest.mark.timeout(_SECONDS + 600)


def size(seed: int, number: int) -> int:
    return random.Random(f"{seed} {number}").choice(_SIZES)


def serve(folder: Path, seed: int) -> None:
    """For each line of the standard input fork a process that appends; say who it is, and once it has ended, how."""
    for _ in sys.stdin:
        child = os.fork()
        if not child:
            _append(folder, seed)
        os.write(1, f"pid {child}\n".encode())
        _, status = os.waitpid(child, 0)
        os.write(1, f"ended {os.waitstatus_to_exitcode(status)}\n".encode())


def _append(folder: Path, seed: int) -> NoReturn:
    """Append until killed, and say each length that was acknowledged."""
    try:
        store = SqliteStore.open(folder) if (folder / "session.db").exists() else SqliteStore.create(folder)
        while True:
            number = store.length + 1
            some = range(number, number + 1 + number % 3)
            length = store.append([prompt(each, size(seed, each)) for each in some], expected=number - 1)
            os.write(1, f"told {length}\n".encode())
            if number % 17 == 0:  # a clean end moves the log
                store.close()
                store = SqliteStore.open(folder)
    finally:
        traceback.print_exc()
        os._exit(1)


def killed(server: subprocess.Popen[str], seconds: float) -> int:
    """Return the last length that a new process told, killed so long after it was begun."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("\n")
    server.stdin.flush()
    known, child = 0, 0
    for line in server.stdout:
        match line.split():
            case ["pid", number]:
                child = int(number)
                time.sleep(seconds)
                os.kill(child, signal.SIGKILL)
            case ["told", number]:
                known = int(number)
            case ["ended", status]:
                assert child
                assert int(status) == -signal.SIGKILL
                break
            case _:  # told in the middle of another line: both are short, and a pipe takes them whole
                raise AssertionError(line)
    return known


def test_a_journal_keeps_what_it_told_through_any_number_of_kills() -> None:
    moments = random.Random(SEED)
    wrong: list[str] = []
    kills = known = entry_count = 0
    end = time.monotonic() + _SECONDS
    with (
        scratch() as base,
        subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(base / "s"), str(SEED)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, Path(__file__).parents[:2]))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as server,
    ):
        folder = base / "s"
        while time.monotonic() < end or (min(kills, entry_count) <= _FEW and not wrong):
            began, known = known, max(known, killed(server, moments.choice((0.01, 0.03, 0.1)) * moments.random()))
            kills += 1
            if not (folder / "session.db").exists():
                continue  # killed as it began
            reading = read_copy(folder)
            found = [each.entry for each in reading.records]
            if reading.findings:
                wrong.append(f"kill {kills}: {reading.findings[0]}")
            if found != [prompt(number, size(SEED, number)) for number in range(1, len(found) + 1)]:
                wrong.append(f"kill {kills}: entries are not what they were, or out of order")
            if not known <= len(found) <= known + 3:
                wrong.append(f"kill {kills}: {len(found)} entries, {known} were acknowledged")
            entry_count += len(found) - began
            known = len(found)
            if known > _LONGEST:
                SqliteStore.open(folder).close()
                wrong += [f"kill {kills}: {problem}" for problem in [integrity(folder)] if problem != "ok"]
                shutil.rmtree(folder)
                known = 0
        server.communicate()
    record("a process that appends", "killed at random", points=kills, violations=wrong)
    assert wrong == []
    assert min(kills, entry_count) > _FEW
