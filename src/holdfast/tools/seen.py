"""Files as a model last saw them, and as they are now."""

from __future__ import annotations

import hashlib
import os
from io import BufferedReader
from pathlib import Path

from holdfast.calls import FileSeen
from holdfast.errors import ToolFailed
from holdfast.tools.paths import Place, opened, placed

LARGEST_HASHED = 10_000_000
"""The size in bytes up to which a file is told from another by its content; above, by its size and time."""


def seen_in(place: Place, file: BufferedReader) -> FileSeen:
    """Return what the open file of `place` is now; its position is at the beginning after that."""
    status = os.fstat(file.fileno())
    digest = ""
    if status.st_size <= LARGEST_HASHED:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
    return FileSeen(path=place.name, size=status.st_size, modified=status.st_mtime_ns, sha256=digest)


def present(root: Path, seen: FileSeen) -> FileSeen:
    """Return a file that was seen as it is now: `seen` itself if nothing tells of a change; never raises.

    One with the size and time it had then is not read again.
    """
    place = placed(root, seen.path)
    try:
        status = os.lstat(place.path)
        if (status.st_size, status.st_mtime_ns) == (seen.size, seen.modified):
            return seen
        with opened(place) as file:
            return seen_in(place, file)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ToolFailed):
        # If all of it is out of reach, nothing can be said of a single file.
        return FileSeen(path=seen.path) if place.anchor.is_dir() else seen
    except (OSError, ValueError):
        return seen
