"""The stores under test behind one small face: the real one, the real one with one protection removed, and naive ones.

Two rules. Every known-bad store is one that a sensible person would write. The harness must find what is wrong with it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from holdfast.errors import SessionUnknown, StorageFailed
from holdfast.session.journal.entries import Entry, decode, encode
from holdfast.session.journal.store import Reading
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy

Read = tuple[list[Entry], list[str]]
"""The entries of a journal, and what was found damaged."""


class Journal(Protocol):
    """An open journal."""

    def append(self, entries: Sequence[Entry]) -> None: ...

    def read(self) -> Read: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of journal: how it is opened, made if it is not there; how it is read by others; what it raises."""

    name: str
    open: Callable[[Path], Journal]
    copy: Callable[[Path], Read]
    refusals: tuple[type[Exception], ...]


class Real:
    """`SqliteStore`; `settings` are SQL run on its connection."""

    def __init__(self, folder: Path, *settings: str) -> None:
        try:
            self._store = SqliteStore.open(folder)
        except SessionUnknown:
            self._store = SqliteStore.create(folder)
        for setting in settings:
            self._store._connection.execute(setting)

    def append(self, entries: Sequence[Entry]) -> None:
        self._store.append(entries, expected=self._store.length)

    def read(self) -> Read:
        return _read(self._store.read())

    def close(self) -> None:
        self._store.close()


def _read(reading: Reading) -> Read:
    return [record.entry for record in reading.records], [finding.what for finding in reading.findings]


def _copied(folder: Path) -> Read:
    return _read(read_copy(folder))


class Lines:
    """One JSON line for each entry, written at the end of a file; a line that cannot be read is skipped."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "session.jsonl"

    def append(self, entries: Sequence[Entry]) -> None:
        with self._path.open("ab") as file:
            file.write(b"".join(encode(entry) + b"\n" for entry in entries))

    def read(self) -> Read:
        found: list[Entry] = []
        lines = self._path.read_bytes().splitlines() if self._path.exists() else []
        for line in lines:
            try:
                found.append(decode(line))
            except msgspec.DecodeError:
                continue
        return found, []

    def close(self) -> None:
        pass


class Rewritten:
    """The whole conversation as one JSON file, rewritten for each entry."""

    def __init__(self, folder: Path, *, replace: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "session.json"
        self._written = self._path.with_suffix(".tmp") if replace else self._path

    def append(self, entries: Sequence[Entry]) -> None:
        bodies = [encode(entry).decode() for entry in [*self.read()[0], *entries]]
        self._written.write_text(json.dumps(bodies))
        self._written.replace(self._path)

    def read(self) -> Read:
        bodies: list[str] = json.loads(self._path.read_text()) if self._path.exists() else []
        return [decode(body.encode()) for body in bodies], []

    def close(self) -> None:
        pass


class Unlogged:
    """A table in a SQLite database as its documentation's first page makes one: a rollback journal, FULL."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY)
        self._connection = sqlite3.connect(folder / "session.sqlite", isolation_level=None)
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute("CREATE TABLE IF NOT EXISTS entry (body BLOB)")
        os.fsync(descriptor)
        os.close(descriptor)

    def append(self, entries: Sequence[Entry]) -> None:
        self._connection.execute("BEGIN")
        self._connection.executemany("INSERT INTO entry VALUES (?)", [(encode(entry),) for entry in entries])
        self._connection.execute("COMMIT")

    def read(self) -> Read:
        return [decode(body) for (body,) in self._connection.execute("SELECT body FROM entry ORDER BY rowid")], []

    def close(self) -> None:
        self._connection.close()


def _real(name: str, *settings: str) -> Kind:
    return Kind(name, lambda folder: Real(folder, *settings), _copied, (StorageFailed,))


def _naive(name: str, make: Callable[[Path], Journal]) -> Kind:
    return Kind(name, make, lambda folder: make(folder).read(), (OSError, ValueError, sqlite3.Error))


REAL = _real("holdfast")
QUICK = _real("holdfast, a short log", "PRAGMA wal_autocheckpoint=6")
NORMAL = _real("WAL, NORMAL", "PRAGMA synchronous=NORMAL")
UNLOGGED = _naive("DELETE, FULL", Unlogged)
LINES = _naive("naive JSON lines", Lines)
REWRITTEN = _naive("naive JSON file", Rewritten)
RENAMED = _naive("JSON file, renamed without a sync", lambda folder: Rewritten(folder, replace=True))

KINDS = {kind.name: kind for kind in (REAL, QUICK, NORMAL, UNLOGGED, LINES, REWRITTEN, RENAMED)}


def integrity(folder: Path) -> str:
    """Return what SQLite says of the databases in `folder`, "ok" if they are whole; they must be closed."""
    findings: list[str] = []
    for path in [*folder.glob("session.db"), *folder.glob("session.sqlite")]:
        with closing(sqlite3.connect(path)) as connection:
            findings += [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
    return "; ".join(word for word in findings if word != "ok") or "ok"
