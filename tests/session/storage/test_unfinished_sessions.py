"""A folder whose journal has no entry is no session: not listed, removed when found; one in doubt is kept."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.errors import SessionUnknown
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import SessionOpened
from holdfast.session.storage.lease import Lease
from holdfast.session.storage.sqlite_store import SqliteStore
from journal_files import fill

OPENED = SessionOpened(session="s1", cwd="/w", model="m:m", system="", tools=(), version="0")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def folder(root: Path) -> Path:
    """Return what a process leaves that is killed before the first entry of a session is durable."""
    store = SqliteStore.create(root / "s1")
    shutil.copytree(root / "s1", root / "killed")
    store.close()
    shutil.rmtree(root / "s1")
    (root / "killed").rename(root / "s1")
    (root / "s1" / "spool").mkdir()
    return root / "s1"


def test_it_is_no_session_and_is_removed_when_found(folder: Path, root: Path) -> None:
    assert Catalog(root).all() == ()
    assert not folder.exists()
    assert list(root.iterdir()) == []
    assert list(root.with_name("trash").iterdir()) == []


@pytest.mark.parametrize("session_id", ["s1", "s"])
def test_it_is_not_found_by_its_id(folder: Path, root: Path, session_id: str) -> None:
    with pytest.raises(SessionUnknown, match="does not exist"):
        Catalog(root).find(session_id)
    assert not folder.exists()


def test_it_is_nobodys_latest(folder: Path, root: Path) -> None:
    assert Catalog(root).latest(Path("/w")) is None
    assert not folder.exists()


def test_while_it_is_held_it_is_left_alone(folder: Path, root: Path) -> None:
    """Its first entry may be on its way."""
    lease = Lease.take(folder)
    assert Catalog(root).all() == ()
    assert (folder / "session.db").exists()
    lease.release()
    store = SqliteStore.open(folder)
    store.append([OPENED], expected=0)
    assert [summary.damage for summary in Catalog(root).all()] == [""]
    store.close()


def test_what_got_its_first_entry_in_the_meantime_is_kept(
    folder: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the lease another process may finish."""
    take = Lease.take

    def finishes(path: Path) -> Lease:
        monkeypatch.setattr(Lease, "take", take)
        store = SqliteStore.open(folder)
        store.append([OPENED], expected=0)
        store.close()
        return take(path)

    monkeypatch.setattr(Lease, "take", finishes)
    Catalog(root).all()
    assert [summary.cwd for summary in Catalog(root).all()] == ["/w"]


def _with_summary(folder: Path) -> None:
    Catalog(folder.parent).note(OPENED)


def _with_a_summary_that_is_damaged(folder: Path) -> None:
    (folder / "about.json").write_bytes(b"{")


def _damaged(folder: Path) -> None:
    (folder / "session.db").write_bytes((folder / "session.db").read_bytes()[:4096])


def _emptied(folder: Path) -> None:
    (folder / "session.db").write_bytes(b"")


def _salvaged(folder: Path) -> None:
    _damaged(folder)
    SqliteStore.open(folder).close()


def _with_a_replacement(folder: Path) -> None:
    shutil.copy(folder / "session.db", folder / "session.db.new")


def _with_a_file_of_the_user(folder: Path) -> None:
    (folder / "notes").write_text("mine")


def _with_output(folder: Path) -> None:
    (folder / "spool" / "c1.out").write_text("printed")


@pytest.mark.parametrize(
    "doubt",
    [
        _with_summary,
        _with_a_summary_that_is_damaged,
        _damaged,
        _emptied,
        _salvaged,
        _with_a_replacement,
        _with_a_file_of_the_user,
        _with_output,
    ],
)
def test_one_that_may_have_had_an_entry_is_listed_and_kept(
    folder: Path, root: Path, doubt: Callable[[Path], None]
) -> None:
    doubt(folder)
    assert [summary.id for summary in Catalog(root).all()] == ["s1"]
    assert folder.exists()


def test_bodies_of_entries_are_moved_to_the_trash_not_deleted(folder: Path, root: Path) -> None:
    (folder / "blobs" / ("0" * 64)).write_bytes(b"large")
    assert Catalog(root).all() == ()
    assert not folder.exists()
    assert (root.with_name("trash") / "s1" / "blobs" / ("0" * 64)).read_bytes() == b"large"


@pytest.mark.parametrize("left", [[], ["lock"], ["lock", "session.db.tmp"], ["lock", "session.db.tmp", "blobs/"]])
def test_a_folder_that_did_not_come_to_a_journal_goes_when_found(root: Path, left: list[str]) -> None:
    (root / "s1").mkdir(parents=True)
    for name in left:
        (root / "s1" / name).mkdir() if name.endswith("/") else (root / "s1" / name).touch()
    lease = Lease.take(root / "s1") if left else None
    assert Catalog(root).all() == ()
    assert (root / "s1").exists() == (lease is not None), "another process is about to create it"
    if lease is not None:
        lease.release()
    assert Catalog(root).all() == ()
    assert not (root / "s1").exists()


def test_a_session_that_is_being_copied_here_is_left_alone_for_an_hour(folder: Path, root: Path) -> None:
    """Its journal may be the last to come; a process that creates one writes no body before it has a journal."""
    (folder / "session.db").unlink()
    (folder / "session.db-wal").unlink(missing_ok=True)
    (folder / "blobs" / ("0" * 64)).write_bytes(b"large")
    assert Catalog(root).all() == ()
    assert (folder / "blobs" / ("0" * 64)).exists()
    os.utime(folder, (1000, 1000))
    assert Catalog(root).all() == ()
    assert (root.with_name("trash") / "s1" / "blobs" / ("0" * 64)).read_bytes() == b"large"


def _removed(folder: Path, take: Callable[[Path], Lease]) -> Lease:
    Catalog(folder.parent).all()
    assert not folder.exists()
    return take(folder)


def _looked_at(folder: Path, take: Callable[[Path], Lease]) -> Lease:
    lease = take(folder)
    try:
        return take(folder)
    finally:
        lease.release()


@pytest.mark.parametrize("another", [_removed, _looked_at])
def test_one_who_creates_a_session_begins_again_where_its_folder_was_taken_for_a_left_one(
    root: Path, monkeypatch: pytest.MonkeyPatch, another: Callable[[Path, Callable[[Path], Lease]], Lease]
) -> None:
    """Between the folder and its lease another process may look through the sessions."""
    take = Lease.take

    def late(folder: Path) -> Lease:
        monkeypatch.setattr(Lease, "take", take)
        return another(folder, take)

    monkeypatch.setattr(Lease, "take", late)
    store = SqliteStore.create(root / "s1")
    store.append([OPENED], expected=0)
    store.close()
    assert [summary.cwd for summary in Catalog(root).all()] == ["/w"]


def test_sessions_are_created_while_another_looks_through_them(root: Path) -> None:
    over = threading.Event()

    def looks() -> None:
        while not over.is_set():
            Catalog(root).all()

    looking = threading.Thread(target=looks)
    looking.start()
    try:
        for number in range(50):
            store = SqliteStore.create(root / f"s{number}")
            store.append([OPENED], expected=0)
            store.close()
    finally:
        over.set()
        looking.join()
    assert len(Catalog(root).all()) == 50


def test_a_session_with_entries_is_no_debris(root: Path) -> None:
    store = SqliteStore.create(root / "s1")
    fill(store, 1)
    store.close()
    os.utime(root / "s1", (1000, 1000))
    assert [summary.id for summary in Catalog(root).all()] == ["s1"]
