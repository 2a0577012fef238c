"""A damaged inbox: it is set aside, what can be read is kept, and the server goes on."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.errors import StorageFailed
from holdfast.ui.service.local.inbox_file import LARGEST_INBOX, InboxFile

ROWS = 400

FORMAT_1 = """
CREATE TABLE inbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, session TEXT NOT NULL, kind TEXT NOT NULL,
  body TEXT NOT NULL, key TEXT, sender TEXT NOT NULL, at REAL NOT NULL, seq INTEGER, done REAL,
  refused TEXT NOT NULL DEFAULT '', UNIQUE (session, key));
CREATE INDEX waiting ON inbox (session, id) WHERE done IS NULL;
CREATE TABLE driven (session TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO inbox (name, session, kind, body, key, sender, at) VALUES
  ('n1', 's', 'prompt', '{"text":"x"}', 'k', 'a', 1), ('n2', 's', 'prompt', '{"text":"y"}', NULL, 'a', 1);
INSERT INTO driven VALUES ('s');
PRAGMA user_version=1;
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of an inbox with many rows, of which each third is done."""
    path = tmp_path / "service" / "inbox.db"
    inbox = InboxFile(path)
    for number in range(1, ROWS + 1):
        row = inbox.add("s", "prompt", {"text": f"{number} {'x' * 100}"}, key=f"k{number}", sender="me")
        if number % 3 == 0:
            inbox.done(row.id, seq=number)
    inbox.drive("s")
    inbox.close()
    return path


def kept(inbox: InboxFile) -> list[int]:
    return [each.id for each in inbox.rows("s", limit=ROWS)]


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, LARGEST_INBOX + 1)


@pytest.mark.parametrize(
    ("put", "why"),
    [
        (os.mkfifo, "it is a named pipe, not a regular file"),
        (Path.mkdir, "it is a folder, not a regular file"),
        (_device, "it is a device, not a regular file"),
        (_loop, "Too many levels of symbolic links"),
        (_huge, "it is larger than 4,294,967,296 bytes"),
    ],
)
def test_what_is_no_file_of_an_inbox_is_named_and_not_blamed_on_the_disk(
    tmp_path: Path, put: Callable[[Path], object], why: str
) -> None:
    path = tmp_path / "inbox.db"
    put(path)
    with pytest.raises(StorageFailed) as failed:
        InboxFile(path)
    assert str(failed.value) == f"Inbox {str(path)!r} cannot be used: {why}. Move it away; a new one will be made."
    path.rmdir() if path.is_dir() else path.unlink()
    InboxFile(path).close()


def test_a_file_that_is_no_database_is_set_aside(path: Path) -> None:
    path.write_bytes(b"not a database, but long enough to be one" * 100)
    said: list[str] = []
    inbox = InboxFile(path, notify=said.append)
    assert kept(inbox) == []
    assert inbox.add("s", "prompt", {"text": "new"}, key="", sender="me").new
    (aside,) = path.parent.glob("inbox.db.damaged-*")
    assert aside.read_bytes().startswith(b"not a database")
    assert [aside.name in each and "0 messages" in each for each in said] == [True]
    inbox.close()
    again = InboxFile(path, notify=said.append)
    assert len(again.rows("s")) == 1
    assert len(said) == 1
    again.close()


@pytest.mark.parametrize("page", range(2, 12))
def test_a_damaged_page_costs_at_most_its_rows(path: Path, page: int) -> None:
    data = bytearray(path.read_bytes())
    data[page * 4096 : page * 4096 + 4096] = b"\xa5" * 4096
    path.write_bytes(data)
    said: list[str] = []
    inbox = InboxFile(path, notify=said.append)
    rows = inbox.rows("s", limit=ROWS)
    assert len(said) == 1
    assert len(rows) > ROWS * 3 // 4
    assert all((each.done is not None) == (each.id % 3 == 0) for each in rows)
    last = max(each.id for each in rows)
    known = inbox.add("s", "prompt", {"text": "again"}, key=f"k{last}", sender="me")
    assert (known.new, known.id) == (False, last)
    inbox.close()


def test_a_file_that_is_damaged_while_the_server_runs(tmp_path: Path) -> None:
    path = tmp_path / "service" / "inbox.db"
    inbox = InboxFile(path)
    for number in range(ROWS):  # more than SQLite keeps in memory
        inbox.add("s", "prompt", {"text": "x" * 12_000}, key=f"k{number}", sender="me")
    inbox.close()
    said: list[str] = []
    inbox = InboxFile(path, notify=said.append)
    with path.open("r+b") as file:
        for page in range(100, 140):
            file.seek(page * 4096)
            file.write(b"\xa5" * 4096)
    rows = kept(inbox)
    assert len(said) == 1
    assert ROWS // 2 < len(rows) < ROWS
    assert inbox.add("s", "prompt", {"text": "new"}, key="new", sender="me").new
    inbox.close()
    again = InboxFile(path, notify=pytest.fail)
    assert not again.add("s", "prompt", {"text": "new"}, key="new", sender="me").new
    assert kept(again)[: len(rows)] == rows
    again.close()


def test_a_damaged_row_is_refused_and_the_others_go_on(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("UPDATE inbox SET body = '{\"text' WHERE id = 1")
        database.execute("UPDATE inbox SET kind = 'nonsense' WHERE id = 2")
    database.close()
    said: list[str] = []
    inbox = InboxFile(path, notify=said.append)
    assert next(each.row.id for each in inbox.waiting("s")) == 4
    assert ["Message 1" in said[0], "Message 2" in said[1]] == [True, True]
    inbox.waiting("s")
    assert len(said) == 2
    inbox.close()


def test_a_key_of_another_sender_or_kind_is_another_key(tmp_path: Path) -> None:
    inbox = InboxFile(tmp_path / "service" / "inbox.db")
    first = inbox.add("s", "prompt", {"text": "a"}, key="1", sender="a")
    assert inbox.add("s", "stop", {}, key="1", sender="a").kind == "stop"
    assert inbox.add("s", "prompt", {"text": "b"}, key="1", sender="b").body == {"text": "b"}
    assert inbox.add("t", "prompt", {"text": "c"}, key="1", sender="a").body == {"text": "c"}
    assert not inbox.add("s", "prompt", {"text": "d"}, key="1", sender="a").new
    assert first.id == 1
    inbox.close()


def test_an_inbox_of_the_format_before_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "service" / "inbox.db"
    path.parent.mkdir(0o700)
    database = sqlite3.connect(path)
    database.executescript(FORMAT_1)
    database.close()
    for _ in range(2):
        inbox = InboxFile(path, notify=pytest.fail)
        assert [(each.id, each.key) for each in inbox.rows("s")][:2] == [(1, "k"), (2, "")]
        assert [each.name for each in inbox.waiting("s")][:2] == ["n1", "n2"]
        assert inbox.driven() == ("s",)
        assert inbox.add("s", "prompt", {"text": "z"}, key="k", sender="a").id == 1
        assert inbox.add("s", "stop", {}, key="k", sender="b").kind == "stop"
        inbox.close()
