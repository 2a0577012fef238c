"""A copy taken while another process writes: whatever it does in the middle, the copy has what was acknowledged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.errors import StorageFailed
from holdfast.session.storage import wal
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from journal_files import fill, numbered


def restart_log(store: SqliteStore) -> None:
    """Move the log into the database and begin it again with two more entries, as a busy writer does."""
    store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # pyright: ignore[reportPrivateUsage] - its log
    fill(store, 2)


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object], int], None]:
    """Return what has something done behind the copy of the database and before that of its log, so many times."""
    copy_bounded = wal._copy_bounded  # pyright: ignore[reportPrivateUsage] - the moment in between

    def have_done(work: Callable[[], object], times: int) -> None:
        left = [times]

        def copied(source: Path, target: Path) -> None:
            copy_bounded(source, target)
            if source.name == "session.db" and left[0]:
                left[0] -= 1
                work()

        monkeypatch.setattr(wal, "_copy_bounded", copied)

    return have_done


@pytest.mark.parametrize("times", [1, 3])
def test_a_copy_taken_while_the_log_was_restarted_is_taken_again(
    tmp_path: Path, during: Callable[[Callable[[], object], int], None], times: int
) -> None:
    store = SqliteStore.create(tmp_path / "s")
    fill(store, 5)
    during(lambda: restart_log(store), times)
    reading = read_copy(tmp_path / "s")
    store.close()
    assert reading.findings == ()
    assert [record.entry for record in reading.records] == [numbered(seq) for seq in range(1, 6 + 2 * times)]


def test_a_copy_taken_while_entries_were_appended_has_those_of_before(
    tmp_path: Path, during: Callable[[Callable[[], object], int], None]
) -> None:
    store = SqliteStore.create(tmp_path / "s")
    fill(store, 5)
    during(lambda: fill(store, 1), 1)
    reading = read_copy(tmp_path / "s")
    store.close()
    assert reading.findings == ()
    assert len(reading.records) in (5, 6)


def test_a_copy_whose_writer_closed_in_the_middle_is_taken_again(
    tmp_path: Path, during: Callable[[Callable[[], object], int], None]
) -> None:
    store = SqliteStore.create(tmp_path / "s")
    fill(store, 5)
    during(store.close, 1)
    reading = read_copy(tmp_path / "s")
    assert reading.findings == ()
    assert [record.entry for record in reading.records] == [numbered(seq) for seq in range(1, 6)]


def test_a_writer_that_is_always_faster_is_said_and_nothing_else_is_claimed(
    tmp_path: Path, during: Callable[[Callable[[], object], int], None]
) -> None:
    store = SqliteStore.create(tmp_path / "s")
    fill(store, 5)
    during(lambda: restart_log(store), 1_000)
    with pytest.raises(StorageFailed, match="was rewritten during each of 50 attempts to copy it"):
        read_copy(tmp_path / "s")
    store.close()
