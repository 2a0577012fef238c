"""Journals on a disk for tests: entries that can be told apart, and a process that appends until it is killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from holdfast.session.journal.entries import Entry, PromptAccepted
from holdfast.session.storage.sqlite_store import SqliteStore


def numbered(seq: int) -> PromptAccepted:
    """Return the entry that belongs at `seq`: texts vary in length, now and then over the blob limit."""
    words = 12_000 if seq % 50 == 0 else 1 + seq * 37 % 200
    return PromptAccepted(turn=seq, text=f"{seq} " * words)


def fill(store: SqliteStore, count: int) -> None:
    """Append the next `count` entries, one at a time."""
    for _ in range(count):
        length = store.length
        store.append([numbered(length + 1)], expected=length)


def write(folder: Path, *entries: Entry) -> None:
    """Append entries to the journal in `folder`, new or not, and close it."""
    store = SqliteStore.open(folder) if folder.exists() else SqliteStore.create(folder)
    store.append(entries, expected=store.length)
    store.close()


_WRITER = """
import sys
from pathlib import Path
from holdfast.session.storage.sqlite_store import SqliteStore
from journal_files import numbered
folder = Path(sys.argv[1])
store = SqliteStore.open(folder) if folder.exists() else SqliteStore.create(folder)
length = store.length
print(length, flush=True)
while True:
    length = store.append([numbered(length + 1)], expected=length)
    print(length, flush=True)
"""


@contextmanager
def program(code: str, *arguments: str) -> Generator[subprocess.Popen[str]]:
    """Run Python `code` in a separate process that can import this module; killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={"PYTHONPATH": str(Path(__file__).parent), "PATH": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def acknowledged(process: subprocess.Popen[str]) -> int:
    """Return the next length the process says is durable."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the writer ended"
    return int(line)


@contextmanager
def writer(folder: Path) -> Generator[subprocess.Popen[str]]:
    """Run a process that appends to the journal in `folder` and says each length once `append` returned it."""
    with program(_WRITER, str(folder)) as process:
        yield process
