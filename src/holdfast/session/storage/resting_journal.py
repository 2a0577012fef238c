"""Reads a journal where it is, without a copy, if no process has it open: it has no log then.

How it works. A database without a log and without a rollback journal is complete in its one file. SQLite reads such a
file as it is, with no lock, and creates nothing beside it. Another process may open the session at any moment; then
there is a log, or the file's time or size changed. So both are looked at before and after. In any doubt the answer is
None, and the caller reads a private copy, which finds and names the damage.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from holdfast.session.storage import database
from holdfast.session.storage.wal import LARGEST_JOURNAL, companion_path
from holdfast.system.bounded_files import open_unblocked

_HEADER = 100
_AS_WRITTEN = b"\x02\x02\x00\x40\x20\x20"
"""Bytes 18 to 23 of a database that keeps a log: of versions 2 and 2, no reserved bytes, and SQLite's fractions."""

T = TypeVar("T")

_Rest = tuple[bytes, int, int, int]


def resting_rows(path: Path) -> Sequence[Sequence[object]] | None:
    """Return all rows of the database at `path`, None if they must be read from a copy."""

    def read(connection: database.OpenDatabase) -> Sequence[Sequence[object]]:
        database.check_pages(connection)
        return database.read_rows(connection)

    return _at_rest(path, read)


def resting_rows_of(path: Path, kinds: Sequence[str], *, first: str) -> Sequence[Sequence[object]] | None:
    """Return the rows of these kinds and the first one of the kind `first`, None if they must be read from a copy.

    The other rows are neither read nor verified.
    """
    return _at_rest(path, lambda connection: database.rows_of_kinds(connection, kinds, first))


def _at_rest(path: Path, read: Callable[[database.OpenDatabase], T]) -> T | None:
    """Return what `read` returns for the database, None if it is not at rest, or not intact."""
    try:
        before = _rest(path)
        if before is None:
            return None
        with database.unchanging(path) as connection:
            found = read(connection)
        return found if _rest(path) == before else None
    except (OSError, database.Damaged):  # the copy finds out what it is
        return None


def _rest(path: Path) -> _Rest | None:
    """Return what identifies the state of a database at rest, None if it is not at rest."""
    if any(os.path.lexists(companion_path(path, suffix)) for suffix in ("-wal", "-journal", "-shm")):
        return None
    with open_unblocked(path) as file:
        header = file.read(_HEADER)
        status = os.fstat(file.fileno())
    if header[18:24] != _AS_WRITTEN or status.st_size > LARGEST_JOURNAL:
        return None
    return header, status.st_ino, status.st_size, status.st_mtime_ns
