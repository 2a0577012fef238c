"""Damage: a journal cut or flipped anywhere opens, keeps what is whole, says what is not, and takes the next entry."""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.session.journal.store import Finding, Reading
from holdfast.session.storage.row_codec import checksum
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from journal_files import fill, numbered

_ROWS = 60
_SAMPLE = 24
_PAGE = 4096
_FRAME = 24 + _PAGE
_HEADER = (0, 16, 18, 19, 21, 24, 28, 35, 44, 52, 56, 60, 71, 96, 100, 104, 200, 4000, 4052)


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[Path]:
    """Return a folder in memory, where syncing costs nothing, if there is one."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


@pytest.fixture
def closed(scratch: Path) -> Path:
    """Return a session that was closed: all of it is in the database."""
    store = SqliteStore.create(scratch / "closed")
    fill(store, _ROWS)
    store.close()
    return scratch / "closed"


@pytest.fixture
def crashed(scratch: Path) -> Path:
    """Return a session as a crash leaves it: all of it is in the log."""
    store = SqliteStore.create(scratch / "open")
    fill(store, _ROWS)
    shutil.copytree(scratch / "open", scratch / "crashed")
    store.close()
    assert (scratch / "crashed" / "session.db").stat().st_size == 2 * _PAGE
    return scratch / "crashed"


def altered(folder: Path, name: str, data: bytes) -> Path:
    """Return a copy of the session in which one file holds `data`."""
    copy = folder.parent / "altered"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    (copy / name).write_bytes(data)
    return copy


def flipped(data: bytes, position: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[position] ^= 1 << bit
    return bytes(changed)


def sample(data: bytes, seed: int) -> list[int]:
    return random.Random(seed).sample(range(len(data)), _SAMPLE)


def reopened(folder: Path) -> Reading:
    """Return what opening finds, having appended to it, closed it and opened it again."""
    copied = read_copy(folder)
    store = SqliteStore.open(folder)
    reading = store.read()
    assert copied.records == reading.records  # one salvage, with the lease or without
    for record in reading.records:
        assert record.entry == numbered(record.seq)
    length = store.append([numbered(store.length + 1)], expected=store.length)
    assert store.read().records[:-1] == reading.records
    store.close()
    again = read_copy(folder)
    assert again.records[:-1] == reading.records
    assert again.records[-1].seq == length
    assert [finding for finding in reading.findings if finding.seq] == [*again.findings]
    return reading


def lost(reading: Reading) -> int:
    return _ROWS - len(reading.records)


def test_a_flipped_bit_in_the_database_costs_what_it_hit(closed: Path) -> None:
    data = (closed / "session.db").read_bytes()
    for position in sample(data, 1):
        reading = reopened(altered(closed, "session.db", flipped(data, position, position % 8)))
        assert lost(reading) < 15  # one page of rows
        assert reading.findings or not lost(reading)


def test_a_flipped_bit_in_the_first_page_costs_nothing(closed: Path) -> None:
    data = (closed / "session.db").read_bytes()
    for position in _HEADER:
        for bit in (0, 7):
            assert lost(reopened(altered(closed, "session.db", flipped(data, position, bit)))) == 0, (position, bit)


@pytest.mark.parametrize("garbage", [b"\xa7garbage", b"\x02", b"\x55", b"\xff"])
def test_garbage_in_the_marks_of_the_format_is_not_taken_for_a_newer_one(closed: Path, garbage: bytes) -> None:
    data = (closed / "session.db").read_bytes()
    for start in range(57, 72):
        over = (garbage * 64)[:64]
        reading = reopened(altered(closed, "session.db", data[:start] + over + data[start + 64 :]))
        assert lost(reading) == 0, start
        assert reading.findings


def test_a_flipped_bit_in_the_root_of_the_table_costs_nothing(closed: Path) -> None:
    data = (closed / "session.db").read_bytes()
    for position in (_PAGE, _PAGE + 3, _PAGE + 5, _PAGE + 8, _PAGE + 12, 2 * _PAGE - 1):
        assert lost(reopened(altered(closed, "session.db", flipped(data, position, 1)))) == 0, position


def test_a_flipped_bit_in_the_log_costs_at_most_the_entry_it_hit(crashed: Path) -> None:
    data = (crashed / "session.db-wal").read_bytes()
    last_frame = len(data) - _FRAME
    for position in [*range(0, 32, 4), 32, 40, 50, *sample(data, 2)]:
        reading = reopened(altered(crashed, "session.db-wal", flipped(data, position, 3)))
        assert lost(reading) <= 1
        # The last transaction alone cannot be told from one that power loss tore before it was acknowledged.
        assert reading.findings or position >= last_frame


def test_the_last_transaction_but_one_is_not_taken_for_the_last(crashed: Path) -> None:
    """What came after it was acknowledged, and would be lost with it."""
    data = (crashed / "session.db-wal").read_bytes()
    frame = len(data) - 2 * _FRAME
    unended = data[: frame + 4] + bytes(4) + data[frame + 8 :]  # as if it went on with the next
    for damaged in (unended, *(flipped(data, position, 3) for position in range(frame, frame + 25))):
        reading = reopened(altered(crashed, "session.db-wal", damaged))
        assert lost(reading) <= 1
        assert reading.findings


def test_a_database_cut_anywhere_keeps_what_is_left(closed: Path) -> None:
    data = (closed / "session.db").read_bytes()
    counts: dict[int, int] = {}
    for length in [0, 1, 99, 100, _PAGE, _PAGE + 1, *sample(data, 3)]:
        reading = reopened(altered(closed, "session.db", data[:length]))
        assert reading.findings[0].seq == 0
        counts[length] = len(reading.records)
    assert counts[max(counts)] > 30


def test_a_log_cut_anywhere_keeps_the_entries_before_the_cut(crashed: Path) -> None:
    data = (crashed / "session.db-wal").read_bytes()
    counts: dict[int, int] = {}
    for length in [0, 1, 31, 32, 33, *sample(data, 4)]:
        reading = reopened(altered(crashed, "session.db-wal", data[:length]))
        assert [record.seq for record in reading.records] == list(range(1, len(reading.records) + 1))
        counts[length] = len(reading.records)
    assert [counts[length] for length in sorted(counts)] == sorted(counts.values())
    assert counts[max(counts)] > 40


def test_a_log_whose_last_transaction_is_torn_is_no_damage(crashed: Path) -> None:
    """Power loss may write any part of a transaction that was not acknowledged."""
    data = (crashed / "session.db-wal").read_bytes()
    torn = data[:-_PAGE] + b"\0" * 512 + data[-_PAGE + 512 :]
    reading = reopened(altered(crashed, "session.db-wal", torn))
    assert lost(reading) == 1
    assert reading.findings == ()


@pytest.mark.parametrize("garbage", [b"", b"\0" * 20_000, b"not a database " * 2000])
def test_garbage_opens_empty_and_is_kept(closed: Path, garbage: bytes) -> None:
    folder = altered(closed, "session.db", garbage)
    store = SqliteStore.open(folder)
    (finding,) = store.read().findings
    assert finding.seq == 0
    assert "0 entries could be read" in finding.what
    assert "kept as session.db.damaged-1" in finding.what
    assert (folder / "session.db.damaged-1").read_bytes() == garbage
    store.append([numbered(1)], expected=0)
    store.close()
    (folder / "session.db").write_bytes(garbage)
    SqliteStore.open(folder).close()
    assert (folder / "session.db.damaged-2").read_bytes() == garbage  # the first is not overwritten


def test_reading_a_copy_of_a_damaged_session_changes_nothing(closed: Path) -> None:
    data = (closed / "session.db").read_bytes()
    folder = altered(closed, "session.db", flipped(data, _PAGE, 1))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    reading = read_copy(folder)
    assert lost(reading) == 0
    assert "is damaged" in reading.findings[0].what
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def damaged_rows(folder: Path, *statements: str) -> tuple[list[int], tuple[Finding, ...]]:
    """Return the numbers that can be read and the findings after changing rows behind the store's back."""
    with closing(sqlite3.connect(folder / "session.db", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    reading = reopened(folder)
    return [record.seq for record in reading.records], reading.findings


def without(*missing: int) -> list[int]:
    return [seq for seq in range(1, _ROWS + 1) if seq not in missing]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE entry SET body = replace(CAST(body AS TEXT), '7 7', '8 7') WHERE seq = 7", "columns"),
        ("UPDATE entry SET body = CAST(replace(CAST(body AS TEXT), '7 7', '8 7') AS BLOB) WHERE seq = 7", "checksum"),
        ("UPDATE entry SET at = at + 1 WHERE seq = 7", "checksum"),
        ("UPDATE entry SET kind = 'turn-ended' WHERE seq = 7", "checksum"),
        ("UPDATE entry SET kind = CAST(x'FFFE' AS TEXT) WHERE seq = 7", "checksum"),
        ("UPDATE entry SET sum = x'00112233445566778899AABBCCDDEEFF' WHERE seq = 7", "checksum"),
        ("UPDATE entry SET sum = 'text' WHERE seq = 7", "columns"),
        ("UPDATE entry SET body = x'7B22626C6F62223A' WHERE seq = 7", "reference"),
        ("UPDATE entry SET body = x'7B22626C6F62223A22B0227D' WHERE seq = 7", "reference"),  # and no UTF-8
    ],
)
def test_a_damaged_row_is_found_and_costs_only_itself(closed: Path, statement: str, expected: str) -> None:
    seqs, findings = damaged_rows(closed, statement)
    assert seqs == without(7)
    assert findings[0].seq == 7
    assert findings[0].what.startswith("Entry 7 is damaged.")
    assert expected in findings[0].what
    assert {finding.seq for finding in findings} <= {7, 8}  # the next is whole, but chained to what is no more


