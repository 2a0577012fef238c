"""The index of the words of all sessions: which sessions a search need not open.

How it works. Each session has a row of bits. Every two and every three letters that follow each other in its words set
one of them, chosen by a hash. A word can only be in a session whose row has the bits of all its letters; the others
are not opened. One file next to the folder of sessions has a record of each session: its id, the stamp of the journal,
the row, and a checksum. New records are added at the end.

Why no words? The index would keep the words of deleted sessions. From the bits none can be read.

It is a cache, never truth. A record counts only with the stamp that the journal has now. Anything that does not hold,
also half a record of a process that was killed, ends the reading: the sessions of the records from there on are
opened, and the file is written again, as it is when half of it is out of date. What the index allows is looked for in
the words themselves.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Container, Sequence
from itertools import chain, pairwise
from pathlib import Path

import msgspec

from holdfast.session.catalog import Stamp
from holdfast.system.bounded_files import read_bounded
from holdfast.system.durable_files import replace_file
from holdfast.typed_data import decode_json

LARGEST_WORD_INDEX = 1 << 30
"""Bytes of the index that are read. A larger one is not used."""

_FORMAT = b"holdfast words 1\n"
_LENGTHS = struct.Struct("<IIII")  # of the name, of the row, and the checksums of the two
_FEWEST, _MOST = 1 << 6, 1 << 16
"""Bytes of the row of a session."""


class _Name(msgspec.Struct, frozen=True, array_like=True):
    """What a record is of."""

    id: str
    stamp: Stamp


class WordIndex:
    """The rows of the sessions, read from `path` once. What is missing is added with `add`, and kept by `save`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[str, tuple[Stamp, memoryview]] = {}
        self._added: dict[str, tuple[Stamp, bytes]] = {}
        self._records = 0
        self._is_whole = False
        self._read()

    def may_have(self, session: str, stamp: Stamp, bits: Sequence[int]) -> bool:
        """Return whether the session may have the letters that these bits stand for; True if it is not known."""
        found = self._rows.get(session)
        if found is None or found[0] != stamp:
            return True
        row = found[1]
        mask = len(row) * 8 - 1
        return all(row[(bit & mask) >> 3] >> (bit & 7) & 1 for bit in bits)

    def has(self, session: str, stamp: Stamp) -> bool:
        """Return whether the session is known as its journal is now."""
        found = self._rows.get(session)
        return found is not None and found[0] == stamp

    def add(self, session: str, stamp: Stamp, folded: str) -> None:
        """Take in the words of a session, in folded case."""
        self._added[session] = stamp, row_of(folded)

    def save(self, sessions: Container[str]) -> None:
        """Keep what was added. The records of other sessions than these are dropped once they are half of the file."""
        if not self._added:
            return
        current = {name: row for name, row in self._rows.items() if name in sessions and name not in self._added}
        new = b"".join(_record(name, stamp, row) for name, (stamp, row) in self._added.items())
        with contextlib.suppress(OSError):  # a full or read-only disk: a search takes longer
            if self._is_whole and len(current) * 2 >= self._records:
                _append(self._path, new)
            elif self._path.parent.is_dir():
                old = (_record(name, stamp, bytes(row)) for name, (stamp, row) in current.items())
                replace_file(self._path, _FORMAT + b"".join(chain(old, (new,))), durable=False)

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            data = memoryview(read_bounded(self._path, LARGEST_WORD_INDEX))
            if bytes(data[: len(_FORMAT)]) == _FORMAT:
                self._is_whole = self._take(data, len(_FORMAT))

    def _take(self, data: memoryview, at: int) -> bool:
        """Take the records up to the first that does not hold, and return whether all do."""
        while at + _LENGTHS.size <= len(data):
            named, size, name_sum, row_sum = _LENGTHS.unpack_from(data, at)
            begin = at + _LENGTHS.size + named
            name, row = data[at + _LENGTHS.size : begin], data[begin : begin + size]
            at = begin + size
            if at > len(data) or zlib.crc32(name) != name_sum or zlib.crc32(row) != row_sum or not _is_row(size):
                return False
            try:
                of = decode_json(bytes(name), _Name)
            except (msgspec.DecodeError, UnicodeDecodeError):
                return False
            self._rows[of.id] = of.stamp, row
            self._records += 1
        return at == len(data)


def bits_of(words: Sequence[str]) -> tuple[int, ...]:
    """Return the bits that every row with all these words has."""
    return tuple({_bit(letters) for word in words for letters in _letters(word)})


def row_of(folded: str) -> bytes:
    """Return the row of a session with these words."""
    bits = {_bit(letters) for letters in _letters(folded)}
    size = _FEWEST
    while size < _MOST and size < len(bits):
        size *= 2
    row, mask = bytearray(size), size * 8 - 1
    for bit in bits:
        row[(bit & mask) >> 3] |= 1 << (bit & 7)
    return bytes(row)


def _letters(text: str) -> set[str]:
    """Return every two and every three letters that follow each other."""
    pairs = set(map("".join, pairwise(text)))
    return pairs | set(map("".join, zip(text, text[1:], text[2:], strict=False)))


def _bit(letters: str) -> int:
    return zlib.crc32(letters.encode("utf-8", "replace"))


def _is_row(size: int) -> bool:
    return _FEWEST <= size <= _MOST and size & (size - 1) == 0


def _record(session: str, stamp: Stamp, row: bytes) -> bytes:
    name = msgspec.json.encode(_Name(session, stamp))
    return _LENGTHS.pack(len(name), len(row), zlib.crc32(name), zlib.crc32(row)) + name + row


def _append(path: Path, records: bytes) -> None:
    """Add records in one write, after those of any other process."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.write(descriptor, records)
    finally:
        os.close(descriptor)
