"""What the calls of a session changed, what was undone of it, and what can be. Pure: a fold over the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from holdfast.session.journal import entries as e
from holdfast.undo.known_states import same


class CallChanges(msgspec.Struct, frozen=True):
    """What a call of `turn` changed in files; `failed` is why that is not known, or not kept. Calls have a `number`."""

    turn: int
    call: str
    changes: tuple[e.PathChange, ...] = ()
    uncovered: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    later: bool = False
    failed: str = ""
    number: int = 0


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
    numbers: dict[str, int] = {}
    unfinished: e.RestoreStarted | None = None
    redoable: list[e.RestoreStarted] = []
    for entry in entries:
        match entry:
            case e.PromptAccepted():
                turn = entry.turn
                redoable.clear()
            case e.SnapshotTaken():
                turns[entry.call] = turn
                numbers[entry.call] = len(turns)
                waiting[entry.call] = entry
                if entry.failed:
                    waiting.pop(entry.call)
                    calls[entry.call] = CallChanges(turn, entry.call, failed=entry.failed, number=len(turns))
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
                    numbers.get(entry.call, len(turns)),
                )
                if found.changes or found.uncovered or found.failed:
                    calls[entry.call] = found
            case e.RestoreStarted():
                unfinished = entry
            case e.RestoreEnded() if unfinished is not None and unfinished.id == entry.id:
                late = entry.skipped[len(unfinished.skipped) :]  # behind those from the start
                _take_back(unfinished, frozenset(each.path for each in late), calls, undone, redoable)
                unfinished = None
            case _:
                pass
    return UndoHistory(
        tuple(calls.values()), tuple(undone.values()), waiting, unfinished, redoable[-1] if redoable else None
    )


def _take_back(
    ended: e.RestoreStarted,
    left: frozenset[str],
    calls: dict[str, CallChanges],
    undone: dict[str, CallChanges],
    redoable: list[e.RestoreStarted],
) -> None:
    """Move what a restore did to the other side; what it `left` alone stays, and can be tried again."""
    steps = tuple(step for step in ended.steps if step.path not in left)
    source, target = (undone, calls) if ended.redo else (calls, undone)
    reached = {step.path: step.expect for step in steps}
    left |= {each.path for each in ended.skipped}
    for call in ended.calls if ended.redo else reversed(ended.calls):
        if call not in source:
            continue
        known = source.pop(call)
        sure = (each for each in known.changes if each.path not in known.doubtful or each.after.kind == "absent")
        moved = tuple(each for each in sure if _is_done(each, left, reached, redo=bool(ended.redo)))
        stays = msgspec.structs.replace(known, changes=tuple(each for each in known.changes if each not in moved))
        if stays.changes or stays.uncovered or stays.failed:
            source[call] = stays
        if ended.redo and not moved:
            continue
        base = target.get(call, msgspec.structs.replace(known, changes=(), uncovered=(), failed=""))
        changes = tuple(sorted((*base.changes, *moved), key=lambda each: each.path))
        target[call] = msgspec.structs.replace(base, changes=changes)
    for each in (calls, undone):
        ordered = sorted(each.values(), key=lambda found: found.number)
        each.clear()
        each |= {found.call: found for found in ordered}
    if not ended.redo:
        redoable.append(msgspec.structs.replace(ended, steps=steps))
        return
    again = next((each for each in redoable if each.id == ended.redo), None)
    redoable[:] = [each for each in redoable if each.id != ended.redo]
    rest = () if again is None else tuple(step for step in again.steps if step.path in left)
    if again is not None and rest:
        redoable.append(msgspec.structs.replace(again, steps=rest))


def _is_done(change: e.PathChange, left: frozenset[str], reached: dict[str, e.PathState], *, redo: bool) -> bool:
    """Return whether a restore took a change of a call along; `reached` is what each path was made so far."""
    if change.path not in left:
        return True
    if redo or change.path not in reached:
        return False
    if change.before.kind == "other" or not same(change.after, reached[change.path]):
        del reached[change.path]  # here something else changed it: what came before stays
        return False
    reached[change.path] = change.before
    return True
