"""Both stores keep the laws, and the suite that says so turns red on stores that do not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from holdfast.session.journal.entries import Entry, PromptAccepted, encode
from holdfast.session.journal.store import MemoryStore, Reading, Store
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.store_checks import Harness, check_store


class OnDisk:
    """A journal in its own folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self) -> Store:
        return SqliteStore.open(self._folder) if self._folder.exists() else SqliteStore.create(self._folder)


class InMemory:
    """A journal in memory: opening it again copies it, at the same times, since a closed one takes no more."""

    def __init__(self, kind: Callable[..., MemoryStore] = MemoryStore) -> None:
        self._kind = kind
        self._store: MemoryStore | None = None

    def open(self) -> Store:
        store = self._kind(now=lambda: 5.0)
        if self._store is not None:
            store.append([record.entry for record in self._store.read().records], expected=0)
        self._store = store
        return store


def test_the_durable_store_keeps_the_laws(tmp_path: Path) -> None:
    folders = (tmp_path / str(number) for number in itertools.count())
    check_store(lambda: OnDisk(next(folders)))


def test_the_store_in_memory_keeps_the_laws() -> None:
    check_store(InMemory)


class Reversed(MemoryStore):
    def read(self) -> Reading:
        return Reading(records=tuple(reversed(super().read().records)))


class OneByOne(MemoryStore):
    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        super().append([], expected=expected)
        for entry in entries:
            super().append([entry], expected=self.length)
        return self.length


class Trusting(MemoryStore):
    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        del expected
        return super().append(entries, expected=self.length)


class Cutting(MemoryStore):
    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        short = [entry if len(encode(entry)) < 32768 else PromptAccepted(turn=1, text="x") for entry in entries]
        return super().append(short, expected=expected)


class NeverClosed(MemoryStore):
    def close(self) -> None:
        pass


class Forgetful(MemoryStore):
    """Says it has appended, and keeps only what was there when it was closed last."""

    def read(self) -> Reading:
        reading = super().read()
        return reading if not self._closed else Reading(records=reading.records[:-1])


class Broken(MemoryStore):
    def read(self) -> Reading:
        raise RuntimeError("no such table")


@pytest.mark.parametrize(
    ("bad", "law"),
    [
        (Reversed, "keeps order"),
        (OneByOne, "appends all or none"),
        (Trusting, "refuses a conflict"),
        (Cutting, "keeps any size"),
        (NeverClosed, "refuses once closed"),
        (Forgetful, "keeps any size"),
        (Broken, "starts empty.*RuntimeError: no such table"),
    ],
)
def test_a_bad_store_turns_red(bad: type[MemoryStore], law: str) -> None:
    def make() -> Harness:
        return InMemory(bad)

    with pytest.raises(AssertionError, match=f"Law 'a store {law}"):
        check_store(make)
