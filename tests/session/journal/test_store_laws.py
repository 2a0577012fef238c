"""Both stores keep the laws, and the suite that says so turns red on stores that do not."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from holdfast.errors import StateError, StorageFailed
from holdfast.session.journal.entries import Entry, PromptAccepted, decode, encode
from holdfast.session.journal.store import MemoryStore, Reading, Store, StoredEntry, conflict
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.store_checks import check_store
from holdfast.testing.store_faults import Harness


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


class Lines:
    """A journal of JSON lines that is synced: good, or with one of the mistakes that such a journal has."""

    def __init__(self, path: Path, mistake: str) -> None:
        self._path, self._mistake, self._closed = path, mistake, False
        self._path.touch()
        text = self._path.read_text()
        whole = text[: text.rfind("\n") + 1]
        if mistake != "reads a torn line":
            self._path.write_text(whole) if mistake == "rewrites" else os.truncate(self._path, len(whole.encode()))
            text = whole
        self._rows: list[list[tuple[float, str]]] = [
            msgspec.json.decode(line, type=list[tuple[float, str]]) for line in text.splitlines()
        ]

    @property
    def _flat(self) -> list[tuple[float, str]]:
        return [row for rows in self._rows for row in rows]

    @property
    def length(self) -> int:
        return len(self._flat)

    def read(self) -> Reading:
        rows = enumerate(self._flat, start=1)
        return Reading(
            records=tuple(StoredEntry(seq=seq, at=at, entry=decode(body.encode())) for seq, (at, body) in rows)
        )

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        if self._closed:
            raise StateError("The journal is closed. Open it again.")
        if expected != self.length:
            raise conflict(expected=expected, found=self.length)
        new = [(5.0, encode(entry).decode()) for entry in entries]
        groups = [[row] for row in new] if self._mistake == "one line for each entry" else [new]
        lines = b"".join(msgspec.json.encode(group) + b"\n" for group in groups)
        try:
            self._write(lines)
        except OSError as error:
            if self._mistake == "an error of the system":
                raise
            raise StorageFailed(f"Journal {self._path.name!r} cannot be written: {error}. Free some space.") from error
        self._rows += groups
        return self.length

    def _write(self, lines: bytes) -> None:
        if self._mistake == "rewrites":
            lines = self._path.read_bytes() + lines
        size = self._path.stat().st_size
        with self._path.open("wb" if self._mistake == "rewrites" else "ab", buffering=0) as file:
            try:
                while lines:
                    lines = lines[file.write(lines) :]
                os.fsync(file.fileno())
            except OSError:
                if self._mistake != "leaves half a line":
                    file.truncate(size)
                raise

    def close(self) -> None:
        self._closed = True


@pytest.mark.parametrize(
    ("mistake", "law"),
    [
        ("leaves half a line", "loses nothing on a full disk"),
        ("rewrites", "loses nothing on a full disk"),
        ("an error of the system", r"loses nothing on a full disk.*OSError \(expected StorageFailed\)"),
        ("reads a torn line", "loses nothing when killed in a write"),
        ("one line for each entry", "loses nothing when killed in a write"),
        ("", ""),
    ],
)
def test_a_store_that_a_full_disk_or_a_kill_destroys_turns_red(tmp_path: Path, mistake: str, law: str) -> None:
    numbers = itertools.count()

    @dataclass
    class InLines:
        path: Path

        def open(self) -> Store:
            return Lines(self.path, mistake)

    def make() -> Harness:
        return InLines(tmp_path / str(next(numbers)))

    if law:
        with pytest.raises(AssertionError, match=f"Law 'a store {law}"):
            check_store(make)
    else:
        check_store(make)
        assert next(numbers) > 50, "the limits were not looked for"