def test_a_hole_is_found_and_the_rest_is_whole(closed: Path) -> None:
    seqs, findings = damaged_rows(closed, "DELETE FROM entry WHERE seq IN (3, 10, 11, 12)")
    assert seqs == without(3, 10, 11, 12)
    assert [(f.seq, f.what) for f in findings] == [(3, "Entry 3 is missing."), (10, "Entries 10 to 12 are missing.")]


def test_a_row_under_a_number_that_is_not_its_own_is_found(closed: Path) -> None:
    seqs, findings = damaged_rows(closed, f"UPDATE entry SET seq = 500 WHERE seq = {_ROWS}")
    assert seqs == without(_ROWS)
    assert [finding.seq for finding in findings] == [_ROWS, 500]


@pytest.mark.parametrize("what", ["missing", "altered"])
def test_a_blob_that_is_not_what_it_was_is_found(closed: Path, what: str) -> None:
    (blob,) = (closed / "blobs").iterdir()
    if what == "missing":
        blob.unlink()
    else:
        blob.write_bytes(blob.read_bytes()[:-1])
    reading = read_copy(closed)
    assert [finding.seq for finding in reading.findings] == [50]
    assert blob.name in reading.findings[0].what
    assert lost(reading) == 1


def test_an_interrupted_replacement_is_finished(closed: Path) -> None:
    """A salvage killed between deciding and finishing: the old log must not be replayed over the new file."""
    shutil.copy(closed / "session.db", closed / "session.db.new")
    (closed / "session.db").write_bytes(b"damaged")
    (closed / "session.db-wal").write_bytes(b"the log of the damaged file" * 500)
    assert len(read_copy(closed).records) == _ROWS
    store = SqliteStore.open(closed)
    assert lost(store.read()) == 0
    assert store.read().findings == ()
    store.close()
    assert not (closed / "session.db.new").exists()


