"""Asks those who take part in a call: before it starts, and behind its outcome (`holdfast.agent.seam`)."""

from __future__ import annotations

import asyncio

from holdfast.agent.cancellation import StopSignal
from holdfast.agent.journal_writer import JournalWriter
from holdfast.agent.seam import AFTER_CALL, BEFORE_CALL, BEFORE_START, CallJudgement, OtherArguments, PlannedCall, Seam
from holdfast.session.journal.entries import CallEnded, FilesMoved, SnapshotTaken
from holdfast.tools.approval.decision import Allow, Ask, Deny


class CallSteps:
    """The steps of the calls of one turn."""

    def __init__(self, seam: Seam, journal: JournalWriter, stop: StopSignal) -> None:
        self._seam = seam
        self._journal = journal
        self._stop = stop
        self._one_at_a_time = asyncio.Lock()  # what one has said behind a call, the next need not say again

    async def judge(self, planned: PlannedCall) -> CallJudgement:
        """Return the decision of all steps: the first `Deny` or change, else the first `Ask`, else what is allowed.

        Raises `TurnStopped` on a stop. A step that does not answer in time denies the call.
        """
        question: Ask | None = None
        allowed = Allow()
        for step in self._seam.before_call:
            decision = step(planned)
            if not isinstance(decision, CallJudgement):
                try:
                    decision = await self._stop.race(decision, BEFORE_CALL)
                except TimeoutError:
                    return Deny(
                        f"The call {planned.plan.title!r} was not judged within {BEFORE_CALL:g} s. It was not run. "
                        "Try it again, or continue without it."
                    )
            match decision:
                case Deny():
                    return decision
                case OtherArguments():
                    if decision.arguments != planned.call.arguments:
                        return decision
                case Ask():
                    question = question or decision
                case Allow():
                    allowed = decision
        return question or allowed

    async def before_start(self, planned: PlannedCall) -> tuple[SnapshotTaken | FilesMoved, ...]:
        """Return the entries that are appended with the start of an allowed call. Raises `TurnStopped` on a stop."""
        entries: list[SnapshotTaken | FilesMoved] = []
        for step in self._seam.before_start:
            snapshot = step(planned)
            if snapshot is not None:
                try:
                    entries += await self._stop.race(snapshot, BEFORE_START)
                except TimeoutError:
                    why = f"It took more than {BEFORE_START:g} s."
                    entries.append(SnapshotTaken(call=planned.call.id, failed=why))
        return tuple(entries)

    async def follow_up(self, ended: CallEnded) -> None:
        """Journal what the steps say behind the durable outcome of a call. A stop ends the wait; nothing is said then.

        A crash in between leaves the outcome alone.
        """
        async with self._one_at_a_time:
            for step in self._seam.after_call:
                look = step(ended)
                if look is not None:
                    notes, raised = await self._stop.try_await(look, (), within=AFTER_CALL)
                    if raised is not None:
                        raise raised
                    self._journal.append(*notes)
