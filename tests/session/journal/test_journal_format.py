"""The journal format is a promise to every later version: its encodings, its table and its page of documentation."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from holdfast.questions import AnswerChoice, Question
from holdfast.session.journal.entries import FORMAT, Entry, Part, decode, encode, kind
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.storage.row_codec import checksum
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.testing.store_checks import EXAMPLES
from journal_files import write

GOLDEN = Path(__file__).with_name(f"journal_format_{FORMAT}.txt").read_bytes().splitlines()
PAGE = (Path(__file__).parents[3] / "docs/reference/journal.md").read_text(encoding="utf-8")
KINDS: tuple[type[msgspec.Struct], ...] = get_args(Entry)


OLDER = {
    "approval-asked": ("why", "pattern", "patterns"),
    "approval-answered": ("words", "pattern", "patterns"),
    "call-ended": ("seen", "seen_also"),
    "call-started": ("change", "changes"),
    "compacted": ("said",),
    "request-failed": ("retry_whole",),
}
"""Fields that have other names since then (`tests/session/conversation/test_journals_before_fields.py`)."""
STILL_NAMES = ("why", "patterns", "changes")
"""Of these, the names that something else has today."""
CHANGED = {
    "approval-asked": ("question",),
    "approval-answered": ("reason", "choice", "patterns"),
    "call-ended": ("snapshots",),
    "call-started": ("changes",),
    "compacted": ("user_texts",),
    "request-failed": ("retry_unstreamed",),
}
"""The fields in their place."""


def tag(entry: type[msgspec.Struct]) -> str:
    return str(entry.__struct_config__.tag)


def test_every_kind_has_a_whole_example() -> None:
    assert [kind(example) for example in EXAMPLES] == [tag(entry) for entry in KINDS]
    for example in EXAMPLES:
        written = encode(example).decode()
        names = [field.encode_name for field in msgspec.structs.fields(example)]
        unset = [name for name in names if f'"{name}":' not in written]
        assert unset == [], f"the example of {kind(example)} does not show {unset}"


@pytest.mark.parametrize(("example", "line"), list(zip(EXAMPLES, GOLDEN, strict=True)), ids=[tag(e) for e in KINDS])
def test_an_entry_is_written_as_it_always_was(example: Entry, line: bytes) -> None:
    """Never change a line of the golden file: a new field needs a default, a new meaning a new FORMAT."""
    assert encode(example) == line
    assert decode(line) == example


@pytest.mark.parametrize("number", range(1, FORMAT))
def test_what_an_older_format_wrote_is_read_as_it_was_meant(number: int) -> None:
    lines = Path(__file__).with_name(f"journal_format_{number}.txt").read_bytes().splitlines()
    assert [kind(decode(line)) for line in lines] == [tag(entry) for entry in KINDS][: len(lines)]
    for line, entry in zip(lines, map(decode, lines), strict=True):
        older = OLDER.get(kind(entry), ())
        assert encode(entry) == line or any(f'"{name}":'.encode() in line for name in older)
        assert not any(f'"{name}":'.encode() in encode(entry) for name in older if name not in STILL_NAMES)
    for old, new in zip(lines[1:], GOLDEN[1:], strict=False):  # the first names its format
        fields = msgspec.json.decode(new, type=dict[str, object])
        read = {name: value for name, value in fields.items() if name not in CHANGED.get(str(fields["kind"]), ())}
        older = msgspec.json.decode(old, type=dict[str, object])
        kept = {name: value for name, value in older.items() if name not in OLDER.get(str(fields["kind"]), ())}
        assert read | kept == read  # a later field has a default


def test_a_field_that_is_left_out_means_its_default() -> None:
    assert decode(b'{"kind":"call-ended","call":"c","outcome":"ok","text":""}') == decode(
        b'{"kind":"call-ended","call":"c","outcome":"ok","text":"","seconds":0.0,"a field of a later version":1}'
    )


def test_the_file_is_as_documented(tmp_path: Path) -> None:
    write(tmp_path / "s", *EXAMPLES)
    with closing(sqlite3.connect(tmp_path / "s" / "session.db")) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        tables = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
        columns = connection.execute("PRAGMA table_info(entry)").fetchall()
        rows = connection.execute("SELECT seq, at, kind, body, sum FROM entry ORDER BY seq").fetchall()
    assert version == FORMAT
    assert application.to_bytes(4, "big") == b"hld" + bytes([FORMAT])
    ((_, _, schema),) = tables
    assert re.sub(r"\s+", " ", schema) in re.sub(r"\s+", " ", PAGE)
    assert [(name, declared) for _, name, declared, *_ in columns] == [
        ("seq", "INTEGER"),
        ("at", "REAL"),
        ("kind", "TEXT"),
        ("body", "BLOB"),
        ("sum", "BLOB"),
    ]
    link = b""
    for seq, (row, line) in enumerate(zip(rows, GOLDEN, strict=True), start=1):
        assert row[0] == seq
        assert row[3] == line
        assert row[4] == checksum(link, seq, row[1], row[2], line)
        link = row[4]
    assert [record.entry for record in read_copy(tmp_path / "s").records] == list(EXAMPLES)


def test_the_checksum_is_as_it_always_was() -> None:
    first = checksum(b"", 1, 1.5, "turn-ended", b"{}")
    assert first.hex() == "053a313990db093a1b0fada003ad3576"
    assert checksum(first, 2, 2.5, "turn-ended", b"{}").hex() == "c21c99313cb3e32f01a824aa9ab167d7"


@pytest.mark.parametrize("entry", KINDS, ids=tag)
def test_every_kind_and_field_is_documented(entry: type[msgspec.Struct]) -> None:
    (row,) = re.findall(rf"^\| `{tag(entry)}` \|.*$", PAGE, flags=re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", row))
    assert {field.encode_name for field in msgspec.structs.fields(entry)} <= named


@pytest.mark.parametrize("part", [*get_args(Part), Usage], ids=lambda part: part.__name__)
def test_every_part_is_documented(part: type[msgspec.Struct]) -> None:
    assert {TextPart, ThinkingPart, CallPart} == set(get_args(Part))
    name = "usage" if part is Usage else tag(part)
    (row,) = re.findall(rf"^\| {name} \|.*$", PAGE, flags=re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", row))
    assert [field.name for field in msgspec.structs.fields(part) if field.name not in named] == []


def test_every_field_of_a_question_is_documented() -> None:
    (row,) = re.findall(r"^\| question \|.*$", PAGE, flags=re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", row))
    assert {field.name for each in (Question, AnswerChoice) for field in msgspec.structs.fields(each)} <= named


def test_the_page_is_short() -> None:
    assert len(PAGE.splitlines()) <= 195
