"""Backs up local sessions: each completely, into a session folder, written again when it changed."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import DamageError
from holdfast.session.catalog import Catalog
from holdfast.session.storage.sqlite_store import SqliteStore, complete_rows


def back_up(catalog: Catalog, target: Path) -> list[str]:
    """Write every session that changed since the last backup into `target`, completely, and return their ids.

    A backup has the layout of a session folder: moved among the sessions, it is a session again. Raises `DamageError`
    for the first damaged session, after the others are written.
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
            into.trash(summary.id)  # kept until the new one is complete
        store = SqliteStore.create(folder)
        try:
            store.add_rows(rows)
        finally:
            store.close()
        written.append(summary.id)
    if damaged is not None:
        raise damaged
    return written
