"""What a process that was killed while it created a session leaves: a folder whose journal has no entry, or no journal.

Two rules. A journal is empty only if it is whole: one whose entries cannot be read is a session. One that has a summary
had an entry once.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from holdfast.errors import HoldfastError
from holdfast.session.disk import ABOUT, BLOBS, DATABASE, LOCK, is_abandoned
from holdfast.session.store import Reading

_WAL, _TEMPORARY, _SPOOL = DATABASE + "-wal", DATABASE + ".tmp", "spool"
_LEFT = frozenset({LOCK, DATABASE, _WAL, DATABASE + "-journal", _TEMPORARY, BLOBS, _SPOOL, ABOUT})


class _About(msgspec.Struct, frozen=True):
    """What of a summary says whether there ever was an entry."""

    cwd: str
    title: str


def is_nothing(folder: Path) -> bool:
    """Return whether the folder holds no session, and never did; False in doubt."""
    try:
        names = {path.name for path in folder.iterdir()}
        if not names <= _LEFT or (ABOUT in names and _had_entry(folder)) or any((folder / _SPOOL).glob("*")):
            return False
        if DATABASE not in names:  # another process may be about to create it
            return ABOUT not in names and _WAL not in names and is_abandoned(folder)
        from holdfast.session.sqlite import read_copy  # noqa: PLC0415 - a session with a summary needs no SQLite

        return read_copy(folder) == Reading(records=())
    except (OSError, HoldfastError):
        return False


def remains(folder: Path) -> bool:
    """Return whether bodies of entries are left in a folder that holds nothing."""
    return any((folder / BLOBS).glob("*"))


def _had_entry(folder: Path) -> bool:
    try:
        about = msgspec.json.decode((folder / ABOUT).read_bytes(), type=_About)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return True
    return bool(about.cwd or about.title)
