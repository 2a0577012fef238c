"""The kind of a file by its first bytes: text, or which binary format."""

from __future__ import annotations

import os
from io import BufferedReader

from holdfast.tools.truncation import beginning

SNIFF = 8192
"""How many bytes at the beginning decide whether a file is text."""

_FOREIGN_MOST = 0.3  # of the first characters: Latin-1 prose has far fewer, packed data far more

UTF_16 = "UTF-16 text"
_MAGIC = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x7fELF", "an ELF program or library"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
)


def binary_kind(head: bytes) -> str | None:
    """Return what a file beginning with `head` seems to be if it is not text, else None."""
    guess = next((name for magic, name in _MAGIC if head.startswith(magic)), "binary data")
    if b"\0" in head:
        return guess
    text = beginning(head)
    return guess if text.count("\ufffd") > _FOREIGN_MOST * len(text) else None


def holds_nul(file: BufferedReader) -> bool:
    """Return whether a NUL is among the file's first bytes, which marks it as binary. Keeps the position."""
    return b"\0" in os.pread(file.fileno(), SNIFF, 0)
