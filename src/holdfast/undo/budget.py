"""What is kept of a session is bounded: beyond that, what only old turns need is deleted.

Never deleted is what the private index names (it is what the next command may change), what a restore without an end or
the next redo needs, and what the newest turns changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from holdfast.session.journal.restores import RestoreStep
from holdfast.undo.history import CallChanges, UndoHistory

KEPT_TURNS = 50
"""Turns whose changes can be undone however much is kept."""

MOST_KEPT = 1 << 30
"""Bytes of what is kept of one session."""

_FOLDER_NAME = re.compile(r"[0-9a-f]{2}")


def needed_objects(history: UndoHistory) -> set[str]:
    """Return the ids of the objects that undos of the newest turns need, and restores that are not over."""
    newest = sorted({each.turn for each in (*history.calls, *history.undone)})[-KEPT_TURNS:]
    calls = [each for each in (*history.calls, *history.undone) if each.turn in newest]
    restores = (each for each in (history.unfinished, history.redoable) if each is not None)
    steps = (step for each in restores for step in each.steps)
    waiting = (name for each in history.open.values() for name in (each.tree, each.scan))
    states = (state.object for each in history.open.values() for state in each.states.values())
    return {name for name in (*_of_calls(calls), *_of_steps(steps), *waiting, *states) if name}


def _of_calls(calls: Iterable[CallChanges]) -> Iterable[str]:
    return (state.object for each in calls for change in each.changes for state in (change.before, change.after))


def _of_steps(steps: Iterable[RestoreStep]) -> Iterable[str]:
    return (state.object for step in steps for state in (step.expect, step.content))


def delete_objects(folder: Path, needed: set[str]) -> int:
    """Delete the objects below `folder` that are not `needed`; return how many."""
    deleted = 0
    for place in (folder / "objects").iterdir():
        if not _FOLDER_NAME.fullmatch(place.name):
            continue
        for path in place.iterdir():
            if place.name + path.name not in needed:
                path.unlink(missing_ok=True)
                deleted += 1
    return deleted
