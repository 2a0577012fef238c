"""Many sessions and a large one: what a list, a search and a request of the page cost, with and without the indexes."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from holdfast.fleet.record import FleetSession
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.session.journal.entries import CallEnded, Entry, PromptAccepted, ResponseEnded, SessionOpened
from holdfast.session.journal.parts import TextPart, Usage
from holdfast.session.session_index import index_path
from holdfast.session.session_search import search_sessions, session_words
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.system.durable_files import ABOUT, BLOBS, DATABASE
from holdfast.ui.service.local.session_table import SessionTable
from pairs import AtMost, Comparison, paired

KINDS = 40
"""Different sessions; the others are copies of them, each with its own id and time."""

FEW = 100
"""Sessions with which a request of the page is compared, more than it looks at."""

_ONE_WORD = "word007003 number007"
_SECOND = 1_000_000_000
_OLDEST = 1_700_000_000


def make_sessions(home: Path, count: int, *, cwd: Path) -> list[str]:
    """Make `count` sessions in `home` without their caches, and return their ids, the oldest first."""
    root, models = home / "sessions", home / "models-of-sessions"
    kinds = [_kind(models / f"kind-{number}", number, cwd) for number in range(min(KINDS, count))]
    root.mkdir(mode=0o700, exist_ok=True)
    ids: list[str] = []
    for number in range(count):
        session = session_name(number)
        folder = root / session
        (folder / BLOBS).mkdir(parents=True)
        (folder / DATABASE).write_bytes(kinds[number % len(kinds)])
        at = (_OLDEST + number) * _SECOND
        os.utime(folder / DATABASE, ns=(at, at))
        ids.append(session)
    shutil.rmtree(models)
    return ids


def session_name(number: int) -> str:
    """Return the id of the session with this number."""
    minute, letters = divmod(number, 10)
    day, minute = divmod(minute, 24 * 60)
    month, day = divmod(day, 28)
    hour, minute = divmod(minute, 60)
    return f"2023{month + 1:02}{day + 1:02}-{hour:02}{minute:02}-s{letters:03}"


def _kind(folder: Path, number: int, cwd: Path) -> bytes:
    """Return the database of a session with one turn."""
    opened = SessionOpened(session=folder.name, cwd=str(cwd), model="openai-chat:m", system="", tools=(), version="0")
    prompt = PromptAccepted(turn=1, text=f"What does module number{number:03} do?")
    answer = " ".join(f"word{number:03}{each:03} explains the module" for each in range(60))
    ended = ResponseEnded(step=1, model="openai-chat:m", parts=(TextPart(text=answer),), usage=Usage(), finish="end")
    entries: list[Entry] = [opened, prompt, ended]
    store = SqliteStore.create(folder)
    store.append(entries, expected=0)
    store.close()
    return (folder / DATABASE).read_bytes()


def listing(scratch: Path, *, sessions: int, large: int, rounds: int) -> list[Comparison]:
    """Compare a list and a search with the same without their index, in this process and in CPU time.

    And a request of the page among so many with one among few, and a list of `large` bytes with reading them.
    """
    home, few = scratch / "many", scratch / "few"
    for place, count in ((home, sessions), (few, min(FEW, sessions))):
        place.mkdir()
        make_sessions(place, count, cwd=scratch)
    many = Catalog(home / "sessions")
    root = home / "sessions"
    summaries = many.all()

    def search() -> None:
        assert list(search_sessions(many, _ONE_WORD, summaries)) or sessions < KINDS

    def without(index: Path, then: Callable[[], object]) -> float:
        index.unlink(missing_ok=True)
        return _cpu(then)

    search()
    listed = paired(lambda: _cpu(many.all), lambda: without(index_path(root), many.all), rounds=rounds)
    found = paired(
        lambda: _cpu(search), lambda: _cpu(lambda: _search_all(many, summaries, _ONE_WORD.split())), rounds=rounds
    )
    tables = [SessionTable(each, _described, live=lambda _: None) for each in (many, Catalog(few / "sessions"))]
    for table in tables:
        _ask(table)
    asked = paired(lambda: _cpu(lambda: _ask(tables[0])), lambda: _cpu(lambda: _ask(tables[1])), rounds=rounds)
    for table in tables:
        table.close()
    big = _large(scratch / "sessions" / "large", large)

    def list_large() -> None:
        (big / ABOUT).unlink(missing_ok=True)
        assert Catalog(big.parent).find(big.name).title == "The large one"

    read = paired(lambda: _cpu(list_large), lambda: _cpu(lambda: read_copy(big)), rounds=rounds)
    rows = (
        (f"list of {sessions:,} sessions", "the same without the index", listed, 0.5),
        (f"search in {sessions:,} sessions", "reading the words of all", found, 0.7),
        (f"request of the page, {sessions:,} sessions", f"with {min(FEW, sessions)} sessions", asked, 1.5),
        (f"list of a session of {large:,} bytes", "reading it", read, 0.1),
    )
    return [
        Comparison(what=f"{what}, CPU", against=against, ours=ours, theirs=theirs, aim=AtMost(ratio=most))
        for what, against, (ours, theirs), most in rows
    ]


def _cpu(work: Callable[[], object]) -> float:
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


def _ask(table: SessionTable) -> None:
    for _ in range(20):
        assert table.sessions(None, limit=200, after="", touched=())


def _described(summary: SessionSummary) -> FleetSession:
    return FleetSession(id=summary.id, state="idle", title=summary.title, changed=summary.modified)


def _search_all(catalog: Catalog, summaries: tuple[SessionSummary, ...], terms: Sequence[str]) -> int:
    """Return how many sessions have the words, as a search without an index found them."""
    texts = (session_words(catalog.folder(summary.id)).casefold() for summary in summaries)
    return sum(all(term in text for term in terms) for text in texts)


def _large(folder: Path, size: int) -> Path:
    """Make a session with results of so many bytes."""
    opened = SessionOpened(session=folder.name, cwd="/", model="openai-chat:m", system="", tools=(), version="0")
    store = SqliteStore.create(folder)
    store.append([opened, PromptAccepted(turn=1, text="The large one")], expected=0)
    result, each = "A line of a file. " * 1000, 50
    for begin in range(0, max(1, size // len(result)), each):
        ends = [CallEnded(call=f"c{begin + at}", outcome="ok", text=result, seconds=0.1) for at in range(each)]
        store.append(ends, expected=store.length)
    store.close()
    return folder
