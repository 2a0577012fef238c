"""Runs one turn over the turn table: requests, calls, and the one exit that settles whatever is open.

The one exit. A turn can end in some fifteen ways: it finishes, the user presses Esc, the deadline passes, the provider
fails, a call needs approval and no user is there, the disk is full, holdfast has a bug, the event loop closes. If each
of them tidied up by itself, each would need its own answers to the same questions: which calls are still open, which
outcome does each get, what is journalled, what does the model read? One forgotten case leaves a call without a result,
and the provider rejects every later request.

So every ending is an exception or a return value that reaches `Turn.run`, becomes a cause (`StopCause`), and goes
through `_exit`. `_exit` takes no notice of how the turn was running. It sets the stop signal, waits a bounded time for
running calls and the connection to end, and hands the turn to `Recovery.settle_turn`, which looks at what the calls
left behind and journals what `settle` returns. Recovery after a crash journals the result of the same function.

Why is a stop not a cancellation? Cancelling the task would unwind it at whatever it awaits, and each `except` and
`finally` on the way would have to be right for each of the fifteen reasons. A `StopSignal` is only a fact that every
wait of the turn looks at; no code outside ends the turn, so nothing outside has to know how.

Example: the user presses Esc while `pytest` runs and a second call waits. The stop signal is set with the cause `user`,
and the command sees it. The wait in `Calls.run` raises `TurnStopped`, `run` catches it, and `_exit` gives the command
`stop_grace` seconds to end. If it ends in time, its own task journals its output. If not, it is settled as interrupted,
with the output so far, and a later outcome becomes a `call-late` entry. The second call is settled as not started, and
`turn-ended` follows.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from holdfast.agent.background_tasks import unsent_task_ends
from holdfast.agent.cancellation import StopSignal, TurnStopped, stop_cause_of
from holdfast.agent.events import TurnFailed
from holdfast.agent.seam import BEFORE_CALL
from holdfast.agent.stop_cause import StopCause
from holdfast.agent.turn.deadline import Deadline
from holdfast.agent.turn.message_queue import steer_entries
from holdfast.agent.turn.requests import Requests
from holdfast.agent.turn.states import Signal, State, cause_after, step
from holdfast.agent.turn.tool_runner import Calls
from holdfast.agent.turn.turn_context import TurnContext
from holdfast.errors import ApprovalUnavailable, InvalidRequest, ProviderFailed, ProviderFault, StateError
from holdfast.session.conversation.prune_results import prune_entry
from holdfast.session.journal.causes import OF_THE_PROVIDER
from holdfast.session.journal.entries import ToolsChanged, TurnEnded

_CONNECTION_STAYS = frozenset(
    {"finished", "max_steps", "max_cost", "max_tokens", "refusal", "approval", "loop", "text_call", "hook"}
)


class Turn:
    """One turn, created for one prompt; `stop` ends it."""

    def __init__(self, context: TurnContext, stop: StopSignal) -> None:
        self.stop = stop
        self.state = State.IDLE
        self.parked = False
        self._context = context
        timeout = context.limits.timeout
        self._deadline = Deadline(timeout, lambda: stop.set(StopCause("timeout", f"{timeout:g} s")))
        self._requests = Requests(context, stop, self._to)
        self._calls = Calls(context, stop, self._to)

    def park(self) -> bool:
        """End without settling, if the turn waits for the user and no call runs; return whether it will.

        Everything that was asked and answered so far is in the journal, so another process can ask again.
        """
        if self.state is not State.ASKING or self._calls.running() or self.stop.cause is not None:
            return False
        self.parked = True
        self.stop.set(StopCause("external", "the question waits for an answer"))
        return True

    async def run(self) -> TurnEnded:
        """Run the turn whose prompt is journalled, and return how it ended. Only a closing event loop cancels this."""
        stop_cause = StopCause("bug", "the turn ended for an unknown reason")
        fault: ProviderFault | None = None
        self._deadline.count()
        try:
            stop_cause = await self._steps()
        except TurnStopped:
            stop_cause = self.stop.cause or stop_cause
        except (ApprovalUnavailable, ProviderFailed, StateError, InvalidRequest) as ended:
            stop_cause = stop_cause_of(ended)
            fault = ended.fault if isinstance(ended, ProviderFailed) else None
        except BaseException as error:  # an unusable model, a bug, a closing loop: settle, then propagate
            stop_cause = self.stop.cause or stop_cause_of(error)
            raise
        finally:
            self._deadline.pause()
            end = await self._exit(stop_cause)
        if fault is not None and end.cause in OF_THE_PROVIDER:
            self._context.emit(TurnFailed(fault))
        return end

    async def _steps(self) -> StopCause:
        """Return why the turn ends by itself; raises for every other ending."""
        journal = self._context.journal
        while True:
            self.stop.raise_if_set()
            if calls := journal.conversation.open_calls:
                self._to(Signal.RESUME)
            else:
                stop_cause = await self._request()
                if stop_cause is not None:
                    if stop_cause.cause == "finished" and await self._goes_on():
                        continue
                    return stop_cause
                calls = journal.conversation.open_calls
            await self._calls.run(calls)
            self._context.checks.check(journal.fold.conversation, "After a step")

    async def _goes_on(self) -> bool:
        """Return whether a step lets the finished turn go on; it has journalled why. Raises `TurnStopped` on a stop."""
        seam = self._context.seam
        for before_end in seam.before_end:
            if (wait := before_end()) is not None:
                with suppress(TimeoutError):  # it has nothing to say
                    if await self.stop.race(wait, BEFORE_CALL + seam.more_time):
                        return True
        return False

    async def _request(self) -> StopCause | None:
        """Send the next request. Return why the turn ends with it, None if its calls are to run."""
        context, journal = self._context, self._context.journal
        conversation = journal.conversation
        limit = context.limits.max_steps
        if limit is not None and conversation.turn_steps >= limit:
            return StopCause("max_steps", f"{limit} request{'s' * (limit > 1)}")
        context.budget.check(self.stop)
        journal.append(
            *self._later_tools(),
            *unsent_task_ends(conversation),
            *steer_entries(conversation),
            *prune_entry(conversation, context.settings),
        )
        if await context.compactor.is_due(self.stop):
            await self._requests.shorten("auto")
        finish = await self._requests.send()
        self.stop.raise_if_set()  # also after the last response: queued messages must not be sent after a stop
        cause = cause_after(finish, calls=len(journal.conversation.open_calls))
        if cause == "finished" and self._requests.unread_call:
            return StopCause("text_call", self._requests.unread_call)
        return None if cause is None else StopCause(cause, self._requests.refusal)

    def _later_tools(self) -> tuple[ToolsChanged, ...]:
        """Return the entry that declares tools which the session began without, if they are of use now."""
        context, fold = self._context, self._context.journal.fold
        opened, has_user = context.journal.conversation.opened, context.ask is not None
        lacks = opened is not None and has_user and all(each.name != "ask_user" for each in opened.tools)
        if not (fold.tasks.open or fold.tasks.ended or lacks):
            return ()
        from holdfast.agent.context.later_declarations import later_declarations

        return later_declarations(fold, context.toolbox, context.permissions.policy().rules, has_user=has_user)

    async def _exit(self, stop_cause: StopCause) -> TurnEnded:
        """Settle every open call and the turn, and return how it ended. Journalled unless the disk refuses."""
        context = self._context
        self.stop.set(stop_cause)  # running calls are to end, and a later stop can no longer be the cause
        self._to(Signal.LEAVE)
        try:
            await self._wind_down(stop_cause)
        finally:  # also if that failed; nothing is awaited from here on
            try:
                for task in self._calls.running():  # a later outcome is journalled as `call-late`
                    context.detached.add(task, context.journal.not_recorded)
                if self.parked:
                    ended = context.recovery.parked_end(stop_cause)
                else:
                    ended = context.recovery.settle_turn(
                        stop_cause, cut=self._requests.cut, seconds=self._calls.seconds()
                    )
            finally:
                self._to(Signal.SETTLED)
        return ended

    async def _wind_down(self, stop_cause: StopCause) -> None:
        """Give the calls and the connection time to end."""
        if stop_cause.cause in _CONNECTION_STAYS:
            await self._calls.end()
        else:
            dropped = asyncio.ensure_future(self._context.connection.drop())
            await self._calls.end()
            await dropped

    def _to(self, signal: Signal) -> None:
        """Move to the next state. The deadline does not count the time in which the user is asked."""
        before, self.state = self.state, step(self.state, signal)
        if self._context.log is not None:
            self._context.log.record_transition(before, signal, self.state)
        match signal:
            case Signal.ASK | Signal.CONSULT:
                self._deadline.pause()
            case Signal.ANSWER | Signal.RUN:
                self._deadline.count()
            case _:
                pass
