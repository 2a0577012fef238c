"""Runs the tool calls of a response: plan, decide, ask, start, record.

The task that runs a call also writes its outcome, so a finished call is never lost with the code that was waiting for
it. Every wait for a call has a time limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from holdfast.agent.cancellation import StopSignal
from holdfast.agent.events import LiveOutput
from holdfast.agent.recovery.settle import only_reads
from holdfast.agent.seam import MOST_CALL_CHANGES, OtherArguments, PlannedCall
from holdfast.agent.turn.calls.call_steps import CallSteps
from holdfast.agent.turn.calls.plan_run import run_plan
from holdfast.agent.turn.calls.repeated_calls import RepeatedCalls
from holdfast.agent.turn.states import Signal
from holdfast.agent.turn.turn_context import TurnContext
from holdfast.errors import ApprovalUnavailable, StateError, ToolFailed
from holdfast.session import model_notices
from holdfast.session.conversation.conversation import OpenCall
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.system.threads import described, in_daemon
from holdfast.text import valid_unicode
from holdfast.tool_calls import InputRequest, Mode, ProcessId, ServerAnswer, is_stale
from holdfast.tools.approval.decision import Allow, Ask, Decision, Deny, granted, has_read_rules, may_tell, read_filter
from holdfast.tools.returned_output import bounded_output, checked_plan
from holdfast.tools.tool import Plan, TellingFailure, Tool, ToolContext, ToolOutput

if TYPE_CHECKING:
    from holdfast.agent.turn.server_questions import ServerQuestions


class _Running(msgspec.Struct, frozen=True):
    task: asyncio.Task[None]
    since: float


Kept = tuple[e.SnapshotTaken | e.FilesMoved, ...]
"""What is journalled with the start of a call, so that it can be undone."""


class Judged(msgspec.Struct, frozen=True):
    """A call with its plan and the decision about it; `changed_by` says which part gave it other arguments, or ""."""

    part: CallPart
    plan: Plan
    decision: Decision
    changed_by: str = ""


class Calls:
    """The calls of one turn."""

    def __init__(self, context: TurnContext, stop: StopSignal, to: Callable[[Signal], None]) -> None:
        """Create it without a call; `to` moves the turn to its next state."""
        self._context = context
        self._journal = context.journal
        self._toolbox = context.toolbox
        self._stop = stop
        self._to = to
        self._running: dict[str, _Running] = {}
        self._repeated = RepeatedCalls(context, stop, to)
        self._steps = CallSteps(context.seam, context.journal, stop)
        self._questions: ServerQuestions | None = None

    def seconds(self) -> dict[str, float]:
        """Return how long each started call has been running."""
        now = asyncio.get_running_loop().time()
        return {call: round(now - running.since, 3) for call, running in self._running.items()}

    async def run(self, calls: tuple[OpenCall, ...]) -> None:
        """Give every call its outcome, in order. Adjacent calls that only read run together; any other call runs alone.

        So the reads before the first call that acts run together, and those behind it wait for what it did.

        Raises `ApprovalUnavailable`, and `TurnStopped` on a stop. Calls that were not reached by then are not started.
        """
        together: list[asyncio.Task[None]] = []
        self._repeated.begin_response()
        for each in calls:
            tool = self._toolbox.tools.get(each.part.name)
            alone = tool is not None and tool.effect != "read"
            if alone:
                await self._finish(together)
            if (call := await self._repeated.admitted(each, tool, lambda: self._finish(together))) is None:
                continue
            plan = await self._plan(call.part, tool)
            if plan is None:
                continue
            self._repeated.note_plan(call, plan)
            judged: Judged | None = Judged(call.part, plan, Allow())
            if not call.can_continue:
                judged = await self._judged(Judged(call.part, plan, Allow()), tool)
            allowed = None if judged is None else await self._is_allowed(call, judged, together)
            if judged is None or allowed is None:
                continue
            for_undo = () if call.can_continue else await self._kept_before(judged, allowed)
            together.append(self._start(call, judged.plan, allowed, for_undo, judged=judged))
            if alone:
                await self._finish(together)
        await self._finish(together)

    async def end(self) -> None:
        """Wait `stop_grace` for the running calls, which the stop has asked to end, cancel them, wait `drop_wait`."""
        limits = self._context.limits
        tasks = self.running()
        late = await _wait(tasks, limits.stop_grace)
        for task in late:
            task.cancel()
        await _wait(late, limits.drop_wait)

    def running(self) -> set[asyncio.Task[None]]:
        """Return the tasks of calls that still run, and report the exceptions of those that have ended."""
        for task in (tasks := {running.task for running in self._running.values()}):
            if task.done() and not task.cancelled() and isinstance(error := task.exception(), Exception):
                self._journal.not_recorded(error)
        return {task for task in tasks if not task.done()}

    async def _plan(self, call: CallPart, tool: Tool | None) -> Plan | None:
        """Return the call's plan. If there is none, journal the call as `failed` and return None."""
        try:
            if tool is not None:
                planned = await self._stop.race(in_daemon(lambda: tool.plan(call.id, call.arguments)))
                return self._reject_stale(checked_plan(planned, call.name))
            from holdfast.tools.arguments.tolerant_tool import missing_tool

            opened = self._journal.conversation.opened
            tools = self._toolbox.tools
            declared = [each.name for each in opened.tools if tools.get(each.name)] if opened is not None else []
            text = missing_tool(call.name, declared or tools)
        except TellingFailure as failed:
            if not may_tell(failed.plan, self._context.permissions.policy()):
                return failed.plan
            text = str(failed)
        except ToolFailed as failed:
            text = str(failed)
        except Exception as error:  # noqa: BLE001 - the tool boundary: the model reads it, the turn continues
            text = f"Tool {call.name!r} failed before it started: {described(error)}. Nothing was done."
        ended = self._repeated.outcome_of(call.id, "failed", bounded_output(ToolOutput(text=text)).text)
        self._journal.append(ended)
        await self._steps.follow_up(ended)
        return None

    def _reject_stale(self, plan: Plan) -> Plan:
        """Return the plan; raises `ToolFailed` if it would overwrite file content that the model has not seen."""
        for change in plan.changes:
            versions = self._journal.fold.files.get(change.path, ())
            if is_stale(change, next(iter(versions), None)):
                raise ToolFailed(model_notices.stale_file_notice(change.path))
        return plan

    def _tool_name(self, call: CallPart, plan: Plan) -> str:
        """Return the tool's own name, which rules know, also if the model called it by another."""
        if plan.tool:
            return plan.tool
        tool = self._toolbox.tools.get(call.name)
        return call.name if tool is None else tool.schema.name

    async def _judged(self, planned: Judged, tool: Tool | None) -> Judged | None:
        """Return the plan with the decision about it, planned again as often as a step gives other arguments.

        None if it could not be planned again: its outcome is journalled here.
        """
        for _ in range(MOST_CALL_CHANGES + 1):
            decision = await self._steps.judge(self._planned(planned))
            if not isinstance(decision, OtherArguments):
                return msgspec.structs.replace(planned, decision=decision)
            part = msgspec.structs.replace(planned.part, arguments=decision.arguments)
            plan = await self._plan(part, tool)
            if plan is None:
                return None
            planned = Judged(part, plan, Allow(), changed_by=decision.changed_by)
        times = f"more than {MOST_CALL_CHANGES} times"
        why = f"The call {planned.plan.title!r} was changed {times} before it ran. It was not run."
        return msgspec.structs.replace(planned, decision=Deny(why))

    def _planned(self, judged: Judged) -> PlannedCall:
        return PlannedCall(judged.part, judged.plan, self._tool_name(judged.part, judged.plan))

    async def _is_allowed(self, call: OpenCall, judged: Judged, together: list[asyncio.Task[None]]) -> Allow | None:
        """Return how the call may start. If it may not, its outcome is journalled here, and None is returned."""
        denied, allowed, plan, decision = "", Allow(), judged.plan, judged.decision
        if call.can_continue:
            return allowed
        if isinstance(decision, Allow) and call.approval_request is not None:  # asked before a crash: the user decides
            decision = Ask(call.approval_request.question.reason)
        match decision:
            case Allow():
                allowed = decision
            case Deny(why=why):
                denied = why
            case Ask(why=why):
                await self._finish(together)
                if self._context.ask is None and (plan.is_for_the_user or self._context.on_approval == "deny"):
                    self._deny_without_user(call, plan, why)
                    return None
                if plan.question is not None:
                    await self._ask_model_question(call, plan, why)
                    return None
                answered, mode = await self._ask_approval(call, plan, why)
                if answered.allowed:
                    again = await self._steps.judge(self._planned(judged))  # the mode may be another by now
                    denied = again.why if isinstance(again, Deny) else ""
                    if isinstance(again, OtherArguments):  # it would not be what the user has seen
                        denied = f"{again.changed_by} changed the call after the user had answered. It was not run."
                    allowed = Allow(granted(plan, answered.level), by_user=True)
                elif plan.presents:
                    denied = model_notices.plan_not_approved(answered.reason, mode or "")
                else:
                    words = answered.reason
                    denied = "Denied by the user; not started." + (f" They said: {words}" if words.strip() else "")
        if denied:
            self._journal.append(self._repeated.outcome_of(call.part.id, "denied", denied))
            return None
        return allowed

    def _deny_without_user(self, call: OpenCall, plan: Plan, why: str) -> None:
        """Journal that the call needs approval and is denied, in one append: a crash leaves both or neither."""
        call_id = call.part.id
        question_entry = () if call.approval_request else (self._question_about(call, plan, why),)
        denied = model_notices.denied_without_user(why, level=plan.asks_level, hosts=plan.network)
        ended = self._repeated.outcome_of(call_id, "denied", denied)
        if plan.is_for_the_user:
            denied = model_notices.PLAN_WITHOUT_USER if plan.presents else model_notices.QUESTION_WITHOUT_USER
            ended = e.CallEnded(call=call_id, outcome="denied", text=denied)
        self._journal.append(*question_entry, ended)

    async def _ask_user(self, call: OpenCall, plan: Plan, why: str) -> e.ApprovalAnswered:
        """Journal the question, unless that is done, and return the user's answer to it, not journalled yet.

        After a crash the plan may be another one, as of an edit whose file has changed: its question replaces the one
        before. Raises `UsageError` for an answer that was not offered.
        """
        before = call.approval_request
        if before is None:
            plan = self._context.permissions.with_notice(plan)
        else:
            plan = msgspec.structs.replace(plan, sandbox_notice=before.notice)
        entry = self._question_about(call, plan, why)
        if entry != before:
            self._journal.append(entry)
        ask = self._context.ask
        if ask is None:
            raise ApprovalUnavailable(why)
        from holdfast.agent.turn.calls.call_questions import answered_question

        self._to(Signal.ASK)
        return answered_question(entry.question, await self._stop.race(ask(entry.question, plan)))

    def _question_about(self, call: OpenCall, plan: Plan, why: str) -> e.ApprovalAsked:
        from holdfast.agent.turn.calls.call_questions import call_question

        permissions = self._context.permissions
        return call_question(call, plan, why, mode=permissions.mode, rules=permissions.offered)

    async def _ask_model_question(self, call: OpenCall, plan: Plan, why: str) -> None:
        """Put the model's question to the user. Answer and outcome are one append: a crash leaves both or neither."""
        answered = await self._ask_user(call, plan, why)
        text = model_notices.question_answered(answered.chosen, answered.reason)
        ended = e.CallEnded(call=call.part.id, outcome="ok", text=text)
        if not answered.allowed:
            ended = e.CallEnded(
                call=call.part.id, outcome="denied", text=model_notices.question_refused(answered.reason)
            )
        self._journal.append(answered, ended)
        self._to(Signal.ANSWER)

    async def _ask_approval(self, call: OpenCall, plan: Plan, why: str) -> tuple[e.ApprovalAnswered, Mode | None]:
        """Ask the user and return the journalled answer, and the mode it sets. No question is journalled twice."""
        answered = await self._ask_user(call, plan, why)
        mode = answered.mode
        changed = (e.ModeChanged(mode=mode, why="plan"),) if plan.presents and mode else ()
        answered = msgspec.structs.replace(answered, mode=None) if plan.presents else answered
        # At once: a crash leaves no approved plan without its mode.
        self._journal.append(answered, *changed)
        if answered.remember == "project":
            self._context.permissions.remember(answered.remembered)
        if mode is not None:
            self._context.permissions.mode = mode
        self._to(Signal.ANSWER)
        return answered, mode

    async def _kept_before(self, judged: Judged, allowed: Allow) -> Kept:
        name = self._tool_name(judged.part, judged.plan)
        return await self._steps.before_start(PlannedCall(judged.part, judged.plan, name, allowed.confined))

    def _start(
        self, open_call: OpenCall, plan: Plan, allowed: Allow, for_undo: Kept, *, judged: Judged
    ) -> asyncio.Task[None]:
        """Journal what an undo needs (`for_undo`) and that the call starts, with which arguments, then start it.

        A call that goes on had started.
        """
        call, waits = open_call.part, open_call.input_request if open_call.can_continue else None
        started = e.CallStarted(
            call=call.id,
            effect=plan.effect,
            spool=plan.spool,
            changes=plan.changes,
            remote=plan.remote,
            confined=allowed.confined,
            arguments=judged.part.arguments if judged.changed_by else "",
            changed_by=judged.changed_by,
            allowed_by=(
                "" if open_call.approval_request else self._context.permissions.allowed_by(self._planned(judged))
            ),
        )
        self._journal.append(*(() if open_call.can_continue else (*for_undo, started)))
        self._to(Signal.RUN)
        loop = asyncio.get_running_loop()
        since = loop.time()
        task = loop.create_task(self._run(call, plan, allowed, since, waits), name=f"call {call.id}")
        self._running[call.id] = _Running(task, since)
        return task

    async def _run(self, call: CallPart, plan: Plan, allowed: Allow, since: float, waits: InputRequest | None) -> None:
        def emit(text: str) -> None:
            self._context.emit(LiveOutput(call.id, text))

        def began(process: ProcessId) -> None:
            try:
                self._journal.append(e.ProcessStarted(call=call.id, process=process))
            except StateError as failed:  # the call runs anyway, and its outcome may still be written
                self._journal.not_recorded(failed)

        try:
            output = await self._output(call, plan, allowed, emit, began, waits)
        except ToolFailed as failed:
            output = bounded_output(ToolOutput(text=str(failed), ok=False))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            output = ToolOutput(text=f"Tool {call.name!r} cancelled itself. Its effect is unknown.", ok=False)
        except Exception as error:  # noqa: BLE001 - the tool boundary: the model reads it, the turn continues
            text = f"Tool {call.name!r} failed while it ran: {described(error)}. Its effect is unknown."
            output = bounded_output(ToolOutput(text=text, ok=False))
        if output is None:  # moved to the background: the call has its result
            return
        ended = self._record(call, plan, output, round(asyncio.get_running_loop().time() - since, 3))
        if plan.spool is not None and not plan.background:
            self._toolbox.forget(plan.spool)
        if ended is not None:
            await self._steps.follow_up(ended)

    async def _output(
        self,
        part: CallPart,
        plan: Plan,
        allowed: Allow,
        emit: Callable[[str], None],
        began: Callable[[ProcessId], None],
        waits: InputRequest | None,
    ) -> ToolOutput | None:
        """Run the plan and return its output, None if it was moved to the background."""
        call, tasks = part.id, self._context.tasks
        policy = self._context.permissions.policy()
        context = ToolContext(
            call=call,
            stop=self._stop.event,
            emit=emit,
            report_process=began,
            tasks=tasks,
            mode=policy.mode,
            may_read=read_filter(plan, policy, tool=self._tool_name(part, plan)),
            has_read_rules=has_read_rules(policy),
            consult=None if plan.remote is None else lambda request: self._consult_for_server(part, request),
            has_user=self._context.ask is not None,
            pending_request=waits,
            confined=allowed.confined,
            by_user=allowed.by_user,
            report_late=None if plan.remote is None else lambda output: self._record_late(part.id, output),
        )
        if plan.background:
            return await tasks.start(call, plan, context)
        if plan.release is None:
            return await run_plan(plan, context)
        return await tasks.run_foreground(call, plan, context)

    def _record(self, call: CallPart, plan: Plan, output: ToolOutput, seconds: float) -> e.CallEnded | None:
        """Journal the outcome of a call and return it, None if the call was settled without it."""
        text = valid_unicode(output.text)
        stop_cause = self._stop.cause
        if output.interrupted and stop_cause is not None:
            reads = only_reads(call.name, plan.effect, plan.remote)
            text = model_notices.interrupted(
                stop_cause.cause,
                stop_cause.detail,
                printed=text,
                remote=plan.remote,
                only_reads=reads,
                program=self._journal.fold.program,
            )
        outcome = "interrupted" if output.interrupted else "ok" if output.ok else "failed"
        if self._journal.fold.is_open(call.id):
            ended = e.CallEnded(
                call=call.id,
                outcome=outcome,
                text=text,
                seconds=seconds,
                snapshots=output.snapshots,
                images=output.images,
                exit=output.exit,
            )
            ended = self._repeated.with_notice(ended)
            try:
                self._journal.append(ended)
            except StateError:  # a full disk, or another process appended in between
                self._context.recovery.keep_outcome(ended)  # not lost: the exit of the turn tries again
                raise
            return ended
        # The turn has settled it without this outcome: the model reads it with the next prompt.
        self._journal.append(e.CallLate(call=call.id, outcome=outcome, text=text))
        return None

    async def _consult_for_server(self, call: CallPart, request: InputRequest) -> tuple[ServerAnswer, ...]:
        """Return the user's answers to what an MCP server asks during the call."""
        from holdfast.agent.turn.server_questions import ServerQuestions

        if self._questions is None:
            self._questions = ServerQuestions(self._journal, self._stop, self._to, self._context.ask)
        return await self._questions.consult(call, request)

    def _record_late(self, call: str, output: ToolOutput) -> None:
        """Journal an outcome that came after its call was settled; the model reads it with the next prompt."""
        outcome = "ok" if output.ok else "failed"
        try:
            if not self._journal.fold.is_open(call):
                self._journal.append(e.CallLate(call=call, outcome=outcome, text=valid_unicode(output.text)))
        except StateError as failed:
            self._journal.not_recorded(failed)

    async def _finish(self, tasks: list[asyncio.Task[None]]) -> None:
        """Wait until every task has recorded its outcome, and empty the list."""
        if not tasks:
            return
        for task in tasks:
            await self._stop.race(asyncio.shield(task))
        tasks.clear()
        self._running = {call: running for call, running in self._running.items() if not running.task.done()}
        self._to(Signal.RAN)


async def _wait(tasks: set[asyncio.Task[None]], seconds: float) -> set[asyncio.Task[None]]:
    """Return the tasks that have not ended after `seconds`."""
    return (await asyncio.wait(tasks, timeout=seconds))[1] if tasks else tasks
