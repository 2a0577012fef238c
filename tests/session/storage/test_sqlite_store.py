"""The durable store: its files, its settings, its errors, and a disk that is full."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import subprocess
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.errors import AppendConflict, SessionUnknown, StateError, StorageFailed
from holdfast.session.journal.entries import FORMAT
from holdfast.session.storage.blobs import BLOB_LIMIT
from holdfast.session.storage.database import APPLICATION
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from journal_files import fill, numbered, program, write
from polling import HANGS
from skips import leave_out


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def alter(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "session.db", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def setting(store: SqliteStore, name: str) -> object:
    connection = store._connection  # pyright: ignore[reportPrivateUsage] - a setting is the connection's alone
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def test_everything_is_private_to_the_user(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        store = SqliteStore.create(tmp_path / "sessions" / "s")
        fill(store, 50)
    finally:
        os.umask(previous)
    folder = tmp_path / "sessions" / "s"
    assert mode(folder) == 0o700
    assert mode(folder / "blobs") == 0o700
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} > {"lock", "session.db", "session.db-wal"}
    assert {mode(path) for path in files} == {0o600}
    store.close()
    assert not (folder / "session.db-wal").exists()


def test_the_settings_are_the_durable_ones(tmp_path: Path) -> None:
    store = SqliteStore.create(tmp_path / "s")
    assert setting(store, "locking_mode") == "exclusive"
    assert setting(store, "journal_mode") == "wal"
    assert setting(store, "synchronous") == 2
    assert setting(store, "wal_autocheckpoint") == 200
    assert not (tmp_path / "s" / "session.db-shm").exists()
    store.close()


def test_the_time_of_an_entry_is_the_clocks(tmp_path: Path) -> None:
    store = SqliteStore.create(tmp_path / "s", now=lambda: 1234.5)
    fill(store, 2)
    assert [record.at for record in store.read().records] == [1234.5, 1234.5]
    store.close()


def test_a_session_is_created_once(tmp_path: Path) -> None:
    SqliteStore.create(tmp_path / "s").close()
    with pytest.raises(StateError, match=r"Session 's' already exists"):
        SqliteStore.create(tmp_path / "s")
    SqliteStore.open(tmp_path / "s").close()  # the refusal kept no lease


def test_a_folder_may_be_named_by_a_text(tmp_path: Path) -> None:
    SqliteStore.create(f"{tmp_path}/s").close()
    with closing(SqliteStore.open(f"{tmp_path}/s")) as store:
        assert store.length == 0
    assert read_copy(f"{tmp_path}/s").records == ()


def test_an_empty_folder_may_become_a_session(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "session.db.tmp").write_text("left by a process that was killed while creating")
    SqliteStore.create(tmp_path / "s").close()
    assert read_copy(tmp_path / "s").records == ()


@pytest.mark.parametrize("there", [True, False])
def test_what_is_no_session_is_unknown(tmp_path: Path, *, there: bool) -> None:
    folder = tmp_path / "s"
    if there:
        folder.mkdir()
    for opened in (SqliteStore.open, read_copy):
        with pytest.raises(SessionUnknown, match=r"'s' has no session\.db"):
            opened(folder)
    assert folder.exists() == there
    assert not there or list(folder.iterdir()) == []


def test_the_length_is_that_of_the_file(tmp_path: Path) -> None:
    store = SqliteStore.create(tmp_path / "s")
    fill(store, 2)
    store._connection.execute("DELETE FROM entry WHERE seq = 2")  # pyright: ignore[reportPrivateUsage] - a writer beside it
    with pytest.raises(AppendConflict) as conflict:
        store.append([numbered(3)], expected=2)
    assert (conflict.value.expected, conflict.value.found) == (2, 1)
    store.close()


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = SqliteStore.create(tmp_path / "s")
    store.close()
    for use in (store.read, lambda: store.length):
        with pytest.raises(StateError, match="is closed"):
            use()


def test_a_large_body_is_a_file_and_the_same_body_the_same_file(tmp_path: Path) -> None:
    store = SqliteStore.create(tmp_path / "s")
    large = numbered(50)
    store.append([large, numbered(1), large], expected=0)
    assert [record.entry for record in store.read().records] == [large, numbered(1), large]
    (blob,) = (tmp_path / "s" / "blobs").iterdir()
    assert blob.stat().st_size > BLOB_LIMIT
    blob.write_bytes(b"altered")
    store.append([large], expected=3)  # an altered file is not reused
    assert store.read().findings == ()
    store.close()
    assert (tmp_path / "s" / "session.db").stat().st_size < 3 * 4096


def test_a_newer_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    write(folder, numbered(1))
    alter(folder, f"PRAGMA user_version={FORMAT + 1}", f"PRAGMA application_id={APPLICATION | FORMAT + 1}")
    before = (folder / "session.db").read_bytes()
    for opened in (SqliteStore.open, read_copy):
        with pytest.raises(
            StateError, match=rf"{re.escape(str(folder))}.*newer holdfast \(format {FORMAT + 1}.*Upgrade"
        ):
            opened(folder)
    assert (folder / "session.db").read_bytes() == before
    assert {path.name for path in folder.iterdir()} == {"lock", "blobs", "session.db"}


def test_one_flipped_format_mark_is_damage_not_a_newer_format(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    write(folder, numbered(1))
    alter(folder, f"PRAGMA user_version={FORMAT | 64}")
    store = SqliteStore.open(folder)
    reading = store.read()
    assert [record.entry for record in reading.records] == [numbered(1)]
    assert "format marks" in reading.findings[0].what
    store.close()
    assert read_copy(folder).findings == ()


def test_a_database_that_another_program_holds_is_a_storage_failure(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    write(folder, numbered(1))
    with closing(sqlite3.connect(folder / "session.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageFailed, match=r"session\.db' cannot be used: database is locked"):
            SqliteStore.open(folder)
    SqliteStore.open(folder).close()


def test_a_blob_that_cannot_be_written_fails_the_append_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    store = SqliteStore.create(folder)
    fill(store, 2)
    (folder / "blobs").rmdir()
    (folder / "blobs").write_text("a file where the folder should be")
    with pytest.raises(StorageFailed, match="Everything appended before is safe"):
        store.append([numbered(3), numbered(50)], expected=2)
    (folder / "blobs").unlink()
    fill(store, 1)
    assert [record.entry for record in store.read().records] == [numbered(1), numbered(2), numbered(3)]
    store.append([numbered(50)], expected=3)  # and the folder is made again
    assert store.read().findings == ()
    store.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", disk], check=False, capture_output=True
    )
    if mounted.returncode:
        leave_out("small disk", mounted.stderr.decode().strip())
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


def fill_up(disk: Path) -> None:
    with (disk / "filler").open("ab", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return


def test_a_full_disk_is_said_plainly_and_the_same_store_goes_on_when_space_returns(small_disk: Path) -> None:
    folder = small_disk / "s"
    store = SqliteStore.create(folder)
    fill(store, 5)
    fill_up(small_disk)
    with pytest.raises(StorageFailed, match=r"the disk is full.*Free some space.*appended before is safe"):
        fill(store, 400)
    length = store.length
    assert [record.entry for record in store.read().records] == [numbered(seq) for seq in range(1, length + 1)]
    with pytest.raises(StorageFailed, match="the disk is full"):
        store.append([numbered(50)], expected=length)  # a blob
    (small_disk / "filler").unlink()
    fill(store, 3)
    assert [record.entry for record in store.read().records] == [numbered(seq) for seq in range(1, length + 4)]
    store.close()


@pytest.mark.parametrize("closed", [True, False])
def test_a_journal_can_be_opened_and_read_on_a_full_disk(small_disk: Path, *, closed: bool) -> None:
    folder = small_disk / "s"
    if closed:
        write(folder, *(numbered(seq) for seq in range(1, 11)))
    else:
        with program(_LEFT_OPEN, str(folder)) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "10\n"
            process.kill()
    fill_up(small_disk)
    store = SqliteStore.open(folder)
    assert [record.entry for record in store.read().records] == [numbered(seq) for seq in range(1, 11)]
    store.close()
    assert len(read_copy(folder).records) == 10
    (small_disk / "filler").unlink()
    store = SqliteStore.open(folder)
    fill(store, 1)
    store.close()


_LEFT_OPEN = """
import sys
from pathlib import Path
from journal_files import SqliteStore, fill
store = SqliteStore.create(Path(sys.argv[1]))
fill(store, 10)
print(store.length, flush=True)
sys.stdin.read()
"""

_LIMITED = """
import json, resource, sys
from pathlib import Path
from holdfast.errors import StorageFailed
from journal_files import SqliteStore, fill
store = SqliteStore.create(Path(sys.argv[1]))
fill(store, 3)
limit = (Path(sys.argv[1]) / "session.db-wal").stat().st_size + 6000
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
said = ""
try:
    fill(store, 100)
except StorageFailed as error:
    said = str(error)
stopped = store.length
readable = len(store.read().records)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
fill(store, 2)
findings = len(store.read().findings)
store.close()
print(json.dumps([said, stopped, readable, findings]))
"""


def test_a_write_the_system_refuses_is_rolled_back_and_the_store_stays_usable(tmp_path: Path) -> None:
    with program(_LIMITED, str(tmp_path / "s")) as process:
        error, stopped, readable, findings = json.loads(process.communicate(timeout=HANGS)[0])
    assert "session.db" in error
    assert "appended before is safe" in error
    assert 3 <= stopped < 100
    assert readable == stopped
    assert findings == 0
    reading = read_copy(tmp_path / "s")
    assert [record.entry for record in reading.records] == [numbered(seq) for seq in range(1, stopped + 3)]
