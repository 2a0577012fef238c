"""The search over sessions: what is found, and a cache that is never truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import (
    CallEnded,
    Entry,
    PromptAccepted,
    ResponseEnded,
    Rewound,
    SessionOpened,
    ShellStarted,
    Titled,
)
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.session.session_search import WORDS_FILE, search_sessions, session_words
from holdfast.session.storage.sqlite_store import SqliteStore
from journal_files import write

SAID: tuple[Entry, ...] = (
    PromptAccepted(turn=1, text="Why is the Würfel\nnot round?"),
    ResponseEnded(
        step=1,
        model="m",
        parts=(TextPart("It has edges."), CallPart(id="a", name="bash", arguments='{"command": "ls geometrie"}')),
        usage=Usage(),
    ),
    CallEnded(call="a", outcome="ok", text="secret-output"),
    ShellStarted(id="s", command="make shapes", shared=False),
    Titled(title="A question about dice"),
    Rewound(turn=1),
)


def opened(name: str, cwd: str = "/w") -> SessionOpened:
    return SessionOpened(session=name, cwd=cwd, model="openai:m", system="", tools=(), version="0")


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    root = tmp_path / "sessions"
    write(root / "s1", opened("s1"), *SAID)
    write(root / "s2", opened("s2", "/elsewhere"), PromptAccepted(turn=1, text="A pipe and a würfel"))
    return Catalog(root)


def found(catalog: Catalog, words: str) -> list[str]:
    return sorted(each.summary.id for each in search_sessions(catalog, words, catalog.all()))


@pytest.mark.parametrize(
    ("words", "sessions"),
    [
        ("WÜRFEL", ["s1", "s2"]),
        ("würfel round", ["s1"]),  # words of several lines and any case
        ("edges geometrie", ["s1"]),  # an answer and a call
        ("make sha", ["s1"]),  # a command of the user's own, and a part of a word
        ("dice", ["s1"]),
        ("elsewhere pipe", ["s2"]),  # its folder counts too
        ("secret-output", []),  # outputs of tools do not
        ("nothing", []),
        ("  ", []),
    ],
)
def test_what_was_said_is_found(catalog: Catalog, words: str, sessions: list[str]) -> None:
    assert found(catalog, words) == sessions
    assert found(catalog, words) == sessions  # the same with the caches that the first search made


def test_the_excerpt_is_the_line_with_most_of_the_words(catalog: Catalog) -> None:
    (one,) = search_sessions(catalog, "round not", catalog.all())
    assert one.excerpt == "Why is the Würfel not round?"


def test_a_cache_of_another_state_is_made_again(catalog: Catalog) -> None:
    folder = catalog.folder("s2")
    assert found(catalog, "later") == []
    store = SqliteStore.open(folder)
    store.append([PromptAccepted(turn=2, text="and later more")], expected=store.length)
    store.close()
    assert found(catalog, "later") == ["s2"]


@pytest.mark.parametrize("left", [b"", b"nonsense", b"\xff\xfe", b'{"id":"other","stamp":[]}\nlater'])
def test_a_broken_cache_is_made_again(catalog: Catalog, left: bytes) -> None:
    folder = catalog.folder("s2")
    (folder / WORDS_FILE).write_bytes(left)
    assert found(catalog, "pipe") == ["s2"]
    assert found(catalog, "later") == []
    assert b"pipe" in (folder / WORDS_FILE).read_bytes()


def test_a_cache_of_which_a_part_is_lost_is_made_again(catalog: Catalog) -> None:
    assert found(catalog, "pipe würfel") == ["s2"]
    cache = catalog.folder("s2") / WORDS_FILE
    cache.write_bytes(cache.read_bytes()[:-3])
    assert found(catalog, "pipe würfel") == ["s2"]


def test_a_damaged_session_does_not_end_the_search(catalog: Catalog) -> None:
    (catalog.folder("s2") / "session.db").write_bytes(b"no database")
    assert found(catalog, "würfel") == ["s1"]


def test_the_words_leave_with_the_session(catalog: Catalog) -> None:
    assert session_words(catalog.folder("s2"))
    moved = catalog.trash("s2")
    assert found(catalog, "pipe") == []
    assert (moved / WORDS_FILE).exists()
    assert catalog.restore("s2").id == "s2"
    assert found(catalog, "pipe") == ["s2"]
