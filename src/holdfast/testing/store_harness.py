"""What the laws of a store are tried with: a journal that can be opened again, an entry, an append, an expectation."""

from __future__ import annotations

from typing import Protocol

from holdfast.session.journal import entries as e
from holdfast.session.journal.store import Store


class Harness(Protocol):
    """A journal that can be closed and opened again."""

    def open(self) -> Store:
        """Open the journal: empty the first time, later with what it held when it was last closed."""
        ...


def prompt(text: str) -> e.PromptAccepted:
    """Return an entry with this text."""
    return e.PromptAccepted(turn=1, text=text)


def append(store: Store, *entries: e.Entry) -> None:
    """Append entries, and assert that the store says how long it is now."""
    before = store.length
    length = store.append(entries, expected=before)
    assert length == before + len(entries), f"append returned {length} (expected {before + len(entries)})"
    assert store.length == length, f"its length is {store.length} after append returned {length}"


def expect(store: Store, *entries: e.Entry) -> None:
    """Assert that the store holds exactly these entries, numbered from 1, without a finding."""
    reading = store.read()
    assert not reading.findings, f"it reported {reading.findings[0].what!r} in an undamaged journal"
    found = [record.entry for record in reading.records]
    assert len(found) == len(entries), f"{len(found)} entries were read (expected {len(entries)})"
    for seq, (record, entry) in enumerate(zip(reading.records, entries, strict=True), start=1):
        assert record.seq == seq, f"entry {seq} has the number {record.seq}"
        assert record.entry == entry, f"entry {seq} was read as {str(record.entry)[:200]}, not {str(entry)[:200]}"
    assert store.length == len(entries), f"its length is {store.length} (expected {len(entries)})"
