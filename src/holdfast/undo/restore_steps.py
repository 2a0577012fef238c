"""Carries out the plan of a restore: prepared, journalled, then done path by path, in any process that comes after.

Preparing keeps every content that the steps need, and every content that they replace. So from the entry on, nothing
but the session's own folder is needed: a restore can always be finished, and undone. Each step looks first. What is
done already stays, what is as expected is changed, and what is anything else is skipped and listed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from holdfast.session.journal.restores import RestoreStarted, RestoreStep, SkippedPath
from holdfast.undo.known_states import same
from holdfast.undo.path_changes import PathChanged, make
from holdfast.undo.path_states import look
from holdfast.undo.restore_plan import RestorePlan
from holdfast.undo.snapshots import Snapshots


def prepared(root: Path, snapshots: Snapshots, plan: RestorePlan) -> RestorePlan:
    """Return the plan without what is done already and what cannot be done; all its contents are kept. Blocks."""
    contents = snapshots.contents
    skipped = list(plan.skipped)
    steps: list[RestoreStep] = []
    for step in plan.steps:
        now = look(root, step.path, contents, keep=True)
        if same(now, step.content):
            continue
        if same(now, step.expect):
            steps.append(step)
        else:
            skipped.append(SkippedPath(step.path, "it was changed since, by something else"))
    names = {step.content.object for step in steps if step.content.object}
    missing = [name for name in names if contents.get(name) is None]
    found = snapshots.contents_of(missing)
    for content in found.values():
        contents.put(content)
    lost = set(missing) - set(found)
    skipped += [SkippedPath(step.path, _LOST) for step in steps if step.content.object in lost]
    return RestorePlan(tuple(step for step in steps if step.content.object not in lost), tuple(skipped))


_LOST = "this session does not have its content: git has removed it, or the session is a fork of the one that has it"


def carried_out(
    root: Path, snapshots: Snapshots, restore: RestoreStarted, *, done: Callable[[], object] = tuple
) -> tuple[SkippedPath, ...]:
    """Do every step that is not done yet, and return what was left alone. Blocks; `done` hears of each step.

    A full disk ends it: the steps that are left are skipped, and can be done once there is room.
    """
    skipped = list(restore.skipped)
    for number, step in enumerate(restore.steps):
        temporary = f".holdfast-{restore.id}-{number}"
        try:
            make(root, step.path, step.expect, step.content, snapshots.contents, temporary=temporary)
        except PathChanged as changed:
            skipped.append(SkippedPath(step.path, str(changed)))
        except OSError as error:
            why = f"the disk could not take it: {error.strerror}"
            skipped += [SkippedPath(each.path, why) for each in restore.steps[number:]]
            break
        done()
    return tuple(skipped)


def restore_note(restore: RestoreStarted, skipped: Sequence[SkippedPath], *, commands: int = 0) -> str:
    """Return what the model reads of a restore: which files are as they were, which are not, and what stays."""
    left = {each.path for each in skipped[len(restore.skipped) :]}  # those from the start may be done in part
    done = [step.path for step in restore.steps if step.path not in left]
    verb = "did again what had been undone" if restore.redo else "undid what calls had done to files"
    parts = [f"[Note from holdfast: the user {verb}."]
    if done:
        parts.append(f"Restored: {_listed(done)}.")
    if skipped:
        parts.append(f"Left as they are: {_listed([f'{each.path} ({each.why})' for each in skipped])}.")
    if restore.uncovered:
        parts.append(f"Not kept, so not restored: {_listed(restore.uncovered)}.")
    if restore.unknown:
        calls = "1 call" if restore.unknown == 1 else f"{restore.unknown} calls"
        parts.append(f"What {calls} did to files is not known, so it stays.")
    if not (done or skipped or restore.uncovered or restore.unknown):
        parts.append("No file differed.")
    if commands and not restore.redo:
        parts.append("Effects outside of files stay: processes, the network, git's index, branches and commits.")
    return " ".join(parts) + " Read a file again before you change it.]"


_LISTED = 20


def _listed(paths: Sequence[str]) -> str:
    more = len(paths) - _LISTED
    return ", ".join(paths[:_LISTED]) + (f" and {more} more" if more > 0 else "")
