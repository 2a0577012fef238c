"""Streamed text next to a journal: what of it counts, who reads it, and what damage leaves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.errors import AppendConflict, StateError
from holdfast.session.journal.entries import Entry, ResponseCheckpoint
from holdfast.session.journal.store import StreamingStore
from holdfast.session.storage.sqlite_store import SqliteStore, complete_rows, read_copy
from holdfast.session.storage.streamed_text import StreamedFile, streamed_text
from holdfast.system.durable_files import STREAMED
from journal_files import numbered


def piece(text: str, thinking: str = "") -> ResponseCheckpoint:
    return ResponseCheckpoint(step=1, text=text, thinking=thinking)


def entries(folder: Path) -> list[Entry]:
    return [record.entry for record in read_copy(folder).records]


def left(folder: Path, *pieces: ResponseCheckpoint, after: int = 2) -> Path:
    """Return a session of two entries as a killed process leaves it, with text that it was streaming."""
    store = SqliteStore.create(folder)
    store.append([numbered(1), numbered(2)], expected=0)
    store.close()
    file = StreamedFile(folder)
    for each in pieces:
        file.write(each, after=after)
    return folder


def test_the_pieces_are_one_entry_for_each_reader(tmp_path: Path) -> None:
    folder = left(tmp_path / "s", piece("Grüße, ", "hm "), piece("世界\n", ""), piece("", "ha"))
    whole = [numbered(1), numbered(2), piece("Grüße, 世界\n", "hm ha")]
    assert entries(folder) == whole
    assert [row.seq for row in complete_rows(folder)] == [1, 2, 3]
    store = SqliteStore.open(folder)
    assert [record.entry for record in store.read().records] == whole
    assert store.append([numbered(4)], expected=3) == 4
    store.close()
    assert not (folder / STREAMED).exists()
    assert entries(folder) == [*whole, numbered(4)]


def test_only_text_behind_the_last_entry_counts(tmp_path: Path) -> None:
    folder = left(tmp_path / "s", piece("old"), after=1)
    assert entries(folder) == [numbered(1), numbered(2)]
    store = SqliteStore.open(folder)
    assert store.length == 2
    store.keep_streamed(piece("shown"), expected=2)
    store.append([piece("shown"), numbered(4)], expected=2)
    assert streamed_text(folder, after=4) is None
    with pytest.raises(AppendConflict):
        store.keep_streamed(piece("late"), expected=2)
    store.close()
    with pytest.raises(StateError, match="closed"):
        store.keep_streamed(piece("late"), expected=4)
    assert entries(folder) == [numbered(1), numbered(2), piece("shown"), numbered(4)]


def test_while_a_process_has_the_session_its_text_is_no_entry(tmp_path: Path) -> None:
    store = SqliteStore.create(tmp_path / "s")
    assert isinstance(store, StreamingStore)
    store.append([numbered(1)], expected=0)
    store.keep_streamed(piece("more"), expected=1)
    assert entries(tmp_path / "s") == [numbered(1)]
    store.close()


@pytest.mark.parametrize("damage", ["torn", "flipped", "zeros", "another's", "empty"])
def test_a_damaged_line_ends_the_text(tmp_path: Path, damage: str) -> None:
    folder = left(tmp_path / "s", piece("one "), piece("two "), piece("three"))
    path = folder / STREAMED
    lines = path.read_bytes().splitlines(keepends=True)
    match damage:
        case "torn":
            path.write_bytes(b"".join(lines)[:-4])
        case "flipped":
            path.write_bytes(lines[0] + lines[1] + lines[2].replace(b"three", b"throe"))
        case "zeros":
            path.write_bytes(lines[0] + lines[1] + bytes(len(lines[2])))
        case "another's":
            path.write_bytes(lines[0] + lines[1] + b"00000000 null\n" + lines[2])
        case _:
            path.write_bytes(b"")
    expected = [] if damage == "empty" else [piece("one two ")]
    assert entries(folder) == [numbered(1), numbered(2), *expected]
    store = SqliteStore.open(folder)
    assert [record.entry for record in store.read().records] == [numbered(1), numbered(2), *expected]
    assert store.read().findings == ()
    store.close()


def test_what_is_no_file_of_holdfast_is_not_read_and_not_written(tmp_path: Path) -> None:
    folder = left(tmp_path / "s")
    os.mkfifo(folder / STREAMED)
    assert entries(folder) == [numbered(1), numbered(2)]
    (folder / STREAMED).unlink()
    (tmp_path / "target").write_bytes(b"another's")
    store = SqliteStore.open(folder)
    (folder / STREAMED).symlink_to(tmp_path / "target")
    store.keep_streamed(piece("more"), expected=2)
    assert not (folder / STREAMED).is_symlink()
    store.close()
    assert (tmp_path / "target").read_bytes() == b"another's"
