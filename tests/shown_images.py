"""A small image for tests, drawn here and copied from no file."""

from __future__ import annotations

import struct
import zlib

from holdfast.tool_calls import Image


def png(width: int = 2, height: int = 3) -> bytes:
    """Return a PNG of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + b"\x40\x80\xc0" * width) * height)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def picture(name: str = "a.png", width: int = 2, height: int = 3) -> Image:
    """Return such an image as a conversation holds it."""
    return Image(media_type="image/png", data=png(width, height), name=name, width=width, height=height)
