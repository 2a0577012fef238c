"""The rows of a journal, judged: what each must be, and what is found when it is not.

Two rules. A row is verified by itself and against the stored sum of its predecessor, so damage stays where it is.
Bodies over `BLOB_LIMIT` live in files named by their content, and the checksum covers them as if they did not.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from holdfast.errors import DamageError
from holdfast.session.disk import make_folder, sync_path, write_whole
from holdfast.session.entries import decode
from holdfast.session.store import Finding, Reading, Record

BLOB_LIMIT = 32 * 1024
"""Bodies longer than this many bytes are kept outside the database, where they do not swell its log."""

_HALF = 8
_REFERENCE = b'{"blob":'  # an entry's JSON starts with its kind


class _Reference(msgspec.Struct, frozen=True):
    blob: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    bytes: int


class Row(NamedTuple):
    """One row as stored: `body` is the entry or a reference to a blob."""

    seq: int
    at: float
    kind: str
    body: bytes
    sum: bytes

    @classmethod
    def of(cls, values: Sequence[object]) -> Row | None:
        """Return the row, or None if damage changed the type of a column."""
        seq, at, kind, body, stored = values
        match seq, at, kind, body, stored:
            case int(), float(), str(), bytes(), bytes():
                return cls(seq, at, kind, body, stored)
            case _:
                return None


class Blobs:
    """Large bodies as files named by their SHA-256."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def clear(self) -> None:
        """Remove what a process that was killed while writing left; never a blob."""
        for left in self._folder.glob(".*"):
            left.unlink(missing_ok=True)

    def put(self, body: bytes) -> bytes:
        """Return what the row stores for `body`; a large one is durable in its file first."""
        if len(body) <= BLOB_LIMIT:
            return body
        name = hashlib.sha256(body).hexdigest()
        path = self._folder / name
        make_folder(self._folder)
        if path.is_file() and path.read_bytes() == body:
            sync_path(self._folder)  # an earlier attempt may have failed between the rename and this
        else:
            write_whole(path, body)
        return msgspec.json.encode(_Reference(blob=name, bytes=len(body)))

    def body(self, stored: bytes) -> bytes:
        """Return the whole body a row stands for; raises `DamageError` saying what is wrong with its file."""
        if not stored.startswith(_REFERENCE):
            return stored
        try:
            reference = msgspec.json.decode(stored, type=_Reference)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DamageError(f"Its reference to a blob cannot be understood ({error}).") from error
        try:
            body = (self._folder / reference.blob).read_bytes()
        except OSError as error:
            raise DamageError(f"Its blob {reference.blob} cannot be read ({error.strerror}).") from error
        if hashlib.sha256(body).hexdigest() != reference.blob:
            raise DamageError(f"Its blob {reference.blob} was altered.")
        return body


def checksum(link: bytes, seq: int, at: float, kind: str, body: bytes) -> bytes:
    """Return the 16 bytes that belong to a row whose predecessor's are `link` (empty for the first).

    The first half is the row's own, so that it can be verified even when its predecessor is lost; the second half
    chains it to all that came before.
    """
    own = hashlib.blake2b(struct.pack(">qd", seq, at) + kind.encode() + b"\0" + body, digest_size=_HALF).digest()
    return own + hashlib.blake2b(link + own, digest_size=_HALF).digest()


def judge(rows: Iterable[Sequence[object]], blobs: Blobs) -> Reading:
    """Return the entries of `rows`, which come in order of seq, and a finding for each that is damaged or missing."""
    records: list[Record] = []
    findings: list[Finding] = []
    last, link = 0, b""  # the predecessor's seq and stored sum; None if that is lost
    for values in rows:
        seq, stored = values[0], values[-1]
        assert isinstance(seq, int)  # SQLite's rowid can be nothing else
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


def _record(values: Sequence[object], blobs: Blobs, link: bytes) -> tuple[Record, bytes]:
    """Return the record and the sum it should have; raises `DamageError`."""
    row = Row.of(values)
    if row is None:
        raise DamageError("Its columns are not of the types they were written with.")
    body = blobs.body(row.body)
    expected = checksum(link, row.seq, row.at, row.kind, body)
    if row.sum[:_HALF] != expected[:_HALF]:
        raise DamageError("Its checksum does not fit.")
    try:
        return Record(seq=row.seq, at=row.at, entry=decode(body)), expected
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamageError(f"Its body is not an entry this version knows ({error}).") from error
