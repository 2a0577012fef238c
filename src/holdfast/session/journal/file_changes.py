"""The files that a started call changes: one, or several by one patch."""

from __future__ import annotations

from holdfast.session.journal.entries import CallStarted
from holdfast.tool_calls import FileChange


def started_changes(started: CallStarted) -> tuple[FileChange, ...]:
    """Return the planned changes of the call, in the order in which they are made."""
    return started.changes if started.change is None else (started.change, *started.changes)