def _shorter(folder: Path) -> bytes:
    """Return a whole database that lacks the last entry."""
    copy = folder.parent / "shorter"
    shutil.copytree(folder, copy)
    with closing(sqlite3.connect(copy / "session.db", isolation_level=None)) as connection:
        connection.execute(f"DELETE FROM entry WHERE seq = {_ROWS}")
    return (copy / "session.db").read_bytes()


def _anothers(folder: Path) -> bytes:
    """Return a whole database of as many entries, with one that is not the session's."""
    store = SqliteStore.create(folder.parent / "another")
    fill(store, _ROWS)
    store.close()
    return (folder.parent / "another" / "session.db").read_bytes()


def _junk(_: Path) -> bytes:
    return b"junk" * 5000


def _nothing(_: Path) -> bytes:
    return b""


@pytest.mark.parametrize("unfit", [_junk, _nothing, _shorter, _anothers])
def test_a_replacement_that_is_damaged_or_lacks_an_entry_replaces_nothing(
    closed: Path, unfit: Callable[[Path], bytes]
) -> None:
    (closed / "session.db.new").write_bytes(data := unfit(closed))
    copied = read_copy(closed)
    assert (lost(copied), "was not put in the place of session.db" in copied.findings[0].what) == (0, True)
    store = SqliteStore.open(closed)
    reading = store.read()
    assert reading.records == copied.records
    assert [finding.what.partition(" It is kept")[0] for finding in reading.findings] == [
        finding.what for finding in copied.findings
    ]
    assert "It is kept as session.db.damaged-1." in reading.findings[0].what
    assert (closed / "session.db.damaged-1").read_bytes() == data
    store.close()
    assert read_copy(closed).findings == ()


