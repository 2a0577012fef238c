"""The index of letters: it never hides a session, and saves opening the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.session import session_search
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.session.session_search import search_sessions
from holdfast.session.word_index import WordIndex, bits_of, row_of
from journal_files import program, write
from laws import law

OLD = 1_700_000_000
STAMP = ((1, 2),)


def session(root: Path, name: str, text: str, *, at: int = OLD) -> None:
    opened = (
        []
        if (root / name).exists()
        else [SessionOpened(session=name, cwd="/w", model="m:m", system="", tools=(), version="0")]
    )
    write(root / name, *opened, PromptAccepted(turn=1, text=text))
    os.utime(root / name / "session.db", (at, at))


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    root = tmp_path / "sessions"
    for name, text in {"a": "Würfel und Straße", "b": "a flaky lease", "c": "the lease of a flat"}.items():
        session(root, name, text)
    return Catalog(root)


def found(catalog: Catalog, words: str) -> list[str]:
    return sorted(each.summary.id for each in search_sessions(catalog, words, catalog.all()))


def opened(catalog: Catalog, words: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the sessions whose words a search reads."""
    read: list[str] = []
    real = session_search.read_words

    def counted(folder: Path) -> tuple[str, bool]:
        read.append(folder.name)
        return real(folder)

    with monkeypatch.context() as patch:
        patch.setattr(session_search, "read_words", counted)
        found(catalog, words)
    return sorted(read)


def test_a_second_search_opens_only_what_may_have_the_words(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    assert opened(catalog, "lease", monkeypatch) == ["a", "b", "c"]
    assert opened(catalog, "lease", monkeypatch) == ["b", "c"]
    assert opened(catalog, "flaky lease", monkeypatch) == ["b"]
    assert opened(catalog, "STRASSE", monkeypatch) == ["a"]
    assert opened(catalog, "nowhere", monkeypatch) == []
    assert opened(catalog, "m:m flaky", monkeypatch) == ["b"]  # one word is in its model, the other one in the text
    session(catalog.folder("a").parent, "a", "and a flaky lease", at=OLD + 5)
    assert opened(catalog, "flaky", monkeypatch) == ["a", "b"]
    assert found(catalog, "flaky") == ["a", "b"]


def test_a_short_word_is_looked_for_everywhere(catalog: Catalog) -> None:
    for _ in range(2):
        assert found(catalog, "ü") == ["a"]
        assert found(catalog, "fl") == ["b", "c"]


def test_the_index_has_no_words(catalog: Catalog) -> None:
    found(catalog, "lease")
    index = catalog.word_index.read_bytes()
    assert b"a" in index
    assert not any(word in index for word in (b"lease", b"flaky", b"flat"))


def damages(whole: bytes) -> dict[str, bytes]:
    middle = len(whole) // 2
    return {
        "empty": b"",
        "half": whole[:middle],
        "a record without its end": whole[:-3],
        "a flipped bit": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "rows of zeros": whole[:20] + bytes(len(whole) - 20),
        "another file": b"hello" * 100,
        "something behind": whole + b"\0" * 7,
    }


@pytest.mark.parametrize("how", damages(bytes(50)))
def test_a_damaged_index_costs_time_only(catalog: Catalog, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(catalog, "lease") == ["b", "c"]
    whole = catalog.word_index.read_bytes()
    catalog.word_index.write_bytes(damages(whole)[how])
    assert found(catalog, "lease") == ["b", "c"]
    assert found(catalog, "würfel") == ["a"]
    assert opened(catalog, "lease", monkeypatch) == ["b", "c"]


def test_every_bit_that_is_lost_from_the_index_is_noticed(catalog: Catalog) -> None:
    found(catalog, "lease")
    whole = catalog.word_index.read_bytes()
    for at in range(len(whole)):
        catalog.word_index.write_bytes(whole[:at] + b"\0" + whole[at + 1 :])
        index = WordIndex(catalog.word_index)
        assert all(index.may_have(name, _stamp(catalog, name), bits_of(["lease"])) for name in ("b", "c"))


def _stamp(catalog: Catalog, name: str) -> tuple[tuple[int, int], ...]:
    status = (catalog.folder(name) / "session.db").stat()
    return ((status.st_mtime_ns, status.st_size),)


def test_what_is_out_of_date_is_dropped_when_it_is_half_of_the_file(catalog: Catalog) -> None:
    root = catalog.folder("a").parent
    sizes: list[int] = []
    for number in range(12):
        session(root, "a", f"turn number {number}", at=OLD + number)
        assert found(catalog, f"number {number}") == ["a"]
        sizes.append(catalog.word_index.stat().st_size)
    assert max(sizes) < 3 * sizes[0]
    catalog.trash("b")
    session(root, "a", "last", at=OLD + 50)
    session(root, "c", "last", at=OLD + 50)
    assert found(catalog, "lease") == ["c"]


def test_a_session_that_cannot_be_read_is_not_taken_for_one_without_words(catalog: Catalog) -> None:
    session(catalog.folder("b").parent, "b", "the second prompt is in no title")
    database = catalog.folder("b") / "session.db"
    whole = database.read_bytes()
    for damaged in (bytes(len(whole)), whole.replace(b"second", b"secund")):
        database.write_bytes(damaged)
        os.utime(database, (OLD, OLD))
        assert found(catalog, "second") == []
        database.write_bytes(whole)
        os.utime(database, (OLD, OLD))
        assert found(catalog, "second") == ["b"]
        (catalog.folder("b") / "words.txt").unlink()
        catalog.word_index.unlink()


_SEARCHER = """
import sys
from pathlib import Path
from holdfast.session.catalog import Catalog
from holdfast.session.session_search import search_sessions
catalog = Catalog(Path(sys.argv[1]))
print("ready", flush=True)
while True:
    list(search_sessions(catalog, "lease", catalog.all()))
    catalog.word_index.unlink(missing_ok=True)
"""


def test_two_processes_search_and_one_is_killed_while_it_writes(catalog: Catalog) -> None:
    for _ in range(6):
        with program(_SEARCHER, str(catalog.folder("a").parent)) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "ready\n"
            for _ in range(5):
                assert found(catalog, "lease") == ["b", "c"]
            other.kill()
        assert found(catalog, "lease") == ["b", "c"]


@law()
@given(text=st.text(max_size=200), words=st.lists(st.text(min_size=1, max_size=6), max_size=3), data=st.data())
def test_no_text_is_without_the_bits_of_its_words(text: str, words: list[str], data: st.DataObject) -> None:
    """Law: whatever is a part of a text has its bits in the text's row."""
    folded = " ".join([text, *words]).casefold()
    begin = data.draw(st.integers(0, len(folded)))
    part = folded[begin : data.draw(st.integers(begin, len(folded)))]
    row = row_of(folded)
    mask = len(row) * 8 - 1
    assert all(row[(bit & mask) >> 3] >> (bit & 7) & 1 for bit in bits_of([part]))  # may be empty: one letter
    assert row  # always has some bytes
