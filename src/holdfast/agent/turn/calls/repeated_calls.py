"""Bounds calls that repeat: the model reads it, then the call is not run, then the user is asked or the turn ends.

What is counted is in the journal (`holdfast.session.conversation.call_repeats`), and so is each decision: a call that
was not run has its outcome, a question is an entry before it is shown, and a "yes" begins a new count. A process that
is killed at any point leaves a journal in which the next one counts the same.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from holdfast.agent.cancellation import StopSignal
from holdfast.agent.stop_cause import StopCause
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.agent.turn.states import Signal
from holdfast.agent.turn.turn_context import TurnContext
from holdfast.session import loop_notices
from holdfast.session.conversation.call_repeats import ENDED, REFUSED, TOLD, CallKey, Repetition, call_key
from holdfast.session.conversation.conversation import OpenCall
from holdfast.session.journal import entries as e
from holdfast.text import valid_unicode
from holdfast.tool_calls import Outcome, QuestionOption, UserQuestion
from holdfast.tools.tool import Plan, Tool, ToolContext, ToolOutput
from holdfast.tools.truncation import cap

_QUOTED = 2_000
"""Bytes to quote of the result of a call that is not run again."""


class RepeatedCalls:
    """The repetitions among the calls of one turn."""

    def __init__(self, context: TurnContext, stop: StopSignal, to: Callable[[Signal], None]) -> None:
        """Create it; `to` moves the turn to its next state."""
        self._journal = context.journal
        self._ask = context.ask
        self._stop = stop
        self._to = to
        self._reads: dict[CallKey, str] = {}  # calls that only read since the last that acts, in this response

    def begin_response(self) -> None:
        """Forget the reads of the last response."""
        self._reads.clear()

    async def admitted(
        self, call: OpenCall, tool: Tool | None, finish: Callable[[], Awaitable[None]]
    ) -> OpenCall | None:
        """Return the call if it may run, None if it has its outcome here because it repeats another.

        `finish` waits for the calls that run: their results decide. Raises `TurnStopped` if the turn ends here.
        """
        if call.can_continue:
            return call
        return await self._not_a_loop(call, finish) if self._runs_once(call, tool) else None

    def _runs_once(self, call: OpenCall, tool: Tool | None) -> bool:
        """Return whether the call is to be run. A read that stands earlier in the response too gets its outcome here.

        A call that acts may change what a read returns, so a read behind it is another one.
        """
        if tool is None:
            return True
        if tool.effect != "read":
            self._reads.clear()
            return True
        first = self._reads.setdefault(call_key(call.part), call.part.id)
        if first == call.part.id:
            return True
        text = loop_notices.same_call(self._journal.repeats.place(first))
        self._journal.append(e.CallEnded(call=call.part.id, outcome="not_started", text=text, same_as=first))
        return False

    def note_plan(self, call: OpenCall, plan: Plan) -> None:
        """Let equal calls run too if this one is a server's: that it only reads is no more than the server's word."""
        if plan.remote is not None and self._reads.get(call_key(call.part)) == call.part.id:
            del self._reads[call_key(call.part)]

    async def _not_a_loop(self, call: OpenCall, finish: Callable[[], Awaitable[None]]) -> OpenCall | None:
        """Return the call if it does not repeat the last ones too often, else None, with its outcome journalled."""
        if self._journal.repeats.of(call.part.id).times < REFUSED:
            return call
        await finish()
        repeated = self._journal.repeats.of(call.part.id)
        if repeated.times < REFUSED:
            return call
        if repeated.times < ENDED:
            text = loop_notices.not_run_again(repeated, cap(repeated.returned, _QUOTED))
            self._journal.append(
                e.CallEnded(call=call.part.id, outcome="not_started", text=text, repeats=repeated.times)
            )
            return None
        if self._ask is None or not await self._may_go_on(call, repeated, self._ask):
            self._stop.set(StopCause("loop", valid_unicode(loop_notices.loop_detail(call, repeated))))
            self._stop.raise_if_set()
        return msgspec.structs.replace(call, approval_request=None)  # it was about the loop, not about the call

    def with_notice(self, ended: e.CallEnded) -> e.CallEnded:
        """Return the outcome of a call as it is to be journalled: with a line for the model if it repeats the last."""
        repeated = self._journal.repeats.with_result(ended.call, ended.outcome, ended.text, ended.images)
        if repeated.times < TOLD:
            return ended
        text = f"{ended.text}\n{loop_notices.repetition_line(repeated, program=self._journal.fold.program)}"
        return msgspec.structs.replace(ended, text=text, repeats=repeated.times)

    def outcome_of(self, call: str, outcome: Outcome, text: str) -> e.CallEnded:
        """Return the outcome of a call that was not carried out."""
        return self.with_notice(e.CallEnded(call=call, outcome=outcome, text=valid_unicode(text)))

    async def _may_go_on(self, call: OpenCall, repeated: Repetition, ask: ApprovalPrompt) -> bool:
        """Ask the user whether the loop may go on. Question and answer are journalled; no question twice."""
        from holdfast.agent.turn.calls.call_questions import answered_question
        from holdfast.tools.approval.question import question_of

        plan = _loop_plan(call, valid_unicode(loop_notices.loop_question(call, repeated)))
        question = question_of(plan, mode="ask", call=call.part.id)
        entry = e.ApprovalAsked(call=call.part.id, question=question, repeats=repeated.times)
        if entry != call.approval_request:
            self._journal.append(entry)
        self._to(Signal.ASK)
        answered = answered_question(question, await self._stop.race(ask(question, plan)))
        allowed = answered.allowed and loop_notices.END not in answered.chosen
        chosen = answered.chosen if allowed else ()
        self._journal.append(msgspec.structs.replace(answered, allowed=allowed, chosen=chosen))
        self._to(Signal.ANSWER)
        return allowed


def _loop_plan(call: OpenCall, question: str) -> Plan:
    """Return what the surfaces show as the question: two options, and nothing that would run."""

    async def run(context: ToolContext) -> ToolOutput:
        raise AssertionError(f"The question about a loop is answered, not run: {context.call}")

    options = (
        QuestionOption(label=loop_notices.GO_ON, description="The call runs, and the count begins again."),
        QuestionOption(label=loop_notices.END, description="Nothing more runs. You can write what to do instead."),
    )
    question_data = UserQuestion(text=question, options=options, free_text=False)
    return Plan(effect="read", title="a loop", run=run, question=question_data, tool=call.part.name)
