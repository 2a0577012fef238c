"""What the calls of a session changed, what was undone of it, and what can be. Pure: a fold over the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from holdfast.session.journal import entries as e


class CallChanges(msgspec.Struct, frozen=True):
    """What a call of `turn` changed in files; `failed` is why that is not known, or not kept."""

    turn: int
    call: str
    changes: tuple[e.PathChange, ...] = ()
    uncovered: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    later: bool = False
    failed: str = ""


class UndoHistory(msgspec.Struct, frozen=True):
    """The `calls` whose changes are in the files, in their order, and those that were `undone`.

    `open` are the calls that were started and not looked at behind, with what is kept of the files before them.
    `unfinished` is a restore without an end. `redoable` is the last one that can be undone.
    """

    calls: tuple[CallChanges, ...] = ()
    undone: tuple[CallChanges, ...] = ()
    open: Mapping[str, e.SnapshotTaken] = msgspec.field(default_factory=dict[str, e.SnapshotTaken])
    unfinished: e.RestoreStarted | None = None
    redoable: e.RestoreStarted | None = None

    def since(self, turn: int) -> tuple[CallChanges, ...]:
        """Return the calls of that turn and of later ones."""
        return tuple(each for each in self.calls if each.turn >= turn)


def undo_history(entries: Iterable[e.Entry]) -> UndoHistory:
    """Return what the journal says."""
    turn = 0
    calls: dict[str, CallChanges] = {}
    undone: dict[str, CallChanges] = {}
    waiting: dict[str, e.SnapshotTaken] = {}
    turns: dict[str, int] = {}
    unfinished: e.RestoreStarted | None = None
    redoable: list[e.RestoreStarted] = []
    for entry in entries:
        match entry:
            case e.PromptAccepted():
                turn = entry.turn
                redoable.clear()
            case e.SnapshotTaken():
                turns[entry.call] = turn
                waiting[entry.call] = entry
                if entry.failed:
                    waiting.pop(entry.call)
                    calls[entry.call] = CallChanges(turn, entry.call, failed=entry.failed)
            case e.FilesMoved():
                waiting.pop(entry.call, None)
                found = CallChanges(
                    turns.get(entry.call, turn),
                    entry.call,
                    entry.changes,
                    entry.uncovered,
                    entry.doubtful,
                    entry.later,
                    entry.failed,
                )
                if found.changes or found.uncovered or found.failed:
                    calls[entry.call] = found
            case e.RestoreStarted():
                unfinished = entry
            case e.RestoreEnded() if unfinished is not None and unfinished.id == entry.id:
                skipped = {each.path for each in entry.skipped}
                done = tuple(step for step in unfinished.steps if step.path not in skipped)
                ended, unfinished = msgspec.structs.replace(unfinished, steps=done), None
                _take_back(ended, calls, undone, redoable)
            case _:
                pass
    return UndoHistory(
        tuple(calls.values()), tuple(undone.values()), waiting, unfinished, redoable[-1] if redoable else None
    )


def _take_back(
    ended: e.RestoreStarted,
    calls: dict[str, CallChanges],
    undone: dict[str, CallChanges],
    redoable: list[e.RestoreStarted],
) -> None:
    """Move the calls of a restore to the other side."""
    source, target = (undone, calls) if ended.redo else (calls, undone)
    for call in ended.calls:
        if call in source:
            target[call] = source.pop(call)
    if ended.redo:
        redoable[:] = [each for each in redoable if each.id != ended.redo]
        ordered = sorted(calls.values(), key=lambda each: each.turn)  # stable: calls of one turn keep their order
        calls.clear()
        calls |= {each.call: each for each in ordered}
    else:
        redoable.append(ended)
