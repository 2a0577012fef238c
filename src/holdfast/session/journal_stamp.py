"""What a list needs to know of a journal's files without reading them: their state, time and size."""

from __future__ import annotations

import contextlib
from pathlib import Path

from holdfast.system.durable_files import DATABASE

Stamp = tuple[tuple[int, int], ...]
"""What identifies the state of a journal without reading it: modification time and size of each of its files."""


def journal_stamp(folder: Path) -> Stamp:
    """Return the stamp of the journal in `folder`; take it before reading, so that a later append makes it differ."""
    found: list[tuple[int, int]] = []
    for name in (DATABASE, DATABASE + "-wal"):
        with contextlib.suppress(FileNotFoundError):  # the log exists only during, or after, a write session
            stat = (folder / name).stat()
            found.append((stat.st_mtime_ns, stat.st_size))
    return tuple(found)


def last_used(folder: Path) -> tuple[float, str]:
    """Return when the journal last changed, and the folder's name, to sort by; 0 if that cannot be read."""
    try:
        return modified(journal_stamp(folder)), folder.name
    except OSError:  # not a candidate
        return 0.0, folder.name


def modified(stamp: Stamp) -> float:
    """Return when the journal last changed, in seconds since the epoch."""
    return max((nanoseconds for nanoseconds, _ in stamp), default=0) / 1e9


def folder_size(folder: Path) -> int:
    """Return the bytes of the files of a folder, without those of folders in it."""
    try:
        return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    except FileNotFoundError:  # no blobs, or one replaced in the meantime
        return 0