def test_of_two_damaged_files_what_the_database_holds_is_kept(closed: Path) -> None:
    data = (closed / "session.db").read_bytes()
    (closed / "session.db").write_bytes(flipped(data, _PAGE, 1))
    (closed / "session.db.new").write_bytes(b"junk")
    store = SqliteStore.open(closed)
    reading = store.read()
    assert lost(reading) == 0
    assert len(reading.findings) == 2
    assert {path.name for path in closed.glob("*.damaged-*")} == {"session.db.damaged-1", "session.db.damaged-2"}
    store.close()


def _swapped(connection: sqlite3.Connection, one: int, other: int, at: int) -> None:
    """Put the entry of row `one` in the place of row `other`, as a well-formed row there, chained to none."""
    kind, body = connection.execute("SELECT kind, body FROM entry WHERE seq = ?", (one,)).fetchone()
    stored = checksum(b"of another journal", other, float(at), kind, body)
    connection.execute(
        "UPDATE entry SET at = ?, kind = ?, body = ?, sum = ? WHERE seq = ?", (float(at), kind, body, stored, other)
    )


def _exchanged(connection: sqlite3.Connection) -> None:
    _swapped(connection, 3, 7, 1)


def _in_another_order(connection: sqlite3.Connection) -> None:
    _swapped(connection, 8, 7, 1)
    _swapped(connection, 9, 8, 1)


def _of_another_session(connection: sqlite3.Connection) -> None:
    """Put a row of another session in the place of one of the same number, as it is."""
    stored = (7, 5.0, "titled", b'{"kind":"titled","title":"not of this session"}')
    row = (*stored, checksum(b"the row before it", *stored))
    connection.execute("DELETE FROM entry WHERE seq = 7")
    connection.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", row)


def _with_a_hole_closed(connection: sqlite3.Connection) -> None:
    """Take an entry out, and give the last one its number."""
    connection.execute("DELETE FROM entry WHERE seq = 7")
    kind, body = connection.execute("SELECT kind, body FROM entry WHERE seq = ?", (_ROWS,)).fetchone()
    connection.execute("INSERT INTO entry VALUES (7, 1.0, ?, ?, ?)", (kind, body, checksum(b"", 7, 1.0, kind, body)))
    connection.execute(f"DELETE FROM entry WHERE seq = {_ROWS}")


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (_exchanged, [7, 8]),
        (_in_another_order, [7, 8, 9]),
        (_of_another_session, [7, 8]),
        (_with_a_hole_closed, [7, 8]),
    ],
)
def test_a_row_that_is_whole_and_not_chained_to_the_one_before_is_found(
    closed: Path, change: Callable[[sqlite3.Connection], None], found: list[int]
) -> None:
    with closing(sqlite3.connect(closed / "session.db", isolation_level=None)) as connection:
        change(connection)
    store = SqliteStore.open(closed)
    findings = store.read().findings
    store.close()
    assert read_copy(closed).findings == findings
    assert [(each.seq, each.what) for each in findings] == [
        (seq, f"Entry {seq} is whole, but not chained to the one before.") for seq in found
    ]


def test_damage_that_shows_only_when_reading_is_salvaged_then(closed: Path) -> None:
    store = SqliteStore.open(closed)
    connection = store._connection  # pyright: ignore[reportPrivateUsage] - damage is planted under an open store
    connection.execute("PRAGMA writable_schema=ON")
    connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'body', 'ydob')")
    connection.execute("PRAGMA writable_schema=RESET")
    reading = store.read()
    assert lost(reading) == 0
    assert "kept as session.db.damaged-1" in reading.findings[0].what
    assert store.read() == reading
    fill(store, 1)
    store.close()
