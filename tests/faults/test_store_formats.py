"""Journals that earlier versions left: each is read, is valid for every provider, and goes on as on its day.

Two rules. A folder in `journals` is never changed; a new FORMAT adds its own (`write_formats.py`), and so does the last
code before it. The file `.jsonl` of its name is what it must hold.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from report import record
from store_plans import JOURNALS, listed, marks
from stores import integrity
from test_store_writers import writers

from holdfast.errors import AppendConflict
from holdfast.history.profiles import PROFILES
from holdfast.session.conversation.fold import fold
from holdfast.session.copies import fork_entries
from holdfast.session.journal.entries import FORMAT, Entry, PromptAccepted, SessionOpened
from holdfast.session.request.validate import validate_request
from holdfast.session.storage.database import APPLICATION
from holdfast.session.storage.sqlite_store import SqliteStore, complete_rows, read_copy
from holdfast.session.verify import verify
from holdfast.ui.export.export import FORMS, session_document
from polling import HANGS

FOLDERS = sorted(path.name for path in JOURNALS.iterdir() if path.is_dir())
OLDER = [name for name in FOLDERS if not name.startswith(f"format-{FORMAT}")]


def test_every_format_is_here_as_it_is_left_by_a_clean_end_and_by_a_kill() -> None:
    first = [f"format-{number}-{left}" for number in range(1, FORMAT + 1) for left in ("closed", "killed")]
    last = [f"format-{number}-last-{left}" for number in range(1, FORMAT) for left in ("closed", "killed")]
    assert sorted(first + last) == FOLDERS
    assert len(OLDER) == 4 * (FORMAT - 1)


def a_copy(name: str, folder: Path) -> Path:
    """Return a copy of a journal."""
    return shutil.copytree(JOURNALS / name, folder / name)


def entries(name: str) -> list[Entry]:
    return listed(name.removesuffix("-closed").removesuffix("-killed"))


def number_of(name: str) -> int:
    return int(name.split("-")[1])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def alter(folder: Path, version: int, number: int) -> None:
    """Write other marks into a journal, as damage would."""
    with closing(sqlite3.connect(folder / "session.db", isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version={version}")
        connection.execute(f"PRAGMA application_id={APPLICATION ^ number}")


@pytest.mark.parametrize("name", FOLDERS)
def test_a_journal_of_any_version_is_read_and_goes_on(name: str, tmp_path: Path) -> None:
    journal, held = a_copy(name, tmp_path), entries(name)
    wrong: list[str] = []
    if [each.entry for each in read_copy(journal).records] != held:
        wrong.append("its copy does not hold what was written")
    store = SqliteStore.open(journal)
    reading = store.read()
    if [each.entry for each in reading.records] != held or reading.findings:
        wrong.append("it does not hold what was written")
    more = PromptAccepted(turn=4, text="Go on.")
    store.append([more], expected=len(held))
    store.close()
    if [each.entry for each in read_copy(journal).records] != [*held, more] or integrity(journal) != "ok":
        wrong.append("it did not go on")
    conversation = fold([*held, more])
    wrong += [
        f"{name}: {violation}"
        for name, profile in PROFILES.items()
        for violation in validate_request(conversation, profile).violations
    ]
    record(name, "loaded and continued", points=2 + len(PROFILES), violations=wrong)
    assert wrong == []


@pytest.mark.parametrize("name", FOLDERS)
def test_who_only_reads_changes_nothing(name: str, tmp_path: Path) -> None:
    journal = a_copy(name, tmp_path)
    before = contents(journal)
    assert [each.entry for each in read_copy(journal).records] == entries(name)
    assert len(complete_rows(journal)) == len(entries(name))
    assert verify(name, read_copy(journal), PROFILES["anthropic"]).entries == len(entries(name))
    for form in FORMS:
        document, findings = session_document(journal, form)
        assert document
        assert findings == ()
    assert contents(journal) == before


@pytest.mark.parametrize("name", OLDER)
def test_a_journal_is_raised_by_its_first_append_and_by_nothing_before(name: str, tmp_path: Path) -> None:
    journal, old = a_copy(name, tmp_path), (number_of(name),) * 2
    store = SqliteStore.open(journal)
    length = store.length
    store.read()
    assert store.append([], expected=length) == length
    with pytest.raises(AppendConflict):
        store.append([PromptAccepted(turn=9, text="no")], expected=length + 1)
    assert marks(journal) == old, "nothing was appended"
    store.close()
    assert marks(journal) == old, "opening and closing appends nothing"
    store = SqliteStore.open(journal)
    store.append([PromptAccepted(turn=9, text="yes")], expected=length)
    assert marks(journal) == (FORMAT, FORMAT), "as a kill would leave it now"
    store.append([PromptAccepted(turn=10, text="and again")], expected=length + 1)
    store.close()
    assert marks(journal) == (FORMAT, FORMAT)


@pytest.mark.parametrize("bit", range(32))
@pytest.mark.parametrize("mark", ["version", "application"])
@pytest.mark.parametrize("name", [name for name in FOLDERS if name.endswith("closed") and "last" not in name])
def test_one_flipped_bit_of_a_mark_locks_no_session_out(name: str, mark: str, bit: int, tmp_path: Path) -> None:
    journal, number = a_copy(name, tmp_path), number_of(name)
    flip = 1 << bit if bit < 31 else -(1 << 31)
    version, other = (number ^ flip, number) if mark == "version" else (number, number ^ flip)
    alter(journal, version, other)
    assert [each.entry for each in read_copy(journal).records] == entries(name)
    store = SqliteStore.open(journal)
    reading = store.read()
    assert [each.entry for each in reading.records] == entries(name)
    assert ["format marks" in finding.what for finding in reading.findings] == [True]
    store.close()
    expected = max(each for each in (version, other) if 1 <= each <= FORMAT)
    assert marks(journal) == (expected, expected), "a salvage raises no format, and lowers none"
    store = SqliteStore.open(journal)
    store.append([PromptAccepted(turn=9, text="yes")], expected=store.length)
    store.close()
    assert marks(journal) == (FORMAT, FORMAT)
    assert read_copy(journal).findings == ()


@pytest.mark.parametrize(("version", "number"), [(1, 2), (2, 1)])
@pytest.mark.parametrize("name", [name for name in FOLDERS if name.endswith("closed")])
def test_a_salvage_keeps_the_higher_of_two_marks(name: str, version: int, number: int, tmp_path: Path) -> None:
    journal = a_copy(name, tmp_path)
    alter(journal, version, number)
    store = SqliteStore.open(journal)
    assert [each.entry for each in store.read().records] == entries(name)
    store.close()
    assert marks(journal) == (2, 2)


@pytest.mark.parametrize(("version", "number"), [(1, 2), (2, 1), (0, 2), (2, 0), (0, 0)])
@pytest.mark.parametrize("name", FOLDERS)
def test_a_journal_with_half_its_marks_is_salvaged_whole(name: str, version: int, number: int, tmp_path: Path) -> None:
    journal = a_copy(name, tmp_path)
    alter(journal, version, number)
    assert [each.entry for each in read_copy(journal).records] == entries(name)
    store = SqliteStore.open(journal)
    store.append([PromptAccepted(turn=9, text="yes")], expected=len(entries(name)))
    assert [each.entry for each in store.read().records][:-1] == entries(name)
    store.close()
    assert marks(journal) == (FORMAT, FORMAT)


@pytest.mark.parametrize("name", OLDER)
def test_a_fork_of_an_older_journal_is_of_this_format_and_leaves_the_original(name: str, tmp_path: Path) -> None:
    journal = a_copy(name, tmp_path)
    before = contents(journal)
    store = SqliteStore.create(tmp_path / "fork")
    store.append(fork_entries(read_copy(journal), "fork"), expected=0)
    store.close()
    first, *others = [each.entry for each in read_copy(tmp_path / "fork").records]
    assert isinstance(first, SessionOpened)
    assert (first.format, first.session) == (FORMAT, "fork")
    assert others == entries(name)[1:]
    assert marks(tmp_path / "fork") == (FORMAT, FORMAT)
    assert contents(journal) == before


@pytest.mark.parametrize("name", [name for name in OLDER if "last" in name])
def test_several_writers_of_an_older_journal_take_turns_and_raise_it_once(name: str, tmp_path: Path) -> None:
    journal, count = a_copy(name, tmp_path), 4
    with writers("share", journal, 3, count) as running:
        for process in running:
            process.communicate(timeout=HANGS)
            assert process.returncode == 0
    found = [each.entry for each in read_copy(journal).records]
    assert found[: len(entries(name))] == entries(name)
    assert len(found) == len(entries(name)) + 3 * count
    assert marks(journal) == (FORMAT, FORMAT)
    assert read_copy(journal).findings == ()
