"""A backup of the local sessions: each whole, in a folder like its own, written again when it changed."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import DamageError
from holdfast.session.catalog import Catalog
from holdfast.session.storage.sqlite_store import SqliteStore, complete_rows


def back_up(catalog: Catalog, target: Path) -> list[str]:
    """Write every session that changed since the last backup into `target`, whole, and return their ids.

    A backup is a folder like any session's: moved among the sessions, it is one again. Raises `DamageError` for the
    first damaged session, after the others are written.
    """
    written: list[str] = []
    damaged: DamageError | None = None
    into = Catalog(target)
    for summary in catalog.all():
        try:
            rows = complete_rows(catalog.folder(summary.id))
        except DamageError as error:
            damaged = damaged or error
            continue
        folder = into.folder(summary.id)
        if (folder / "session.db").exists():
            there = complete_rows(folder)
            if there == rows:
                continue
            into.trash(summary.id)  # kept beside, until the new one is whole
        store = SqliteStore.create(folder)
        try:
            store.add_rows(rows)
        finally:
            store.close()
        written.append(summary.id)
    if damaged is not None:
        raise damaged
    return written
