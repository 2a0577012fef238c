"""The index of a folder of sessions: what it saves, and that it is never truth."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.session import catalog as catalog_module
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.session.journal.entries import CallEnded, Entry, PromptAccepted, SessionOpened, Titled
from holdfast.session.session_index import has_rested, index_path, read_index
from holdfast.session.storage.lease import Lease
from holdfast.session.storage.sqlite_store import SqliteStore
from journal_files import program, write

OLD = 1_700_000_000


def opened(name: str) -> SessionOpened:
    return SessionOpened(session=name, cwd="/w", model="anthropic:m", system="", tools=(), version="0")


def rested(folder: Path, *entries: Entry, at: int = OLD) -> None:
    """Append to a journal, which was then left alone since long ago."""
    write(folder, *entries)
    os.utime(folder / "session.db", (at, at))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "sessions"
    for number in range(6):
        name = f"s{number}"
        rested(root / name, opened(name), PromptAccepted(turn=1, text=f"prompt {number}"), at=OLD + number)
    return root


def titles(root: Path) -> dict[str, str]:
    return {each.id: each.title for each in Catalog(root).all()}


def read_sessions(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the sessions that a list looks into."""
    looked: list[str] = []
    real = catalog_module._summary_or_damage  # pyright: ignore[reportPrivateUsage] - the door to a session's folder

    def counted(folder: Path, *, free: bool = False) -> SessionSummary:
        looked.append(folder.name)
        return real(folder, free=free)

    with monkeypatch.context() as patch:
        patch.setattr(catalog_module, "_summary_or_damage", counted)
        Catalog(root).all()
    return sorted(looked)


def test_a_list_looks_only_into_what_changed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = Catalog(root).all()
    assert read_sessions(root, monkeypatch) == []
    assert Catalog(root).all() == everything
    rested(root / "s2", Titled(title="another"), at=OLD + 100)
    rested(root / "new", opened("new"))
    assert read_sessions(root, monkeypatch) == ["new", "s2"]
    assert read_sessions(root, monkeypatch) == []
    assert titles(root)["s2"] == "another"
    assert Catalog(root).all()[0].id == "s2"


def test_a_session_that_went_leaves_the_index(root: Path) -> None:
    catalog = Catalog(root)
    catalog.all()
    catalog.trash("s3")
    assert "s3" not in {each.id for each in catalog.all()}
    assert "s3" not in read_index(index_path(root))
    assert [each.title for each in catalog.trashed()] == ["prompt 3"]


def test_a_journal_that_changed_a_moment_ago_is_not_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root / "s2", PromptAccepted(turn=2, text="now"))
    Catalog(root).all()
    assert "s2" not in read_index(index_path(root))
    assert read_sessions(root, monkeypatch) == ["s2"]
    now = 1000.0
    assert [has_rested(((int(at * 1e9), 1),), now) for at in (998.0, 999.5, 1000.0, 2000.0)] == [
        True,
        False,
        False,
        False,
    ]
    assert not has_rested((), now)


def damages(whole: bytes) -> dict[str, bytes]:
    middle = len(whole) // 2
    return {
        "empty": b"",
        "half": whole[:middle],
        "without its first line": whole.partition(b"\n")[2],
        "another title": whole.replace(b"prompt 1", b"prompt 9"),
        "a flipped bit": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "zeros": bytes(len(whole)),
        "no text": b"\xff\xfe" * 100,
        "more behind": whole + b"{}",
    }


