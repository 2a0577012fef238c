"""Continues a session in another folder: its own was moved, renamed or removed, or the user wants it elsewhere.

The move is a fact of the journal, written before anything happens in the new folder. From there on the session is one
of that folder: its permissions and its trust are those of the new folder, what the user allowed in the session before
is asked about again, and the files that the model saw are looked for under the new folder before the next prompt. What
was said earlier stays as it was said, absolute paths too, and the note to the model says so.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from holdfast.errors import UsageError
from holdfast.session import model_notices
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Moved, SessionOpened
from holdfast.session.journal.folder_changes import MovedBy
from holdfast.session.journal.store import Reading
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.text import valid_unicode


def session_folder(reading: Reading) -> str:
    """Return the folder that the session works in now, "" if the entry that names it is lost."""
    for record in reversed(reading.records):
        match record.entry:
            case Moved(to=folder) | SessionOpened(cwd=folder):
                return folder
            case _:
                pass
    return ""


def move_entry(reading: Reading, summary: SessionSummary) -> Moved | None:
    """Return the entry of the move that `summary` asks for, None if it asks for none or the session is there already.

    Raises `UsageError` if a background task of the session still runs: its command works in the old folder.
    """
    old, new = session_folder(reading), summary.cwd
    if summary.moved_by is None or old in ("", new):
        return None
    if valid_unicode(new) != new:
        raise UsageError(f"Session {summary.id!r} cannot be moved to {new!r}: its name is not valid UTF-8. Rename it.")
    _refuse_running_tasks(reading, summary.id)
    return Moved(from_=old, to=new, by=summary.moved_by, note=model_notices.moved_note(old, new))


def move_session(catalog: Catalog, summary: SessionSummary, to: Path, by: MovedBy) -> Moved | None:
    """Journal that a session continues in the folder `to`, and return the entry, None if it is there already.

    Raises `SessionBusy` if another process holds it, `UsageError` if one of its tasks runs or its folder is unknown.
    """
    store = SqliteStore.open(catalog.folder(summary.id))
    try:
        reading = store.read()
        if not session_folder(reading):
            raise UsageError(
                f"Session {summary.id!r} cannot be moved: the entry that names its folder is lost. "
                f"Resume it there instead: holdfast -r {summary.id}"
            )
        moved = move_entry(reading, moved_summary(summary, to, by))
        if moved is not None:
            store.append([moved], expected=store.length)
    finally:
        store.close()
    catalog.find(summary.id)  # writes its summary
    return moved


def moved_summary(summary: SessionSummary, to: Path, by: MovedBy) -> SessionSummary:
    """Return the summary of a session that is to continue in the folder `to`."""
    return msgspec.structs.replace(summary, cwd=str(to), moved_by=by)


def _refuse_running_tasks(reading: Reading, session: str) -> None:
    from holdfast.tools.process.process_table import boot, running_process  # noqa: PLC0415 - only for a move

    for task in fold(record.entry for record in reading.records).open_tasks:
        process = task.process
        if process is None or process.boot != boot():
            continue
        found = running_process(process.pid)
        if found is not None and found.start == process.start:
            raise UsageError(
                f"Session {session!r} cannot be moved: its background task {task.started.id} still runs "
                f"(process {process.pid}). Wait for its end, or stop it with: kill {process.pid}"
            )
