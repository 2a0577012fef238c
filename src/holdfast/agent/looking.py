"""A look at the world for calls that started and have no outcome."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from holdfast.agent.settle import Known
from holdfast.calls import FileChange, FileSeen
from holdfast.session.conversation import OpenCall
from holdfast.session.entries import CallEnded, CallStarted
from holdfast.tools.tool import Toolbox


def edits(calls: Iterable[OpenCall]) -> dict[str, FileChange]:
    """Return the file changes of calls that started, by call id."""
    return {call.started.call: call.started.change for call in calls if call.started and call.started.change}


def look(
    started: Iterable[CallStarted],
    toolbox: Toolbox,
    *,
    seconds: Mapping[str, float],
    began: Mapping[str, float],
    ended: Mapping[str, CallEnded],
    gap: bool,
) -> Known:
    """Return what is known of calls that started.

    `seconds` is how long those of this process have run, `began` when others began, in seconds since the epoch; `ended`
    what the journal did not take; `gap` whether of these calls something in it could not be read.
    """
    known = Known(seconds=dict(seconds), ended=dict(ended), gap=gap)
    now = time.time()
    for entry in started:
        if entry.change is not None:
            known.looked[entry.call] = looked = toolbox.look(entry.change)
            if looked == "after":
                known.seen[entry.call] = toolbox.present(FileSeen(path=entry.change.path))
        if entry.spool is not None:
            since = began.get(entry.call, now - seconds.get(entry.call, 0.0))
            if (left := toolbox.traces(entry.spool, since)) is not None:
                known.traces[entry.call] = left
    return known
