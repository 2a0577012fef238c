"""A journal cut, flipped or overwritten at every byte: what is whole is kept, damage is reported, the session goes on.

Two rules. The journal is small, so that a full run tries each of its bytes: several transactions, one of several pages,
and a blob. `tests/session/storage/test_sqlite_damage.py` has the kinds of damage one by one; here the place is any
byte.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from report import record
from store_plans import prompt
from store_trials import chosen, red, scratch
from stores import REAL, integrity

from holdfast.session.journal.entries import Entry
from holdfast.session.storage import blobs
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.session.storage.wal import PAGE
from tiers import DEEP, SEED

_ENTRIES: tuple[Entry, ...] = (prompt(1), prompt(2, 5000), prompt(3, 6000), prompt(4))
_BLOBS_FROM = 5500  # so that a small one will do
_FRAME = 24 + PAGE
_HEADER = 32
_MOST = 27  # places in a short run
_PIECES = 8 if DEEP else 1  # of each case, so that workers share them evenly


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    """Return a folder with two sessions: one that was closed, one as kill -9 leaves it."""
    with scratch() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(blobs, "BLOB_LIMIT", _BLOBS_FROM)
        journal = REAL.open(folder / "open")
        for entry in _ENTRIES:
            journal.append((entry,))
        shutil.copytree(folder / "open", folder / "killed")
        journal.close()
        (folder / "open").rename(folder / "closed")
        yield folder


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1 << (place + SEED) % 8]) + data[place + 1 :]


def zeroed(data: bytes, place: int) -> bytes:
    return data[:place] + bytes(len(data) - place)


def overwritten(data: bytes, place: int) -> bytes:
    return data[:place] + b"\xa7garbage" * 8 + data[place + 64 :]


def cut(data: bytes, place: int) -> bytes:
    return data[:place]


def lengthened(data: bytes, place: int) -> bytes:
    return data + b"\xa7garbage" * (1 + place // 8)


_DAMAGE: tuple[Callable[[bytes, int], bytes], ...] = (cut, flipped, zeroed, overwritten, lengthened)
_FILES = (("closed", "session.db"), ("closed", "blobs/*"), ("killed", "session.db"), ("killed", "session.db-wal"))


def judged(folder: Path, least: int, *, reported: bool) -> list[str]:
    """Return what is wrong with how a damaged session is read, opened and continued.

    It must still hold `least` entries. If something is lost, a finding must say so where `reported` is true.
    """
    wrong: list[str] = []
    copied = read_copy(folder)
    store = SqliteStore.open(folder)  # an exception that is no HoldfastError fails the test, and so does one that is
    reading = store.read()
    found = [record.entry for record in reading.records]
    if copied.records != reading.records:
        wrong.append(f"a copy holds {len(copied.records)} entries, the journal {len(found)}")
    if [entry for entry in _ENTRIES if entry in found] != found:
        wrong.append("it holds what was never appended, or in another order")
    if len(found) < least:
        wrong.append(f"it holds {len(found)} entries, {least} are whole")
    if reported and len(found) < len(_ENTRIES) and not reading.findings:
        wrong.append(f"it holds {len(found)} entries, and finds nothing wrong")
    store.append([prompt(77)], expected=store.length)
    store.close()
    store = SqliteStore.open(folder)
    if [record.entry for record in store.read().records] != [*found, prompt(77)]:
        wrong.append("the next append is lost, or what was salvaged")
    store.close()
    if (problem := integrity(folder)) != "ok":
        wrong.append(problem)
    return wrong


def expected(file: str, damage: str, place: int, commits: list[int]) -> tuple[int, bool]:
    """Return how many entries are whole before or beside such damage, and whether it must be reported.

    A log that was cut, or whose end was overwritten, looks as if power was lost before these were acknowledged: only
    a frame behind the damage shows the difference.
    """
    if file.startswith("blobs"):
        return len(_ENTRIES) - 1, True
    if damage == "lengthened":
        return len(_ENTRIES), True
    if file == "session.db":
        # Damage in the first page, which is always the same, costs nothing; behind it, what lies there.
        return (len(_ENTRIES) if damage == "flipped" and place < PAGE else 0), True
    before = sum(place >= commit for commit in commits)
    if damage == "flipped":
        return len(_ENTRIES) - 1, before < len(_ENTRIES) - 1
    return before, damage == "overwritten" and before < len(_ENTRIES) - 1 and place + 64 <= commits[-1] - _FRAME


@pytest.mark.parametrize("piece", range(_PIECES))
@pytest.mark.parametrize("damage", _DAMAGE, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize(("session", "file"), _FILES)
def test_damage_anywhere_is_reported_and_costs_what_it_hit(
    base: Path, session: str, file: str, damage: Callable[[bytes, int], bytes], piece: int
) -> None:
    (path,) = (base / session).glob(file)
    data = path.read_bytes()
    commits = ends_of_transactions((base / "killed" / "session.db-wal").read_bytes())

    def tried(place: int) -> list[str]:
        folder = base / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(base / session, folder)
        (folder / path.relative_to(base / session)).write_bytes(damage(data, place))
        least, reported = expected(file, damage.__name__, place, commits)
        if session == "killed" and file == "session.db":
            least = len(_ENTRIES)  # all of it is in the log
        return judged(folder, least, reported=reported)

    every = 1 if damage in (cut, flipped) else 16
    places = chosen(range(0, len(data), every), _MOST)[piece::_PIECES]
    found = red((f"byte {place}", tried(place)) for place in places)
    record(
        f"{session} {file}",
        damage.__name__,
        points=len(places),
        violations=found,
        of=len(range(piece, len(data), _PIECES)),
    )
    assert found == []


def ends_of_transactions(wal: bytes) -> list[int]:
    """Return where in the log each transaction is complete."""
    starts = range(_HEADER, len(wal), _FRAME)
    return [start + _FRAME for start in starts if wal[start + 4 : start + 8] != bytes(4)]
