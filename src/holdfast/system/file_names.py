"""Compares names of files as the most tolerant file system does: without case, in one normal form of Unicode. Pure.

On WSL's `/mnt/c`, vfat, CIFS, APFS and folders of ext4 with casefold, `.ENV` opens `.env`. What forbids or asks goes by
the folded_path name everywhere: a rule that forbids too much is safe. What allows goes by the very name.
"""

from __future__ import annotations

from unicodedata import normalize


def folded_path(name: str) -> str:
    """Return a name, path or pattern in the form in which two names for one file are the same."""
    return name.casefold() if name.isascii() else normalize("NFC", normalize("NFD", name).casefold())
