"""A written fold is used only for the journal, the row, the format and the fold that it belongs to."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from holdfast.errors import AppendConflict
from holdfast.session.journal.entries import CallEnded, PromptAccepted
from holdfast.session.storage.fold_cache import read_fold
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.system.durable_files import DATABASE, FOLD
from journal_files import fill, write

VERSION = "this fold"
STATE = b'["a state"]'


def _kept(folder: Path, count: int, *, version: str = VERSION) -> None:
    """Append so many entries, and keep a fold of all there are then."""
    store = SqliteStore.open(folder) if folder.exists() else SqliteStore.create(folder)
    fill(store, count)
    store.keep_fold(STATE, version=version, expected=store.length)
    store.close()


def _found(folder: Path, version: str = VERSION) -> int | None:
    """Return up to which entry the journal has a fold, None if all entries must be read, and can be."""
    store = SqliteStore.open(folder, fold_version=version)
    try:
        saved = store.saved_fold
        assert not store.read().findings
        if saved is None:
            return None
        assert saved.state == STATE
        read = store.read_after(saved.seq)
        assert read is not None
        assert [each.seq for each in read.records] == [*range(saved.seq + 1, store.length + 1)]
        return saved.seq
    finally:
        store.close()


def test_a_kept_fold_is_found_with_the_entries_after_it(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    _kept(folder, 3)
    assert _found(folder) == 3
    write(folder, PromptAccepted(turn=4, text="more"), PromptAccepted(turn=5, text="and more"))
    assert _found(folder) == 3


def test_a_fold_is_kept_of_all_entries_or_not_at_all(tmp_path: Path) -> None:
    store = SqliteStore.create(tmp_path / "s")
    fill(store, 3)
    with pytest.raises(AppendConflict):
        store.keep_fold(STATE, version=VERSION, expected=2)
    store.close()
    assert _found(tmp_path / "s") is None


def _another_session(folder: Path) -> None:
    other = folder.with_name("other")
    _kept(other, 5)
    shutil.copy(other / FOLD, folder / FOLD)


def _an_older_journal(folder: Path) -> None:
    """Put an older state of the journal back, as a backup of the database does."""
    shutil.copy(folder / DATABASE, folder.with_name("backup"))
    _kept(folder, 2)
    shutil.copy(folder.with_name("backup"), folder / DATABASE)


def _a_rewritten_journal(folder: Path) -> None:
    """Let the journal have as many entries, of which an early one is another."""
    kept = (folder / FOLD).read_bytes()
    shutil.rmtree(folder)
    store = SqliteStore.create(folder)
    store.append([PromptAccepted(turn=1, text="another beginning")], expected=0)
    fill(store, 2)
    store.close()
    (folder / FOLD).write_bytes(kept)


def _another_format(folder: Path) -> None:
    """Change the format, with a digest that fits."""
    from holdfast.session.storage import fold_cache

    head, _, state = (folder / FOLD).read_bytes().partition(b"\n")
    changed = msgspec.json.decode(head)
    changed["format"] += 1
    changed["digest"] = ""
    changed["digest"] = fold_cache._digest(msgspec.json.encode(changed), state)  # pyright: ignore[reportPrivateUsage] - as a later holdfast writes it
    (folder / FOLD).write_bytes(msgspec.json.encode(changed) + b"\n" + state)


def _unusable(folder: Path) -> None:
    (folder / FOLD).unlink()
    (folder / FOLD).mkdir()


@pytest.mark.parametrize(
    "change",
    [_another_session, _an_older_journal, _a_rewritten_journal, _another_format, _unusable],
    ids=lambda change: change.__name__.strip("_"),
)
def test_a_fold_that_does_not_agree_with_the_journal_is_not_used(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    folder = tmp_path / "s"
    _kept(folder, 3)
    assert _found(folder) == 3
    change(folder)
    assert _found(folder) is None


def test_a_fold_of_another_version_is_not_used(tmp_path: Path) -> None:
    _kept(tmp_path / "s", 3)
    assert _found(tmp_path / "s", "another fold") is None


def test_a_torn_or_changed_cache_is_no_cache(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    _kept(folder, 3)
    whole = (folder / FOLD).read_bytes()
    for at in range(len(whole)):
        (folder / FOLD).write_bytes(whole[:at])
        assert read_fold(folder, VERSION) is None
        (folder / FOLD).write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert read_fold(folder, VERSION) is None
    (folder / FOLD).write_bytes(whole)
    assert read_fold(folder, VERSION) is not None


def test_a_kill_while_a_fold_is_written_leaves_the_one_before(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    _kept(folder, 3)
    (folder / f".{FOLD}.{'0' * 16}").write_bytes((folder / FOLD).read_bytes()[:20])
    assert _found(folder) == 3


def test_a_database_with_free_pages_is_checked_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    _kept(folder, 60)
    data = bytearray((folder / DATABASE).read_bytes())
    data[32:40] = (3).to_bytes(4, "big") + (1).to_bytes(4, "big")  # a page of the journal is marked as free
    (folder / DATABASE).write_bytes(data)
    store = SqliteStore.open(folder, fold_version=VERSION)
    assert store.saved_fold is None
    assert [finding.seq for finding in store.read().findings] == [0]
    store.close()


def test_a_store_counts_what_is_not_in_the_kept_fold(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    _kept(folder, 3)
    store = SqliteStore.open(folder, fold_version=VERSION)
    assert store.unfolded == 0
    text = "x" * 10_000
    store.append([PromptAccepted(turn=4, text=text)], expected=3)
    assert 10_000 < store.unfolded < 11_000
    store.close()
    again = SqliteStore.open(folder, fold_version=VERSION)
    assert again.read_after(3) is not None
    assert 10_000 < again.unfolded < 11_000
    again.drop_fold()
    assert again.unfolded > 11_000
    again.close()
    assert not (folder / FOLD).exists()


def test_texts_of_outcomes_are_read_by_their_positions(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    ends = [CallEnded(call=f"c{at}", outcome="ok", text=f"{at}" * 40_000, seconds=0.1) for at in range(3)]
    write(folder, PromptAccepted(turn=1, text="go"), *ends)
    damaged = max((folder / "blobs").iterdir(), key=lambda path: path.read_bytes())  # that of the last one
    damaged.write_bytes(b"another")
    store = SqliteStore.open(folder)
    assert store.outcome_texts([1, 2, 3, 4, 5]) == {2: "0" * 40_000, 3: "1" * 40_000}
    store.close()
