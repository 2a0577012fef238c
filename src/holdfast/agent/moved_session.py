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
from holdfast.session.catalog import SessionSummary
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Moved, MovedBy
from holdfast.session.journal.store import Reading
from holdfast.text import valid_unicode


def move_entry(reading: Reading, summary: SessionSummary, *, old: str) -> Moved | None:
    """Return the entry of the move from the folder `old` that `summary` asks for, None if the session is there.

    Raises `UsageError` if a background task of the session still runs: its command works in the old folder.
    """
    new = summary.cwd
    if summary.moved_by is None or old in ("", new):
        return None
    if valid_unicode(new) != new:
        raise UsageError(f"Session {summary.id!r} cannot be moved to {new!r}: its name is not valid UTF-8. Rename it.")
    _refuse_running_tasks(reading, summary.id)
    program = fold(record.entry for record in reading.records).program
    return Moved(
        from_=old, to=new, by=summary.moved_by, note=model_notices.folder_moved_note(old, new, program=program)
    )


def moved_summary(summary: SessionSummary, to: Path, by: MovedBy) -> SessionSummary:
    """Return the summary of a session that is to continue in the folder `to`."""
    return msgspec.structs.replace(summary, cwd=str(to), moved_by=by)


def _refuse_running_tasks(reading: Reading, session: str) -> None:
    from holdfast.tools.process.process_table import boot, running_process

    for task in fold(record.entry for record in reading.records).open_tasks:
        process = task.process
        if process is None or process.boot != boot():
            continue
        found = running_process(process.pid)
        if found is not None and found.start == process.start:
            raise UsageError(
                f"Session {session!r} cannot be moved: its background task {task.started.id} still runs "
                f"(process {process.pid}). Wait for its end, or stop that process."
            )
