"""The rows of a journal: encodes and verifies them, and reports damage as findings.

A row is verified by itself and against the stored checksum of the row before, so damage stays local. Bodies over
`BLOB_LIMIT` are stored in files named by their content; the checksum covers the content either way.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from holdfast.errors import DamageError
from holdfast.session.journal.entries import decode
from holdfast.session.journal.store import Finding, Reading, StoredEntry

_HALF = 8


class BodySource(Protocol):
    """The source of the bodies of rows."""

    def body(self, stored: bytes) -> bytes:
        """Return the body of a row that stores `stored`; raises `DamageError`."""
        ...


class StoredRow(NamedTuple):
    """One stored row: `body` is the entry, or a reference to a blob."""

    seq: int
    at: float
    kind: str
    body: bytes
    sum: bytes

    @classmethod
    def of(cls, values: Sequence[object]) -> StoredRow | None:
        """Return the row, or None if damage changed the type of a column."""
        seq, at, kind, body, stored = values
        match seq, at, kind, body, stored:
            case int(), float(), str(), bytes(), bytes():
                return cls(seq, at, kind, body, stored)
            case _:
                return None


def checksum(link: bytes, seq: int, at: float, kind: str, body: bytes) -> bytes:
    """Return the 16-byte checksum of a row; `link` is the checksum of the row before (empty for the first).

    The first half covers the row alone, so it can be verified even if the row before is lost. The second half chains it
    to all earlier rows.
    """
    row_sum = hashlib.blake2b(struct.pack(">qd", seq, at) + kind.encode() + b"\0" + body, digest_size=_HALF).digest()
    return row_sum + hashlib.blake2b(link + row_sum, digest_size=_HALF).digest()


def verify_rows(
    rows: Iterable[Sequence[object]], blobs: BodySource, *, after: int = 0, before: bytes | None = b""
) -> Reading:
    """Return the entries of `rows`, given in order of seq, and a finding for each damaged or missing one.

    They follow the row `after`, whose stored checksum is `before`, None if that is not known.
    """
    records: list[StoredEntry] = []
    findings: list[Finding] = []
    last, link = after, before  # seq and stored checksum of the row before; None if that is lost
    for values in rows:
        seq, stored = values[0], values[-1]
        assert isinstance(seq, int)  # SQLite's rowid is always an integer
        if seq != last + 1:
            which = f"Entry {last + 1} is" if seq == last + 2 else f"Entries {last + 1} to {seq - 1} are"
            findings.append(Finding(seq=last + 1, what=f"{which} missing."))
            link = None
        try:
            record, expected = _record(values, blobs, link or b"")
            records.append(record)
            if link is not None and stored != expected:
                findings.append(Finding(seq=seq, what=f"Entry {seq} is whole, but not chained to the one before."))
        except DamageError as damage:
            findings.append(Finding(seq=seq, what=f"Entry {seq} is damaged. {damage}"))
        last, link = seq, stored if isinstance(stored, bytes) else None
    return Reading(records=tuple(records), findings=tuple(findings))


def single_rows(rows: Iterable[Sequence[object]], blobs: BodySource) -> tuple[StoredEntry, ...] | None:
    """Return the entries of rows that need not follow each other, None if one of them is damaged."""
    try:
        return tuple(_record(values, blobs, b"")[0] for values in rows)
    except DamageError:  # who reads all rows says what it is
        return None


def _record(values: Sequence[object], blobs: BodySource, link: bytes) -> tuple[StoredEntry, bytes]:
    """Return the record and the checksum it should have; raises `DamageError`."""
    row = StoredRow.of(values)
    if row is None:
        raise DamageError("Its columns are not of the types they were written with.")
    body = blobs.body(row.body)
    expected = checksum(link, row.seq, row.at, row.kind, body)
    if row.sum[:_HALF] != expected[:_HALF]:
        raise DamageError("Its checksum does not fit.")
    try:
        return StoredEntry(seq=row.seq, at=row.at, entry=decode(body)), expected
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamageError(f"Its body is not an entry this version knows ({error}).") from error
