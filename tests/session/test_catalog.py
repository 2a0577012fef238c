"""The catalog: ids, prefixes, the last session of a folder, and a cache that is never truth."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.errors import SessionBusy, SessionUnknown
from holdfast.session import trash
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import ModelChanged, PromptAccepted, SessionOpened
from holdfast.session.storage.lease import Lease
from holdfast.system.durable_files import sync_path
from journal_files import numbered, write
from polling import HANGS


def opened(session: str, cwd: str = "/w") -> SessionOpened:
    return SessionOpened(session=session, cwd=cwd, model="anthropic:m", system="", tools=(), version="0")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "state" / "sessions"


@pytest.fixture
def catalog(root: Path) -> Catalog:
    return Catalog(root)


def session(root: Path, name: str, cwd: str = "/w", *, text: str = "", modified: int = 0) -> None:
    write(root / name, opened(name, cwd), *([PromptAccepted(turn=1, text=text)] if text else []))
    if modified:
        os.utime(root / name / "session.db", (modified, modified))


def test_an_id_is_short_sorts_by_time_and_is_new(root: Path) -> None:
    ids = [Catalog(root, now=lambda moment=moment: 1.8e9 + 60.0 * moment).new_id() for moment in range(20)]
    assert ids == sorted(ids)
    assert all(re.fullmatch(r"\d{8}-\d{4}-[a-z2-9]{4}", each) for each in ids)
    assert not {"0", "1", "i", "l", "o"} & set("".join(each[-4:] for each in ids))


def test_a_root_that_is_not_there_has_no_sessions(catalog: Catalog, root: Path) -> None:
    assert catalog.all() == ()
    assert catalog.latest(Path("/w")) is None
    with pytest.raises(SessionUnknown, match="'abc' does not exist"):
        catalog.find("abc")
    assert not root.exists()


def test_a_summary_says_what_the_journal_says(catalog: Catalog, root: Path) -> None:
    write(
        root / "s1",
        opened("s1", "/work"),
        PromptAccepted(turn=1, text="  Fix the bug\nin the parser"),
        PromptAccepted(turn=2, text="and then this"),
        ModelChanged(model="openai-chat:n"),
    )
    (summary,) = catalog.all()
    assert (summary.id, summary.cwd, summary.title, summary.model) == ("s1", "/work", "Fix the bug", "openai-chat:n")
    assert summary.modified == (root / "s1" / "session.db").stat().st_mtime_ns / 1e9
    assert abs(summary.modified - summary.created) < 60  # the file system has its own clock
    assert summary.bytes >= (root / "s1" / "session.db").stat().st_size
    assert summary.damage == ""


def test_blobs_count(catalog: Catalog, root: Path) -> None:
    write(root / "s1", opened("s1"), PromptAccepted(turn=1, text="x" * 100_000))
    assert catalog.find("s1").bytes > 100_000


def test_a_long_title_is_cut(catalog: Catalog, root: Path) -> None:
    session(root, "s1", text="x" * 500)
    assert len(catalog.find("s1").title) == 80


def test_the_last_used_comes_first_and_is_the_latest_of_its_folder(catalog: Catalog, root: Path) -> None:
    session(root, "a", "/one", modified=3000)
    session(root, "b", "/two", modified=4000)
    session(root, "c", "/one", modified=2000)
    assert [summary.id for summary in catalog.all()] == ["b", "a", "c"]
    latest = catalog.latest(Path("/one"))
    assert latest is not None
    assert latest.id == "a"
    assert catalog.latest(Path("/three")) is None


def test_of_a_session_that_is_held_and_wanted_free_nothing_is_read(
    catalog: Catalog, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(root, "a", "/one", modified=3000)
    session(root, "b", "/two", modified=4000)
    catalog.all()
    os.utime(root / "a" / "session.db", (3500, 3500))
    lease = Lease.take(root / "a")
    assert catalog.find("a").id == "a", "it may be looked at"
    os.utime(root / "a" / "session.db", (3600, 3600))
    monkeypatch.setattr("holdfast.session.catalog._read", None)  # what would be called to read it
    for look in (lambda: catalog.find("a", free=True), lambda: catalog.latest(Path("/one"), free=True)):
        with pytest.raises(SessionBusy):
            look()
    latest = catalog.latest(Path("/two"), free=True)
    assert latest is not None
    lease.release()


def test_the_newest_free_session_is_found_and_a_newer_held_one_named(catalog: Catalog, root: Path) -> None:
    session(root, "a", "/one", modified=3000)
    session(root, "b", "/one", modified=4000)
    session(root, "c", "/two", modified=5000)
    assert catalog.latest_free(Path("/three")) == (None, "")
    for _ in range(2):  # without the cache of the summaries, then with it
        lease = Lease.take(root / "b")
        found, newer = catalog.latest_free(Path("/one"))
        assert found is not None
        assert (found.id, newer) == ("a", "b")
        other = Lease.take(root / "a")
        with pytest.raises(SessionBusy, match="'b'"):
            catalog.latest_free(Path("/one"))
        lease.release()
        other.release()
        found, newer = catalog.latest_free(Path("/one"))
        assert found is not None
        assert (found.id, newer) == ("b", "")


def test_a_session_is_found_by_its_id_or_what_begins_only_it(catalog: Catalog, root: Path) -> None:
    for name in ("20261121-2318-k3f9", "20261121-2318-k3f9x", "20261122-0900-abcd"):
        session(root, name)
    assert catalog.find("20261121-2318-k3f9").id == "20261121-2318-k3f9"
    assert catalog.find("20261122").id == "20261122-0900-abcd"
    with pytest.raises(SessionUnknown, match=r"is ambiguous: 2 .*k3f9x"):
        catalog.find("20261121")
    with pytest.raises(SessionUnknown, match=r"does not exist .*Similar: 20261122-0900-abcd"):
        catalog.find("20261122-0900-abce")
    with pytest.raises(SessionUnknown, match="does not exist"):
        catalog.find("")


@pytest.mark.parametrize("name", ["../s1", "/etc", ".", "", "a/b", "a\n", "-x"])
def test_a_name_that_leads_elsewhere_is_no_id(catalog: Catalog, name: str) -> None:
    with pytest.raises(SessionUnknown, match="is not an ID"):
        catalog.folder(name)


def test_what_holds_no_journal_is_not_listed(catalog: Catalog, root: Path) -> None:
    session(root, "s1")
    (root / "reserved").mkdir()
    (root / "notes.txt").write_text("not a session")
    (root / ".hidden").mkdir()
    assert [summary.id for summary in catalog.all()] == ["s1"]


@pytest.mark.parametrize("cache", [None, b"", b"{", b"\xff\xfe", b'{"id": "\xb0"}', b'{"id": "other"}', b'{"id": 3}'])
def test_a_cache_that_is_missing_or_wrong_is_rebuilt(catalog: Catalog, root: Path, cache: bytes | None) -> None:
    session(root, "s1", text="the title")
    first = catalog.find("s1")
    path = root / "s1" / "about.json"
    content = path.read_bytes()
    if cache is None:
        path.unlink()
    else:
        path.write_bytes(cache)
    again = catalog.find("s1")
    assert (again.cwd, again.title, again.model, again.created) == (first.cwd, "the title", first.model, first.created)
    assert path.read_bytes() == content


def test_a_cache_is_believed_only_while_the_journal_is_the_same(catalog: Catalog, root: Path) -> None:
    session(root, "s1")
    assert catalog.find("s1").title == ""
    write(root / "s1", PromptAccepted(turn=1, text="now it has one"), ModelChanged(model="openai-chat:n"))
    assert catalog.find("s1").title == "now it has one"
    assert catalog.find("s1").model == "openai-chat:n"


def test_what_a_killed_writer_of_a_summary_left_goes_with_the_next_one(catalog: Catalog, root: Path) -> None:
    session(root, "s1")
    old, new = (root / "s1" / f".about.json.{pid}" for pid in (11, 12))
    old.write_bytes(b"{")
    os.utime(old, (1000, 1000))
    new.write_bytes(b"{")  # another process may be writing it
    catalog.all()
    assert (old.exists(), new.exists()) == (False, True)


def test_a_copied_folder_does_not_bring_the_summary_of_the_original(catalog: Catalog, root: Path) -> None:
    session(root, "s1", text="title")
    catalog.all()
    (root / "s1").rename(root / "s2")
    assert catalog.find("s2").title == "title"
    assert b'"id":"s2"' in (root / "s2" / "about.json").read_bytes()


def test_a_damaged_session_is_listed_with_its_damage(catalog: Catalog, root: Path) -> None:
    for name in ("cut", "garbage", "gone", "whole"):
        session(root, name, text=name)
    catalog.all()
    (root / "garbage" / "session.db").write_bytes(b"not a database" * 1000)
    (root / "cut" / "session.db").write_bytes((root / "cut" / "session.db").read_bytes()[:5000])
    (root / "gone" / "session.db").unlink()
    damage = {summary.id: summary.damage for summary in catalog.all()}
    assert set(damage) == {"cut", "garbage", "gone", "whole"}
    assert "is damaged" in damage["garbage"]
    assert "is damaged" in damage["cut"]
    assert "has no session.db" in damage["gone"]
    assert damage["whole"] == ""
    assert {summary.id: summary.damage for summary in catalog.all()} == damage  # damage is never cached away


def test_a_folder_that_takes_no_cache_is_still_listed(catalog: Catalog, root: Path) -> None:
    session(root, "s1", text="title")
    (root / "s1" / "about.json").mkdir()
    assert catalog.find("s1").title == "title"


def test_noting_a_new_session_saves_reading_it(catalog: Catalog, root: Path) -> None:
    session(root, "s1", "/noted")
    catalog.note(opened("s1", "/noted"))
    assert _modules_of_a_list(root) == "noted sqlite3 False\n"


def test_a_list_with_a_fresh_cache_needs_no_sqlite(catalog: Catalog, root: Path) -> None:
    session(root, "s1", "/noted", text="title")
    catalog.all()
    assert _modules_of_a_list(root) == "noted sqlite3 False\n"
    (root / "s1" / "about.json").unlink()
    assert _modules_of_a_list(root) == "noted sqlite3 True\n"


def _modules_of_a_list(root: Path) -> str:
    code = (
        "import sys; from pathlib import Path; from holdfast.session.catalog import Catalog\n"
        "(summary,) = Catalog(Path(sys.argv[1])).all()\n"
        "print(summary.cwd.strip('/'), 'sqlite3', 'sqlite3' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, root], check=True, capture_output=True, text=True, timeout=HANGS)
    return done.stdout


def test_numbered_entries_alone_make_a_session_without_a_folder(catalog: Catalog, root: Path) -> None:
    """A journal that lost its first entry still has a line in the list."""
    write(root / "s1", numbered(1))
    summary = catalog.find("s1")
    assert (summary.cwd, summary.model, summary.title[:2]) == ("", "", "1 ")


def test_a_session_that_is_in_use_is_not_moved_to_the_trash(catalog: Catalog, root: Path) -> None:
    session(root, "s1")
    lease = Lease.take(root / "s1")
    try:
        with pytest.raises(SessionBusy):
            catalog.trash("s1")
    finally:
        lease.release()
    assert [summary.id for summary in catalog.all()] == ["s1"]


def test_the_trash_keeps_every_session_of_an_id(catalog: Catalog, root: Path) -> None:
    places: list[Path] = []
    for text in ("one", "two", "three"):
        session(root, "s1", text=text)
        places.append(catalog.trash("s1"))
    assert [place.name for place in places] == ["s1", "s1-2", "s1-3"]
    assert [(place / "session.db").exists() for place in places] == [True, True, True]


def test_both_folders_are_synced_once_a_session_is_in_the_trash(
    catalog: Catalog, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(root, "s1")
    synced: list[tuple[Path, bool]] = []

    def syncs(path: Path) -> None:
        synced.append((path, (root / "s1").exists()))
        sync_path(path)

    monkeypatch.setattr(trash, "sync_path", syncs)
    place = catalog.trash("s1")
    assert {(place.parent, False), (root, False)} <= set(synced)
