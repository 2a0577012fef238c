"""The file `fold.cache`: a written fold, and the row of the journal that it was folded up to. Never truth.

It is used only if four things agree: the position and the checksum of the row it names with the row in the journal, the
journal's format, and the version of the fold. The checksum is chained to all rows before, so another session, another
history, and an older or a later journal do not agree. Anything else about it that is not as it must be (a torn write,
a flipped bit) is the same as no file: then all entries are read.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import msgspec

from holdfast.session.journal.entries import FORMAT
from holdfast.system.bounded_files import read_bounded
from holdfast.system.durable_files import FOLD, replace_file
from holdfast.typed_data import decode_json

LARGEST_FOLD = 1 << 28
"""Bytes of a cache that are read."""

_HEAD_MOST = 4096


class SavedFold(msgspec.Struct, frozen=True, kw_only=True):
    """A written fold. `sum` is the checksum of row `seq`, the last one in it. `state` is for who wrote it.

    `verified` is the position up to which the rows were last verified in the background, 0 if all were.
    """

    seq: int
    sum: bytes
    state: bytes
    verified: int = 0


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    sum: bytes
    format: int
    version: str
    size: int
    digest: str
    verified: int = 0


def read_fold(folder: Path, version: str) -> SavedFold | None:
    """Return the written fold of a session if it is whole, and of this format and this `version`."""
    try:
        data = read_bounded(folder / FOLD, LARGEST_FOLD)
        head_bytes, found, state = data.partition(b"\n")
        head = decode_json(head_bytes[:_HEAD_MOST], _Head)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):  # a cache: without it all entries are read
        return None
    agrees = (head.format, head.version, head.size) == (FORMAT, version, len(state)) and bool(found)
    is_whole = msgspec.json.encode(head) == head_bytes and _digest(_covered(head), state) == head.digest
    if not agrees or head.seq < 1 or not is_whole:
        return None
    return SavedFold(seq=head.seq, sum=head.sum, state=state, verified=head.verified)


def write_fold(folder: Path, saved: SavedFold, version: str) -> None:
    """Replace the written fold of a session, atomically but without a sync; raises `OSError`."""
    if len(saved.state) >= LARGEST_FOLD - _HEAD_MOST:
        return
    head = _Head(
        seq=saved.seq,
        sum=saved.sum,
        format=FORMAT,
        version=version,
        size=len(saved.state),
        digest="",
        verified=saved.verified,
    )
    head = msgspec.structs.replace(head, digest=_digest(_covered(head), saved.state))
    replace_file(folder / FOLD, msgspec.json.encode(head) + b"\n" + saved.state, durable=False)


def drop_fold(folder: Path) -> None:
    """Delete the written fold of a session, as far as that is possible: it is only a cache."""
    with suppress(OSError):
        (folder / FOLD).unlink()


def _covered(head: _Head) -> bytes:
    """Return what the digest covers of a head."""
    return msgspec.json.encode(msgspec.structs.replace(head, digest=""))


def _digest(head: bytes, state: bytes) -> str:
    digest = hashlib.blake2b(head + b"\n", digest_size=16)
    digest.update(state)
    return digest.hexdigest()
