"""Which paths a restore makes what they were, and in which order. Pure: it only decides.

How it works. A path goes back through the changes of the calls, the last one first, to what it was before the first. It
stops where the chain is broken: if a call found something else than the call before it had left, another program or the
user has changed the path in between, and going on would undo that too.

The order is such that every prefix of it can be continued: what stands in the way is removed first, then folders are
made, then files written, and what else goes is removed last. Each step is complete by itself.

Example: a call wrote `a.py`, the user edited it, a second call deleted it. Undoing both gives back the user's file, and
says that the first change stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from holdfast.session.journal.restores import PathChange, RestoreStep, SkippedPath
from holdfast.undo.known_states import same


class RestorePlan(msgspec.Struct, frozen=True):
    """The `steps` of a restore, in their order, and the paths that it leaves alone from the start."""

    steps: tuple[RestoreStep, ...]
    skipped: tuple[SkippedPath, ...] = ()


class CallToUndo(msgspec.Struct, frozen=True):
    """What one call `changed`; of that, `doubtful` paths are left alone. `later` is whether a later process saw it."""

    changed: Sequence[PathChange]
    doubtful: Collection[str] = ()
    later: bool = False


def undo_plan(calls: Sequence[CallToUndo]) -> RestorePlan:
    """Return the plan that takes these changes back; each item is what one call changed, the oldest first."""
    last: dict[str, RestoreStep] = {}
    skipped: dict[str, SkippedPath] = {}
    for call in reversed(calls):
        for change in call.changed:
            path, step = change.path, last.get(change.path)
            if path in skipped:
                continue
            if path in call.doubtful and change.after.kind != "absent":  # nothing is lost where nothing is
                skipped[path] = SkippedPath(path, _LATER if call.later else _ONLY_COPY)
            elif change.before.kind == "other":
                skipped[path] = SkippedPath(path, _NOT_KEPT)
            elif step is None:
                last[path] = RestoreStep(path, expect=change.after, content=change.before)
            elif same(change.after, step.content):
                last[path] = msgspec.structs.replace(step, content=change.before)
            else:
                skipped[path] = SkippedPath(path, _BETWEEN)
    lost = {path for path, step in last.items() if step.expect.kind == "other"}
    skipped |= {path: SkippedPath(path, _NOT_KEPT) for path in lost}
    steps = [step for path, step in last.items() if path not in lost and not same(step.expect, step.content)]
    return RestorePlan(ordered(steps), tuple(skipped.values()))


_NOT_KEPT = "what it was before is not kept, or not known"
_LATER = "something else may have changed it after the crash"
_ONLY_COPY = "it may be the only copy of a file that is not kept, and that the call changed or removed"
_BETWEEN = "something else changed it between two calls: only what came behind that is undone"


def redo_plan(steps: Iterable[RestoreStep]) -> RestorePlan:
    """Return the plan that takes the done steps of a restore back."""
    return RestorePlan(ordered(RestoreStep(each.path, expect=each.content, content=each.expect) for each in steps))


def ordered(steps: Iterable[RestoreStep]) -> tuple[RestoreStep, ...]:
    """Return the steps in the order in which each can be done."""
    steps = tuple(steps)
    written = {step.path for step in steps if step.content.kind in ("file", "link")}

    def place(step: RestoreStep) -> tuple[int, int, str]:
        depth = step.path.count("/")
        match step.content.kind, step.expect.kind:
            case "folder", _:
                return 2, depth, step.path
            case (("file" | "link"), _):
                return 3, depth, step.path
            case _, "folder":
                return (1 if _lies_below(step.path, written) else 5), -depth, step.path
            case _:
                return (0 if _lies_below(step.path, written) else 4), depth, step.path

    return tuple(sorted(steps, key=place))


def _lies_below(path: str, others: set[str]) -> bool:
    return any(path[:at] in others for at, letter in enumerate(path) if letter == "/")
