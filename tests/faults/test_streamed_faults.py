"""Streamed text under kills, a disk that fills up in the middle of a line, and damage at every byte of its file.

Two rules. What is found afterwards is a beginning of what was shown, without a hole. What was kept before anything went
wrong is in it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from report import record
from store_trials import chosen

from holdfast.errors import SessionBusy
from holdfast.session.journal.entries import ResponseCheckpoint, SessionOpened
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.system.durable_files import STREAMED
from journal_files import program
from polling import HANGS
from tiers import DEEP

PIECES = tuple(f"piece {number} {'of text ' * (number % 4)}" for number in range(12))
WHOLE = "".join(PIECES)

_PROGRAM = """
import json, os, resource, signal, sys
from pathlib import Path
from holdfast.errors import HoldfastError
from holdfast.session.journal.entries import ResponseCheckpoint, SessionOpened
from holdfast.session.storage.sqlite_store import SqliteStore
pieces, points = json.loads(sys.stdin.read())
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for point in points:
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        store = SqliteStore.create(Path(sys.argv[1], str(point)))
        first = SessionOpened(session="s", cwd="/", model="m:m", system="S", tools=(), version="0")
        store.append([first], expected=0)
        kept, failed = [], False
        for number, piece in enumerate(pieces):
            room = point if number < 9 else resource.RLIM_INFINITY  # then there is room again
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
            try:
                store.keep_streamed(ResponseCheckpoint(step=1, text=piece), expected=1)
            except HoldfastError:
                failed = True
            else:
                kept += [] if failed else [number]
        os.write(tell, json.dumps(kept).encode())
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    os.close(tell)
    print(os.read(told, 10_000).decode(), flush=True)
    os.close(told)
"""


def opened() -> SessionOpened:
    return SessionOpened(session="s", cwd="/", model="m:m", system="S", tools=(), version="0")


def streamed(folder: Path) -> str:
    """Return the text that is found by the next process."""
    store = SqliteStore.open(folder)
    entries = [record.entry for record in store.read().records][1:]
    store.close()
    assert all(isinstance(entry, ResponseCheckpoint) for entry in entries)  # may be empty: all of it may be lost
    assert len(entries) <= 1
    return "".join(entry.text for entry in entries if isinstance(entry, ResponseCheckpoint))


def left(folder: Path) -> bytes:
    """Return the file of a process that kept every piece and was killed."""
    store = SqliteStore.create(folder)
    store.append([opened()], expected=0)
    for piece in PIECES:
        store.keep_streamed(ResponseCheckpoint(step=1, text=piece), expected=1)
    data = (folder / STREAMED).read_bytes()
    store.close()
    return data


def test_a_disk_that_fills_up_at_any_byte_leaves_no_hole(tmp_path: Path) -> None:
    data = left(tmp_path / "whole")
    points = range(len(data) + 1)
    between = {at + 1 for at in points[:-1] if data[at : at + 1] == b"\n"}  # a line fails, and the next has room
    some = sorted({*chosen(points, len(points) if DEEP else 40), *between})
    with program(_PROGRAM, str(tmp_path)) as process:
        lines = process.communicate(json.dumps([PIECES, some]), timeout=HANGS * 2)[0].splitlines()
    wrong: list[str] = []
    for point, line in zip(some, lines, strict=True):
        numbers: list[int] = json.loads(line)
        kept, found = "".join(PIECES[number] for number in numbers), streamed(tmp_path / str(point))
        if not (WHOLE.startswith(found) and found.startswith(kept)):
            wrong.append(f"room for {point} bytes: kept {kept!r}, found {found!r}")
    record("streamed text", "disk full in a line", points=len(some), violations=wrong, of=len(points))
    assert wrong == []


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_damage_at_any_byte_leaves_a_beginning(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "s"
    data = left(folder)
    points = range(len(data))
    some = chosen(points, len(points) if DEEP else 40)
    wrong: list[str] = []
    for point in some:
        broken = data[:point] if damage == "cut" else data[:point] + bytes([data[point] ^ 0x20]) + data[point + 1 :]
        (folder / STREAMED).write_bytes(broken)
        found = "".join(
            each.entry.text for each in read_copy(folder).records if isinstance(each.entry, ResponseCheckpoint)
        )
        if not WHOLE.startswith(found) or len(found) < len("".join(PIECES[: data[:point].count(b"\n")])):
            wrong.append(f"{damage} at {point}: {found!r}")
    record("streamed text", f"{damage} at a byte", points=len(some), violations=wrong, of=len(points))
    assert wrong == []


def test_a_kill_behind_any_piece_loses_none_of_them(tmp_path: Path) -> None:
    code = _PROGRAM.replace("pieces, points = json.loads(sys.stdin.read())", "count = int(sys.argv[2])").replace(
        _PROGRAM[_PROGRAM.index("for point in points:") :],
        """
store = SqliteStore.create(Path(sys.argv[1]))
first = SessionOpened(session="s", cwd="/", model="m:m", system="S", tools=(), version="0")
store.append([first], expected=0)
for piece in json.loads(sys.argv[3])[:count]:
    store.keep_streamed(ResponseCheckpoint(step=1, text=piece), expected=1)
    print(piece, flush=True)
signal.pause()
""",
    )
    counts = range(1, len(PIECES) + 1) if DEEP else (1, 5, len(PIECES))
    for count in counts:
        folder = tmp_path / str(count)
        with program(code, str(folder), str(count), json.dumps(PIECES)) as process:
            assert process.stdout is not None
            for _ in range(count):
                process.stdout.readline()
            with pytest.raises(SessionBusy):
                SqliteStore.open(folder)
            process.kill()
            process.wait(timeout=HANGS)
        assert streamed(folder) == "".join(PIECES[:count])
    record("streamed text", "kill -9 behind a piece", points=len(counts), violations=[], of=len(PIECES))
