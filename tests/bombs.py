"""A body that is small on the wire and huge once it is unpacked."""

from __future__ import annotations

import gzip
import zlib

SIZE = 1_200_000_000
"""Bytes that the bomb becomes."""

_PIECE = 4_000_000


def bomb(ways: int = 1) -> bytes:
    """Return what gzip unpacks to `SIZE` bytes, after that many times; it has no end, which no reader reaches.

    A piece that refers to nothing before it is repeated: packing it all takes seconds.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(b" " * _PIECE) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(b" " * _PIECE) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = head + piece + again * (SIZE // _PIECE - 1)
    return packed if ways == 1 else gzip.compress(packed)
