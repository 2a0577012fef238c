"""Asks those who take part in a call: before it starts, and behind its outcome (`holdfast.agent.seam`)."""

from __future__ import annotations

import asyncio

from holdfast.agent.cancellation import StopSignal
from holdfast.agent.journal_writer import JournalWriter
from holdfast.agent.seam import (
    AFTER_CALL,
    BEFORE_CALL,
    BEFORE_START,
    Approved,
    BeforeCall,
    CallJudgement,
    OtherArguments,
    PlannedCall,
    Seam,
)
from holdfast.session.journal.entries import CallEnded, FilesMoved, SnapshotTaken
from holdfast.tools.approval.decision import Allow, Ask, Decision, Deny, granted


class CallSteps:
    """The steps of the calls of one turn."""

    def __init__(self, seam: Seam, journal: JournalWriter, stop: StopSignal) -> None:
        self._seam = seam
        self._journal = journal
        self._stop = stop
        self._one_at_a_time = asyncio.Lock()  # what one has said behind a call, the next need not say again

    async def judge(self, planned: PlannedCall) -> Decision | OtherArguments:
        """Return the decision of all steps: the first `Deny` or change, else the first `Ask`, else what is allowed.

        An `Ask` that a step approves is allowed, as if the user had said yes; what else would be asked, the steps of
        `before_question` judge. Raises `TurnStopped` on a stop. A step that does not answer in time denies the call.
        """
        decision, approved = await self._round(self._seam.before_call, planned)
        if not isinstance(decision, Ask) or planned.plan.is_for_the_user:
            return decision
        if not approved and self._seam.before_question:
            answered, approved = await self._round(self._seam.before_question, planned)
            if isinstance(answered, Deny | OtherArguments):
                return answered
        lacks_wall = planned.plan.sandbox_required and planned.plan.line is not None and not granted(planned.plan)
        return Allow(granted(planned.plan), by_user=True) if approved and not lacks_wall else decision

    async def _round(
        self, steps: tuple[BeforeCall, ...], planned: PlannedCall
    ) -> tuple[Decision | OtherArguments, bool]:
        """Return the decision of these steps, and whether one has approved what would be asked."""
        question: Ask | None = None
        allowed, approved = Allow(), False
        for step in steps:
            judgement = await self._judgement(step, planned)
            match judgement:
                case Deny():
                    return judgement, False
                case OtherArguments():
                    if judgement.arguments != planned.call.arguments:
                        return judgement, False
                case Ask():
                    question = question or judgement
                case Approved():
                    approved = True
                case Allow():
                    allowed = judgement
        return question or allowed, approved

    async def _judgement(self, step: BeforeCall, planned: PlannedCall) -> CallJudgement:
        judgement = step(planned)
        if isinstance(judgement, CallJudgement):
            return judgement
        within = BEFORE_CALL + self._seam.more_time
        try:
            return await self._stop.race(judgement, within)
        except TimeoutError:
            return Deny(
                f"The call {planned.plan.title!r} was not judged within {within:g} s. It was not run. "
                "Try it again, or continue without it."
            )

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
                    notes, raised = await self._stop.try_await(look, (), within=AFTER_CALL + self._seam.more_time)
                    if raised is not None:
                        raise raised
                    self._journal.append(*notes)
