"""Gathers evidence about calls that started and have no outcome: files on disk, command output, running times."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence

from holdfast.agent.recovery.settle import Evidence
from holdfast.agent.seam import LeftBehind
from holdfast.session.conversation.conversation import OpenCall
from holdfast.session.journal.entries import CallEnded, CallStarted, ResponseEnded
from holdfast.session.journal.store import Reading
from holdfast.tool_calls import FileChange, FileChecks, FileSeen
from holdfast.tools.tool import Toolbox


def edits(calls: Iterable[OpenCall]) -> dict[str, tuple[FileChange, ...]]:
    """Return the file changes of started calls, by call id."""
    started = [call.started for call in calls if call.started is not None]
    return {each.call: each.changes for each in started if each.changes}


def has_gap(reading: Reading) -> bool:
    """Return whether entries after the last response are unreadable: outcomes of its calls may be among them."""
    last = max((finding.seq or sys.maxsize for finding in reading.findings), default=0)
    responses = (record.seq for record in reversed(reading.records) if isinstance(record.entry, ResponseEnded))
    return last > next(responses, 0)


def gather_evidence(
    started: Iterable[CallStarted],
    toolbox: Toolbox,
    *,
    seconds: Mapping[str, float],
    began: Mapping[str, float],
    ended: Mapping[str, CallEnded],
    gap: bool,
) -> Evidence:
    """Return the available evidence about started calls.

    `seconds` is how long the calls of this process have run, and `began` when other processes' calls began, in seconds
    since the epoch. `ended` holds outcomes that are not journalled yet. `gap` is true if entries about these calls may
    be unreadable.
    """
    known = Evidence(seconds=dict(seconds), ended=dict(ended), gap=gap)
    now = time.time()
    for entry in started:
        if entry.changes:
            checks: FileChecks = tuple((each.path, toolbox.check_change(each)) for each in entry.changes)
            known.file_checks[entry.call] = checks
            landed = (FileSeen(path=path) for path, check in checks if check == "after")
            known.snapshots[entry.call] = tuple(map(toolbox.current_snapshot, landed))
        if entry.spool is not None:
            since = began.get(entry.call, now - seconds.get(entry.call, 0.0))
            if (traces := toolbox.traces(entry.spool, since)) is not None:
                known.traces[entry.call] = traces
    return known


MAY_RUN = "processes that it had started may still be running"


async def leftover_processes(toolbox: Toolbox, calls: Sequence[OpenCall], others: Sequence[LeftBehind] = ()) -> str:
    """Return a note about processes left by these calls and other work, "" if all have exited by themselves."""
    of_calls = (
        LeftBehind(call.started.call, call.started.spool, call.process) for call in calls if call.started is not None
    )
    left = (*of_calls, *others)
    quiet = await toolbox.wait_for_exit({each.spool: each.process for each in left if each.spool is not None})
    found = await toolbox.reap({each.id: each.process for each in left})
    return "; ".join(note for note in (found, "" if quiet else MAY_RUN) if note)
