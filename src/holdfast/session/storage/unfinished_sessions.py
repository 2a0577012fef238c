"""Detects leftovers of a session creation that was killed: a folder without a journal, or with an empty one.

A journal is empty only if it is intact; unreadable entries mean that it is a session. A journal with a summary has
had an entry.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from holdfast.errors import HoldfastError
from holdfast.session.journal.store import Reading
from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.system.durable_files import ABOUT, BLOBS, DATABASE, LOCK_FILE, is_abandoned
from holdfast.typed_data import decode_json

_WAL, _TEMPORARY, _SPOOL = DATABASE + "-wal", DATABASE + ".tmp", "spool"
_LARGEST_EMPTY = 2 * 4096
"""Bytes of a database without an entry: its schema and the root of its table."""
_LEFT = frozenset({LOCK_FILE, DATABASE, _WAL, DATABASE + "-journal", _TEMPORARY, BLOBS, _SPOOL, ABOUT})


class _SummaryFields(msgspec.Struct, frozen=True):
    """The part of a summary that shows whether there ever was an entry."""

    cwd: str
    title: str


def is_nothing(folder: Path) -> bool:
    """Return whether the folder holds no session and never held one; False in doubt.

    Another process may be about to create one there: it holds the lease, or takes it and finds the folder deleted.
    """
    try:
        names = {path.name for path in folder.iterdir()}
        if not names <= _LEFT or (ABOUT in names and _had_entry(folder)) or any((folder / _SPOOL).glob("*")):
            return False
        if DATABASE not in names:  # bodies follow a journal: without one a session is being copied here
            return ABOUT not in names and _WAL not in names and (not has_blobs(folder) or is_abandoned(folder))
        if (folder / DATABASE).stat().st_size > _LARGEST_EMPTY:
            return False
        from holdfast.session.storage.sqlite_store import read_copy

        return read_copy(folder) == Reading(records=())
    except (OSError, HoldfastError):
        return False


def has_blobs(folder: Path) -> bool:
    """Return whether entry bodies are left in a folder without a session."""
    return any((folder / BLOBS).glob("*"))


def _had_entry(folder: Path) -> bool:
    try:
        summary = decode_json(read_bounded(folder / ABOUT, STATE_FILE), _SummaryFields)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return True
    return bool(summary.cwd or summary.title)
