"""Real processes: what was acknowledged survives kill -9, readers see it whole, writers exclude each other."""

from __future__ import annotations

import os
import random
import select
import time
from pathlib import Path

import pytest

from holdfast.errors import SessionBusy
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from journal_files import acknowledged, fill, numbered, program, write, writer
from polling import HANGS, expect_within

_KILLS = 15

_INTRUDER = """
import sys
from pathlib import Path
from holdfast.errors import StateError
from journal_files import numbered, write
try:
    write(Path(sys.argv[1]), numbered(4))
except StateError as error:
    print(type(error).__name__)
"""


def expect_complete(records: list[object], length: int) -> None:
    assert records == [numbered(seq) for seq in range(1, length + 1)]


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    moments = random.Random(1)
    last = 0
    for _ in range(_KILLS):
        with writer(folder) as process:
            for _ in range(moments.randrange(1, 40)):
                last = acknowledged(process)
            process.kill()
            assert process.stdout is not None
            lines = process.stdout.read().split("\n")
            last = max([last, *(int(each) for each in lines[:-1])])  # a torn last line was not an acknowledgement
        store = SqliteStore.open(folder)  # at once: the lease went with its process
        reading = store.read()
        assert reading.findings == ()
        assert store.length in {last, last + 1}  # the one that was being appended may be there, whole
        expect_complete([record.entry for record in reading.records], store.length)
        store.close()


def test_a_copy_is_whole_while_another_process_appends(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    with writer(folder) as process:
        acknowledged(process)
        seen = acknowledged(process)
        assert process.stdout is not None
        pipe = process.stdout.fileno()
        deadline = time.monotonic() + 2.5
        copies = 0
        restarted: set[bytes] = set()
        while time.monotonic() < deadline or copies < 5:
            if select.select([pipe], [], [], 0)[0]:
                lines = os.read(pipe, 1 << 20).split(b"\n")
                seen = max([seen, *(int(line) for line in lines[1:-1])])  # the first and last may be torn
            reading = read_copy(folder)
            assert reading.findings == ()
            assert len(reading.records) >= seen
            expect_complete([record.entry for record in reading.records], len(reading.records))
            with (folder / "session.db-wal").open("rb") as log:
                restarted.add(log.read(32))
            copies += 1
        assert len(restarted) > 1, "the log was never restarted: nothing was tried"
        assert {path.name for path in folder.iterdir()} <= {"lock", "blobs", "session.db", "session.db-wal"}


def test_a_second_process_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    with writer(folder) as process:
        acknowledged(process)
        started = time.monotonic()
        with pytest.raises(SessionBusy, match=f"pid {process.pid} "):
            SqliteStore.open(folder)
        expect_within(1, started)
        acknowledged(process)  # and the writer noticed nothing


def test_touching_the_database_in_this_process_lets_no_other_process_in(tmp_path: Path) -> None:
    """Closing any descriptor of a file drops this process's POSIX locks on it, and SQLite's own with them."""
    folder = tmp_path / "s"
    store = SqliteStore.create(folder)
    fill(store, 3)
    (folder / "session.db").read_bytes()
    read_copy(folder)
    with program(_INTRUDER, str(folder)) as other:
        assert other.communicate(timeout=HANGS)[0] == "SessionBusy\n"
    fill(store, 1)
    expect_complete([record.entry for record in store.read().records], 4)
    store.close()
    write(folder, numbered(5))
    assert len(read_copy(folder).records) == 5
