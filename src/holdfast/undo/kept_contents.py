"""Contents by their git object ids, as files in the session's folder: with git and without, the ids are the same.

They are git's own loose objects, so git finds what was kept here, and what git stored is found here. A content is
durable before its id is returned. The folder is the session's: only the user can read it, and it is deleted with it.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path

from holdfast.system.bounded_files import read_bounded
from holdfast.system.durable_files import make_folder, replace_file, sync_path

LARGEST_KEPT = 100_000_000
"""Bytes of the largest content that is kept: files of tools are no larger."""

SHA1_NAME = 40
"""Characters of an object id in a repository with SHA-1; one with SHA-256 has 64."""


class KeptContents:
    """The contents that a session keeps, in its `folder`."""

    def __init__(self, folder: Path, *, sha256: bool = False) -> None:
        self._objects = folder / "objects"
        self._sha256 = sha256

    def name(self, content: bytes) -> str:
        """Return the id of a content."""
        digest = hashlib.sha256() if self._sha256 else hashlib.sha1(usedforsecurity=False)
        digest.update(b"blob %d\0" % len(content))
        digest.update(content)
        return digest.hexdigest()

    def put(self, content: bytes) -> str:
        """Keep a content, durably, and return its id; raises `OSError`."""
        name = self.name(content)
        path = self._path(name)
        make_folder(path.parent)
        if self.get(name) == content:
            sync_path(path.parent)  # an earlier attempt may have ended between the rename and this
        else:
            replace_file(path, zlib.compress(b"blob %d\0" % len(content) + content, 1))
        return name

    def get(self, name: str) -> bytes | None:
        """Return a content that lies here as its own file, None if there is none or it is damaged."""
        try:
            packed = read_bounded(self._path(name), 2 * LARGEST_KEPT)
            unpacker = zlib.decompressobj()
            plain = unpacker.decompress(packed, LARGEST_KEPT + 64)
        except (OSError, ValueError, zlib.error):
            return None
        head, _, content = plain.partition(b"\0")
        return content if head == b"blob %d" % len(content) and self.name(content) == name else None

    def size(self) -> int:
        """Return the bytes on disk of everything that is kept."""
        return kept_bytes(self._objects.parent)

    def _path(self, name: str) -> Path:
        return self._objects / name[:2] / name[2:]


def kept_bytes(folder: Path) -> int:
    """Return the bytes on disk of everything below a folder."""
    total = 0
    for at, _, names in os.walk(folder):
        for each in names:
            try:
                total += os.lstat(f"{at}/{each}").st_blocks * 512
            except FileNotFoundError:
                continue  # it was a temporary file
    return total
