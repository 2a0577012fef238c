"""Recovery: settles, before the next prompt, what a crash or a full disk left open.

How it works. Only the journal says what happened. If it ends inside a turn, the process that wrote it died there, or
could write no further. `inspect` finds what the journal cannot say: which processes are still running, and which files
have changed. `recover` then gets the missing entries and appends them in one transaction: the damage that reading the
journal found, the ends of what ran beside the turn (`RecoveryStep`: the user's commands, background tasks), and from
`settle` an outcome for each open call and the end of the turn. From there on the session is like any other. A turn that
ends in this process is settled by the same code, through `settle_turn`, so there is one place that settles.

Why not mark a clean shutdown and repair only without the mark? Then the code that matters most would run most rarely.
Here each prompt recovers first. If nothing is open, nothing is settled, but the files that the model saw are checked
for changes. Creating an `Agent` settles nothing: a session must open, and be readable, also with a full disk.

Facts that this process knows and the journal does not are kept here until they are journalled: why it left a turn open
(`_unsettled`), outcomes that the disk refused (`_unwritten`), damage that was not reported yet (`_unreported`,
`_repaired`), and whether unreadable entries may contain outcomes (`_gap`). A failed append forgets none of them, and
neither does a cancellation while `inspect` waits: nothing has changed by then, and the next prompt starts over.

Example: the disk is full while `pytest` runs. `call-ended` cannot be written, so its outcome is kept. The turn's end
cannot be written either: the user reads it, and the journal has an open turn. With the next prompt, when there is
space, `recover` writes `call-ended` with the outcome that `pytest` had, and `turn-ended` with the cause `storage`. If
holdfast was killed in between, the next process has only the journal and the command's own record of its end. It
writes what that shows, with the cause `crash`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from holdfast.agent.cancellation import DetachedTasks, StopSignal
from holdfast.agent.context.drift import Drift
from holdfast.agent.conversation_checks import Checks
from holdfast.agent.journal_writer import JournalWriter
from holdfast.agent.recovery.evidence import MAY_RUN, edits, gather_evidence, has_gap, leftover_processes
from holdfast.agent.recovery.settle import Evidence, can_resume_turn, settle, settle_hook, started_only
from holdfast.agent.seam import MOST_LOOK, EffectLook, LeftBehind, RecoveryStep, Seen
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import StateError
from holdfast.session.conversation.conversation import Conversation, OpenHook
from holdfast.session.conversation.fold_state import ResumedReading
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import Reading
from holdfast.session.journal.tasks import TaskStarted
from holdfast.session.model_notices import REASONS
from holdfast.tools.tool import Toolbox

QUIET = 15.0
"""Seconds for old processes to exit or be ended: two on a quiet machine, the rest is for a busy one."""

FILE_LOOK = 2.5
"""Seconds for checking the files; a disk may not answer. A stop ends both waits at once."""


class Aftermath(msgspec.Struct, frozen=True):
    """The result of `inspect`: a note about leftover `processes`, and an entry for `files` that have changed.

    `raised` is the exception that interrupted it, to be raised after the journal is settled. `tools` are entries for
    MCP servers that failed and tools that have changed; they may be journalled only before a prompt. `observations`
    are of calls without an outcome.
    """

    processes: str
    files: tuple[e.FilesChanged | e.FolderGone, ...] = ()
    raised: BaseException | None = None
    tools: tuple[e.ServerFailed | e.ToolsChanged, ...] = ()
    observations: tuple[Seen, ...] = ()


class Recovery:
    """Settles what is open in one session, with the evidence about it."""

    def __init__(  # noqa: PLR0913 - everything that may be open, and the sources of evidence
        self,
        journal: JournalWriter,
        reading: Reading,
        *,
        toolbox: Toolbox,
        drift: Drift,
        steps: Sequence[RecoveryStep],
        looks: Sequence[EffectLook],
        checks: Checks,
        detached: DetachedTasks,
    ) -> None:
        self._journal = journal
        self._toolbox = toolbox
        self._drift = drift
        self._steps = steps
        self._looks = looks
        self._checks = checks
        self._detached = detached
        self._unsettled: StopCause | None = None  # why this process left the open turn
        self._unwritten: dict[str, e.CallEnded] = {}  # outcomes that are not journalled yet
        self.load(reading)

    def load(self, reading: Reading) -> None:
        """Take over the damage that a reading found, and when the calls and commands in the journal began."""
        entries = [record.entry for record in reading.records]
        self._began = {r.entry.call: r.at for r in reading.records if isinstance(r.entry, e.CallStarted)}
        self._began |= {r.entry.id: r.at for r in reading.records if isinstance(r.entry, e.ShellStarted | TaskStarted)}
        reported = {finding for entry in entries if isinstance(entry, e.Repaired) for finding in entry.findings}
        if isinstance(reading, ResumedReading):
            self._began = reading.checkpoint.began | self._began
            reported.update(reading.checkpoint.reported)
        self._unreported = tuple(found.what for found in reading.findings if found.what not in reported)
        self._gap = has_gap(reading)
        self._checks.add_journalled(reported)
        self._repaired = self._checks.new_findings(self._journal.conversation)

    def add_damage(self, found: Iterable[str]) -> None:
        """Take over damage that was found after the session was opened. The next prompt reports it."""
        new = (what for what in found if what not in self._unreported)
        self._unreported = (*self._unreported, *self._checks.not_journalled(new))

    def keep_outcome(self, ended: e.CallEnded) -> None:
        """Keep an outcome that could not be journalled until its call is settled."""
        self._unwritten[ended.call] = ended

    @property
    def can_resume(self) -> bool:
        """Return whether only a question to the user is open.

        False with a gap in the journal, because the call may have run, after a turn of this process, because the user
        saw it end, and if a tool of an open call is gone: a turn keeps the tools that it began with.
        """
        conversation = self._journal.conversation
        resumable = can_resume_turn(conversation) and not self._gap and self._unsettled is None
        return resumable and not self._lacks_a_tool(conversation)

    def _lacks_a_tool(self, conversation: Conversation) -> bool:
        """Return whether an open call is of a tool that the session declares and does not have any more."""
        declared = {each.name for each in conversation.opened.tools} if conversation.opened is not None else set[str]()
        called = {each.part.name for each in conversation.open_calls} & declared
        return any(self._toolbox.tools.get(name) is None for name in called)

    async def inspect(self, stop: StopSignal, *, files: bool = True) -> Aftermath:
        """Look for processes that an earlier holdfast left running and, with `files`, for files that have changed.

        A stop ends the wait early, and recovery continues without an answer.
        """
        processes, raised = await self._leftovers(stop)
        observations: list[Seen] = []
        for look in self._looks if raised is None else ():  # behind the processes: they have ended
            found, raised = await stop.try_await(look(), (), within=MOST_LOOK)
            observations += found
        if raised is not None or not files:
            return Aftermath(processes, raised=raised, observations=tuple(observations))
        changed, raised = await stop.try_await(self._drift.files(), (), within=FILE_LOOK)
        tools = self._drift.tools() if raised is None else ()
        return Aftermath(processes, changed, raised, tools, tuple(observations))

    def _lost_hooks(self) -> tuple[OpenHook, ...]:
        """Return the hooks that an earlier process left without an end."""
        known = self._journal.own_hooks
        return tuple(each for each in self._journal.conversation.open_hooks if each.started.id not in known)

    async def _leftovers(self, stop: StopSignal) -> tuple[str, BaseException | None]:
        conversation = self._journal.conversation
        turn_is_orphaned = conversation.is_open and self._unsettled is None
        others = [left for step in self._steps for left in step.orphans(conversation)]
        others += (LeftBehind(each.started.id, each.started.spool, each.process) for each in self._lost_hooks())
        if not turn_is_orphaned and not others:
            return "", None
        calls = conversation.open_calls if turn_is_orphaned else ()
        return await stop.try_await(leftover_processes(self._toolbox, calls, others), MAY_RUN, within=QUIET)

    def recover(self, processes: str, *, observations: Sequence[Seen] = (), resuming: bool = False) -> None:
        """Settle what is open and report the damage. With `resuming`, calls that had not started stay open."""
        conversation = self._journal.conversation
        entries: list[e.Entry] = []
        if self._unreported:
            note = (
                f"[Note from {conversation.program}: part of this session's record was damaged and could not be read.]"
            )
            entries.append(e.Repaired(findings=self._unreported, note=note))
        if self._repaired:
            entries.append(e.Repaired(findings=self._repaired))
        entries += (settle_hook(each.started, conversation) for each in self._lost_hooks())
        for step in self._steps:  # before the turn that they belong to: its settled end is the last thing in it
            entries += step.missing_ends(conversation, processes, began=self._began)
        if conversation.is_open:
            stop_cause = self._unsettled or StopCause("crash", processes)
            evidence = self._evidence(conversation)
            evidence.moved.update({each.call: each for each in observations if isinstance(each, e.FilesMoved)})
            settled = settle(conversation, stop_cause, known=evidence)
            entries.extend(started_only(settled, conversation) if resuming else settled)
        entries += observations
        self._journal.append(*entries)
        self._unreported = self._repaired = ()
        self._gap = False
        self._settled()
        if not self._detached and not any(step.any_running for step in self._steps):
            self._toolbox.sweep(edits(conversation.open_calls))

    def settle_turn(
        self,
        stop_cause: StopCause,
        *,
        cut: Callable[[], tuple[str, ...]] = tuple,
        seconds: Mapping[str, float] | None = None,
    ) -> e.TurnEnded:
        """Settle the turn that ends in this process, and return its end. If the disk refuses, it stays unsettled.

        `cut` journals the end of an unfinished response and returns the names of the calls it had begun; `seconds` is
        how long calls have run.
        """
        self._unsettled = stop_cause  # until it is journalled
        try:
            cut_calls = cut()
            conversation = self._journal.conversation
            entries = settle(conversation, stop_cause, known=self._evidence(conversation, seconds), cut_calls=cut_calls)
            self._journal.append(*entries)
        except StateError as failed:
            self._unsettled = StopCause("storage", str(failed))
            self._journal.not_recorded(failed)
            conversation = self._journal.conversation
            turn = conversation.open_turn or conversation.turns
            return e.TurnEnded(turn=turn, reason="error", cause="storage", detail=str(failed))
        self._settled()
        if not entries:  # another process has settled the turn in between
            turn = conversation.turns
            return e.TurnEnded(
                turn=turn, reason=REASONS[stop_cause.cause], cause=stop_cause.cause, detail=stop_cause.detail
            )
        ended = entries[-1]
        assert isinstance(ended, e.TurnEnded)
        return ended

    def parked_end(self, stop_cause: StopCause) -> e.TurnEnded:
        """Return the end of a parked turn: it stays open in the journal, for another process to resume."""
        turn = self._journal.conversation.open_turn or self._journal.conversation.turns
        reason = REASONS[stop_cause.cause]
        return e.TurnEnded(turn=turn, reason=reason, cause=stop_cause.cause, detail=stop_cause.detail)

    def _settled(self) -> None:
        self._unsettled = None
        self._unwritten.clear()

    def _evidence(self, conversation: Conversation, seconds: Mapping[str, float] | None = None) -> Evidence:
        started = [call.started for call in conversation.open_calls if call.started is not None]
        return gather_evidence(
            started, self._toolbox, seconds=seconds or {}, began=self._began, ended=self._unwritten, gap=self._gap
        )
