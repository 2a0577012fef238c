"""Files as a model last saw them, and as they are now."""

from __future__ import annotations

import hashlib
import os
from io import BufferedReader
from pathlib import Path

from holdfast.errors import ToolFailed
from holdfast.system.safe_paths import SafePath, locate, open_regular
from holdfast.tool_calls import FileSeen

LARGEST_HASHED = 10_000_000
"""Files up to this size in bytes are compared by content, larger ones by size and time."""


def take_snapshot(place: SafePath, file: BufferedReader) -> FileSeen:
    """Return the state of the open file of `place`, and rewind the file."""
    status = os.fstat(file.fileno())
    digest = ""
    if status.st_size <= LARGEST_HASHED:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
    return FileSeen(path=place.name, size=status.st_size, modified=status.st_mtime_ns, sha256=digest)


def current_snapshot(root: Path, snapshot: FileSeen) -> FileSeen:
    """Return the current state of a file, or `snapshot` itself if nothing changed. Never raises.

    A file with the same size and time is not read again.
    """
    place = locate(root, snapshot.path)
    try:
        status = os.lstat(place.path)
        if (status.st_size, status.st_mtime_ns) == (snapshot.size, snapshot.modified):
            return snapshot
        with open_regular(place) as file:
            return take_snapshot(place, file)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ToolFailed):
        # If the whole workspace is unreachable, nothing is known about a single file.
        return FileSeen(path=snapshot.path) if place.anchor.is_dir() else snapshot
    except (OSError, ValueError):
        return snapshot
