"""The rows of a journal, judged: what each must be, and what is found when it is not.

Two rules. A row is verified against the stored sum of its predecessor, so damage stays where it is. Bodies over
`BLOB_LIMIT` live in files named by their content, and the checksum covers them as if they did not.
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
            body = (self._folder / reference.blob).read_bytes()
        except msgspec.DecodeError as error:
            raise DamageError(f"its reference to a blob is damaged ({error})") from error
        except OSError as error:
            raise DamageError(f"its blob cannot be read ({error.strerror}: {error.filename})") from error
        if hashlib.sha256(body).hexdigest() != reference.blob:
            raise DamageError(f"its blob {reference.blob} was altered")
        return body


def checksum(link: bytes, seq: int, at: float, kind: str, body: bytes) -> bytes:
    """Return the 16 bytes that belong to a row whose predecessor's are `link` (empty for the first)."""
    digest = hashlib.blake2b(link, digest_size=16)
    digest.update(struct.pack(">qd", seq, at) + kind.encode() + b"\0")
    digest.update(body)
    return digest.digest()


def judge(rows: Iterable[Sequence[object]], blobs: Blobs) -> Reading:
    """Return the entries of `rows`, which come in order of seq, and a finding for each that is damaged or missing."""
    records: list[Record] = []
    findings: list[Finding] = []
    last = 0
    links = [b""]  # the sums the next row may be chained to; none if they are lost
    for values in rows:
        seq = values[0]
        assert isinstance(seq, int)  # SQLite's rowid can be nothing else
        if seq != last + 1:
            findings.append(_hole(last + 1, seq - 1))
            links = []
        last = seq
        row = Row.of(values)
        if row is None:
            findings.append(_damaged(seq, "its columns are not of the types they were written with"))
            links = [value for value in values[4:] if isinstance(value, bytes)]
            continue
        try:
            body = blobs.body(row.body)
            sums = [checksum(link, seq, row.at, row.kind, body) for link in links]
            if sums and row.sum not in sums:
                # The sum itself may be what was hit: the next row then fits the one computed here.
                links = [row.sum, sums[0]]
                findings.append(_damaged(seq, "its checksum does not fit"))
                continue
            records.append(Record(seq=seq, at=row.at, entry=decode(body)))
        except (DamageError, msgspec.DecodeError) as error:
            findings.append(_damaged(seq, str(error)))
        links = [row.sum]
    return Reading(records=tuple(records), findings=tuple(findings))


def _damaged(seq: int, why: str) -> Finding:
    return Finding(seq=seq, what=f"Entry {seq} is damaged: {why}.")


def _hole(first: int, last: int) -> Finding:
    which = f"Entry {first} is" if first == last else f"Entries {first} to {last} are"
    return Finding(seq=first, what=f"{which} missing; the entry after cannot be checked against what is lost.")