@pytest.mark.parametrize("how", damages(b"12"))
def test_a_damaged_index_is_thrown_away_and_made_again(root: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Catalog(root).all()
    whole = index_path(root).read_bytes()
    index_path(root).write_bytes(damages(whole)[how])
    assert len(read_sessions(root, monkeypatch)) == len(before)
    assert index_path(root).read_bytes() == whole
    index_path(root).write_bytes(damages(whole)[how])
    assert Catalog(root).all() == before


def test_an_index_that_is_no_file_costs_time_only(root: Path) -> None:
    before = Catalog(root).all()
    index_path(root).unlink()
    os.mkfifo(index_path(root))
    assert Catalog(root).all() == before


_LISTER = """
import sys
from pathlib import Path
from holdfast.session.catalog import Catalog
from holdfast.session.session_index import index_path
root = Path(sys.argv[1])
print("ready", flush=True)
while True:
    Catalog(root).all()
    index_path(root).unlink(missing_ok=True)
"""


def test_two_processes_list_and_one_is_killed_while_it_writes(root: Path) -> None:
    before = titles(root)
    for number in range(8):
        with program(_LISTER, str(root)) as lister:
            assert lister.stdout is not None
            assert lister.stdout.readline() == "ready\n"
            until = time.monotonic() + 0.01 * number
            assert titles(root) == before
            while time.monotonic() < until:
                assert titles(root) == before  # may be empty: the first is killed at once
            lister.kill()
        assert titles(root) == before
    assert set(read_index(index_path(root))) == set(before)


def test_a_home_that_cannot_be_written_is_listed_without_an_index(root: Path) -> None:
    before = Catalog(root).all()
    index_path(root).unlink()
    index_path(root).mkdir()  # root may write into a folder that is read-only; a folder it cannot replace
    assert Catalog(root).all() == before


def large(folder: Path) -> None:
    """Make a session of which a list reads little: most of it is in results, in the database and beside it."""
    results = [CallEnded(call=f"c{each}", outcome="ok", text="x" * 30_000, seconds=0.1) for each in range(120)]
    blobs = [CallEnded(call=f"d{each}", outcome="ok", text="y" * 1_000_000, seconds=0.1) for each in range(2)]
    rested(
        folder, opened(folder.name), PromptAccepted(turn=1, text="big"), *results, *blobs, Titled(title="named late")
    )


def test_of_a_large_session_only_what_names_it_is_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large(root / "big")
    for blob in (root / "big" / "blobs").iterdir():
        blob.write_bytes(b"not what it was" + bytes(1_000_000))
    found = Catalog(root).find("big")
    assert (found.title, found.cwd, found.model, found.damage) == ("named late", "/w", "anthropic:m", "")
    (root / "big" / "about.json").unlink()
    monkeypatch.setattr(catalog_module, "LARGE", 1 << 40)
    whole = Catalog(root).find("big")
    assert "damaged" in whole.damage  # who reads all of it finds what a list does not look at
    assert (found.title, found.cwd, found.created) == (whole.title, whole.cwd, whole.created)


def test_a_large_session_whose_first_entry_is_lost_is_read_in_full(root: Path) -> None:
    rested(root / "big", *(PromptAccepted(turn=each, text=f"{each} " * 12_000) for each in range(1, 150)))
    found = Catalog(root).find("big")
    assert (found.title[:2], found.cwd) == ("1 ", "")


def test_an_open_session_is_listed_as_its_log_has_it(root: Path) -> None:
    large(root / "big")
    store = SqliteStore.open(root / "big")
    try:
        store.append([Titled(title="in the log")], expected=store.length)
        assert titles(root)["big"] == "in the log"
    finally:
        store.close()
    assert titles(root)["big"] == "in the log"


def test_reading_a_journal_at_rest_leaves_no_file_and_takes_no_lock(root: Path) -> None:
    names = sorted(path.name for path in (root / "s1").iterdir())
    (root / "s1" / "about.json").unlink(missing_ok=True)
    lease = Lease.take(root / "s1")
    try:
        assert Catalog(root).find("s1").title == "prompt 1"
    finally:
        lease.release()
    assert sorted(path.name for path in (root / "s1").iterdir()) == sorted({*names, "about.json"})


def test_a_list_with_a_fresh_index_opens_no_session(root: Path) -> None:
    Catalog(root).all()
    code = (
        "import os, sys; from pathlib import Path; from holdfast.session.catalog import Catalog\n"
        "seen = []\n"
        "sys.addaudithook(lambda event, values: seen.append(str(values[0])) if event == 'open' else None)\n"
        "print(len(Catalog(Path(sys.argv[1])).all()), [path for path in seen if '/sessions/' in path])"
    )
    done = subprocess.run([sys.executable, "-c", code, root], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "6 []\n"
