"""Keeps what files were around the calls of one session, and takes it back: the part that has effects.

How it works. `before_start` keeps what an allowed call may change, in the append with its start: of an edit the
content of its files, of a command a snapshot of the folder. `after_call` looks behind the durable outcome, and journals
what has changed. Only what was seen so is ever undone. A call that ends without that (a stop, a kill) is looked at
behind its turn, before the next call, or by the next process before anything else.

A restore is journalled with all its steps before the first, and its end after the last. One without an end is continued
by the next process: the user has reason so, and each step looks before it acts.

Example: `rm -rf src` is killed half-way with holdfast. The next start finds the snapshot before it, takes another one,
and journals the files that are gone. `/undo` brings them back.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.agent.agent import Agent
from holdfast.agent.recovery.rewind import rewind_entry
from holdfast.agent.seam import PlannedCall, Seen
from holdfast.errors import StateError, UsageError
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import Reading
from holdfast.session.observed_effects import interrupted_note
from holdfast.system.threads import in_daemon
from holdfast.undo.budget import UndoBudget, kept_by_session, needed_objects
from holdfast.undo.history import CallChanges, UndoHistory, undo_history
from holdfast.undo.known_states import same
from holdfast.undo.last_sign import SignsOfLife, last_sign
from holdfast.undo.path_states import look
from holdfast.undo.private_git import GitFailed
from holdfast.undo.restore_plan import CallToUndo, RestorePlan, redo_plan, undo_plan
from holdfast.undo.restore_steps import carried_out, prepared, restore_note
from holdfast.undo.scan import above
from holdfast.undo.snapshots import Snapshot, Snapshots

if TYPE_CHECKING:
    from holdfast.agent.journal_writer import JournalWriter


CALLS_BETWEEN = 100
"""Calls between two looks at how much is kept."""


class SessionUndo:
    """The undo of one session, which works in `root` and keeps contents in `folder`.

    `reading` is the journal when the session was opened.
    """

    def __init__(
        self,
        folder: Path,
        root: Path,
        *,
        reading: Reading,
        private: Sequence[Path] = (),
    ) -> None:
        self._folder = folder
        self._root = root
        self._private = private
        history = undo_history(record.entry for record in reading.records)
        self._open = dict(history.open)  # calls that were not looked at behind
        self._earlier = set(self._open)  # of them, those of an earlier process
        self._signs = SignsOfLife(folder)
        self._last_sign = last_sign(folder) if self._earlier else None
        started = (each.entry for each in reading.records if isinstance(each.entry, e.CallStarted))
        self._planned = {each.call: each.changes for each in started if each.call in self._earlier}
        self._unfinished = history.unfinished
        self._titles: dict[str, str] = {}  # of calls of this process
        self._gave_up = ""
        self._journal: JournalWriter | None = None
        self._since_look = 0  # calls until the size is looked at again
        self.budget = UndoBudget()
        """How much may be kept."""
        self._opened_snapshots: Snapshots | None = None
        self._one_restore = threading.Lock()
        self._looking: asyncio.Task[None] | None = None

    @property
    def _snapshots(self) -> Snapshots:
        if self._opened_snapshots is None:
            self._opened_snapshots = Snapshots(self._folder, self._root, private=self._private)
        return self._opened_snapshots

    # --- around calls -------------------------------------------------------------------------------------------

    def before_start(self, planned: PlannedCall) -> Awaitable[Sequence[e.SnapshotTaken | e.FilesMoved]]:
        """Keep what an allowed call may change."""
        self._titles[planned.call.id] = planned.plan.title
        return in_daemon(lambda: self._snapshot_entries(planned))

    def _snapshot_entries(self, planned: PlannedCall) -> tuple[e.SnapshotTaken | e.FilesMoved, ...]:
        call, began = planned.call.id, time.monotonic()
        seen = tuple(self._moved(each) for each in tuple(self._open.values()))  # else this call would get their changes
        try:
            if planned.plan.effect == "write":
                paths = dict.fromkeys(p for each in planned.plan.changes for p in self._with_missing_folders(each.path))
                states = {path: look(self._root, path, self._snapshots.contents, keep=True) for path in paths}
                entry = e.SnapshotTaken(call=call, states=states, seconds=_since(began))
            elif self._gave_up or not self._has_room():
                entry = e.SnapshotTaken(call=call, failed=self._gave_up)
            else:
                snapshot = self._snapshots.take()
                entry = e.SnapshotTaken(call=call, tree=snapshot.tree, scan=snapshot.scan, seconds=_since(began))
        except (GitFailed, OSError, ValueError) as error:
            entry = e.SnapshotTaken(call=call, failed=_why(error), seconds=_since(began))
        return (*seen, entry)

    def _has_room(self) -> bool:
        """Return whether what is kept is within its bound; else what only old turns need is deleted. Blocks."""
        self._since_look -= 1
        if self._since_look > 0 or self._journal is None:
            return True
        self._since_look = CALLS_BETWEEN
        contents = self._snapshots.contents
        budget, sessions = self.budget, self._folder.parent.parent
        others = sum(kept_by_session(sessions).values()) - contents.size()
        most = min(budget.session, max(0, budget.total - others))
        if contents.size() <= most:
            return True
        self._snapshots.delete_all_but(needed_objects(undo_history(self._journal.entries()), budget.turns))
        if (size := contents.size()) > budget.session:
            self._gave_up = f"More than {budget.session:,} bytes are kept for the newest turns (undo.max_size)."
        elif size + others > budget.total:
            self._gave_up = (
                f"All sessions together keep more than {budget.total:,} bytes (undo.max_total). Delete sessions that "
                "you do not need: holdfast doctor names the largest."
            )
        return not self._gave_up

    def _with_missing_folders(self, path: str) -> tuple[str, ...]:
        """Return the path, and the folders on the way to it that are not there: the call may make them."""
        missing: list[str] = []
        above = Path(path).parent
        while above.parts and not (self._root / above).exists():
            missing.append(str(above))
            above = above.parent
        return (*reversed(missing), path)

    def after_call(self, ended: e.CallEnded) -> Awaitable[Sequence[e.FilesMoved]] | None:
        """Look at what a call has changed; None for one that changes nothing."""
        entry = self._open.get(ended.call)
        if ended.outcome == "interrupted":
            return None  # a stop does not wait: it is looked at behind the turn
        return None if entry is None else in_daemon(lambda: (self._moved(entry),))

    def _moved(self, entry: e.SnapshotTaken) -> e.FilesMoved:
        """Return what is different now from what was kept before a call. Blocks."""
        later = entry.call in self._earlier
        try:
            if entry.tree:
                before = Snapshot(entry.tree, entry.scan)
                after = self._snapshots.take(after_call=True)
                found = self._snapshots.difference(before, after)
                moved = e.FilesMoved(
                    call=entry.call,
                    changes=found.changes,
                    tree=after.tree,
                    uncovered=found.uncovered,
                    doubtful=found.doubtful,
                    later=later,
                )
            else:
                now = {
                    path: look(self._root, path, self._snapshots.contents, keep=True) for path in sorted(entry.states)
                }
                changes = tuple(
                    e.PathChange(path, entry.states[path], state)
                    for path, state in now.items()
                    if not same(entry.states[path], state)
                )
                moved = e.FilesMoved(call=entry.call, changes=changes, later=later)
        except (GitFailed, OSError, ValueError) as error:
            moved = e.FilesMoved(call=entry.call, later=later, failed=_why(error))
        return self._with_doubts(moved) if later else moved

    def _with_doubts(self, moved: e.FilesMoved) -> e.FilesMoved:
        """Return what a later process saw, with the paths that something else may have changed since. Blocks."""
        sign = self._last_sign
        planned = {(each.path, each.after) for each in self._planned.get(moved.call, ())}
        certain = {each.path for each in moved.changes if (each.path, self._hash(each.after)) in planned}
        certain |= {folder for path in tuple(certain) for folder in above(path)}
        certain |= {each.path for each in moved.changes if sign is not None and sign.is_behind(self._root / each.path)}
        doubtful = {each.path for each in moved.changes} - certain
        return msgspec.structs.replace(moved, doubtful=tuple(sorted(doubtful | set(moved.doubtful))))

    def _hash(self, state: e.PathState) -> str | None:
        """Return the hash of a content as plans of edits name it, None of what is not there."""
        content = self._snapshots.contents.get(state.object) if state.kind == "file" else None
        return None if content is None else hashlib.sha256(content).hexdigest()

    # --- what was left ------------------------------------------------------------------------------------------

    def hear(self, entry: e.Entry, journal: JournalWriter) -> None:
        """Hear an entry, which is durable; behind a turn, look at calls that were left."""
        self._journal = journal
        match entry:
            case e.SnapshotTaken(failed=""):
                self._open[entry.call] = entry
                self._signs.begin()
            case e.CallEnded() if not (self._open.keys() - {entry.call}):
                self._signs.end()
            case e.FilesMoved(call=call):
                self._open.pop(call, None)
                self._earlier.discard(call)
                if not self._open:
                    self._signs.end()
            case e.TurnEnded() if self._open and not self._earlier:
                looking = self._look_behind(journal)
                self._looking = asyncio.get_running_loop().create_task(looking, name="look at files")
            case _:
                pass

    async def _look_behind(self, journal: JournalWriter) -> None:
        seen = await in_daemon(lambda: tuple(self._moved(each) for each in tuple(self._open.values())))
        seen = tuple(self._with_note(each) for each in seen)
        try:
            journal.append(*seen)
        except StateError as failed:
            journal.not_recorded(failed)

    def _with_note(self, moved: e.FilesMoved) -> e.FilesMoved:
        """Return it with the note that says it to the model, if there is something to say."""
        if not (moved.changes or moved.uncovered):
            return moved
        return msgspec.structs.replace(moved, note=interrupted_note(self._titles.get(moved.call, moved.call), moved))

    async def look(self) -> Sequence[Seen]:
        """Return what calls without a look changed, and the end of a restore that a kill left half done."""
        if self._looking is not None:
            await asyncio.wait({self._looking})
            self._looking = None
        seen: list[Seen] = []
        if self._open:
            seen += await in_daemon(lambda: tuple(self._moved(each) for each in tuple(self._open.values())))
        if self._unfinished is not None:
            restore = self._unfinished
            skipped = await in_daemon(lambda: self._carried_out(restore))
            self._unfinished = None
            seen += self._ends(restore, skipped)
        return seen

    @property
    def any_running(self) -> bool:
        """Return whether it still looks behind a turn."""
        return self._looking is not None and not self._looking.done()

    async def end(self, within: float) -> None:
        """Wait for a look that runs."""
        self._signs.end()
        if self._looking is not None:
            await asyncio.wait({self._looking}, timeout=2 * within)
            self._looking.cancel()

    # --- taking back --------------------------------------------------------------------------------------------

    def history(self, agent: Agent) -> UndoHistory:
        """Return what the calls of the session changed."""
        return undo_history(agent.journal.entries())

    async def rewind(self, agent: Agent, turn: int, what: e.RewindScope) -> str:
        """Take back what turn `turn` and later ones did to files, with `both` also the conversation.

        Return the text of the prompt with `both`, "" else. Raises `UsageError` while a turn or a task runs, or if there
        is nothing to undo.
        """
        _refuse_with_tasks(agent, "undone")

        async def act() -> str:
            text = rewind_entry(agent.conversation, (), turn)[1] if what == "both" else ""
            history = self.history(agent)
            calls = history.since(turn)
            reported = {each.call for each in history.undone}
            new = [each for each in calls if each.call not in reported]
            if not any(each.changes for each in calls) and what == "files":
                raise UsageError(
                    f"Nothing to undo: no call since turn {turn} changed a file{_unknown(calls)}. See "
                    "holdfast undo --list."
                )
            plan = await in_daemon(lambda: prepared(self._root, self._snapshots, _plan(calls)))
            await self._restore(
                agent,
                e.RestoreStarted(
                    id=agent.journal.new_id("r"),
                    calls=tuple(each.call for each in calls),
                    steps=plan.steps,
                    skipped=plan.skipped,
                    rewinds=turn if what == "both" else 0,
                    uncovered=tuple(dict.fromkeys(path for each in new for path in each.uncovered)),
                    unknown=sum(1 for each in new if each.failed),
                ),
            )
            return text

        return await agent.exclusively(act)

    async def redo(self, agent: Agent) -> None:
        """Take the last undo of files back; raises `UsageError` if there is none, or a turn has begun since."""
        _refuse_with_tasks(agent, "done again")

        async def act() -> None:
            undone = self.history(agent).redoable
            if undone is None:
                raise UsageError("Nothing to redo: no undo of files is the last thing that happened. See /undo.")
            plan = await in_daemon(lambda: prepared(self._root, self._snapshots, redo_plan(undone.steps)))
            await self._restore(
                agent,
                e.RestoreStarted(
                    id=agent.journal.new_id("r"),
                    calls=undone.calls,
                    steps=plan.steps,
                    skipped=plan.skipped,
                    redo=undone.id,
                ),
            )

        await agent.exclusively(act)

    async def dry_run(self, agent: Agent, turn: int) -> RestorePlan:
        """Return what an undo of that turn would do to files now."""
        calls = self.history(agent).since(turn)
        return await in_daemon(lambda: prepared(self._root, self._snapshots, _plan(calls)))

    async def _restore(self, agent: Agent, restore: e.RestoreStarted) -> None:
        agent.journal.append(restore)
        self._unfinished = restore  # a cancellation leaves it to the next look
        skipped = await in_daemon(lambda: self._carried_out(restore))
        agent.journal.append(*self._ends(restore, skipped))
        self._unfinished = None

    def _carried_out(self, restore: e.RestoreStarted) -> tuple[e.SkippedPath, ...]:
        with self._one_restore:
            return carried_out(self._root, self._snapshots, restore)

    def _ends(
        self, restore: e.RestoreStarted, skipped: tuple[e.SkippedPath, ...]
    ) -> tuple[e.RestoreEnded | e.Rewound, ...]:
        """Return the end of a restore and of the conversation that it takes back: one append has both."""
        note = restore_note(restore, skipped, commands=len(restore.calls))
        ended = e.RestoreEnded(id=restore.id, skipped=skipped, note=note)
        rewound = (e.Rewound(turn=restore.rewinds, files=restore.id),) if restore.rewinds else ()
        return (ended, *rewound)


def _plan(calls: Sequence[CallChanges]) -> RestorePlan:
    return undo_plan([CallToUndo(each.changes, each.doubtful, each.later) for each in calls])


def _unknown(calls: Sequence[CallChanges]) -> str:
    """Return what is reason beside of calls whose changes are not known."""
    unknown = sum(1 for each in calls if each.failed)
    return f" ; what {unknown} of them changed is not known" if unknown else ""


def _refuse_with_tasks(agent: Agent, what: str) -> None:
    running = ", ".join(each.started.id for each in agent.conversation.open_tasks)
    if running:
        raise UsageError(f"Nothing was {what}: background task {running} runs and may change files. Stop it first.")


def _why(error: Exception) -> str:
    if isinstance(error, GitFailed):
        return str(error)
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"The files could not be kept: {reason}."


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)
