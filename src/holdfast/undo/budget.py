"""What is kept of a session is bounded: beyond that, what only old turns need is deleted.

Never deleted is what the private index names (it is what the next command may change), what a restore without an end or
the next redo needs, and what the newest turns changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from holdfast.session.journal.restores import RestoreStep
from holdfast.system.durable_files import UNDO_FOLDER
from holdfast.undo.history import CallChanges, UndoHistory
from holdfast.undo.kept_contents import kept_bytes


class UndoBudget(msgspec.Struct, frozen=True, kw_only=True):
    """What may be kept: `turns` that can be undone however much that is, `session` bytes of one, `total` of all."""

    turns: int = 50
    session: int = 1 << 30
    total: int = 5 << 30


_FOLDER_NAME = re.compile(r"[0-9a-f]{2}")


def kept_by_session(sessions: Path) -> dict[str, int]:
    """Return the bytes that each session in this folder keeps of files, without those that keep none."""
    found = {folder.parent.name: kept_bytes(folder) for folder in sessions.glob(f"*/{UNDO_FOLDER}")}
    return {name: size for name, size in found.items() if size}


def needed_objects(history: UndoHistory, turns: int) -> set[str]:
    """Return the ids of the objects that undos of the newest turns need, and restores that are not over."""
    newest = sorted({each.turn for each in (*history.calls, *history.undone)})[-turns:]
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
