"""Running the calls of a response: plan, decide, ask, start, record.

Two rules. The task of a call is the one who writes its outcome, so nothing that finished can be lost with whoever
waited for it. Nobody waits for a call without a bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from holdfast.agent.drift import stale
from holdfast.agent.events import Event, LiveOutput
from holdfast.agent.stop import Stop
from holdfast.agent.turn import Signal
from holdfast.calls import FileSeen, Pattern, ProcessId, Remember
from holdfast.config import Limits
from holdfast.errors import StateError, StorageFailed, ToolFailed
from holdfast.session import words
from holdfast.session.conversation import OpenCall
from holdfast.session.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallLate,
    CallPart,
    CallStarted,
    ProcessStarted,
)
from holdfast.text import valid_unicode
from holdfast.tools.approval import Allow, Ask, Deny, Policy, decide
from holdfast.tools.patterns import suggested
from holdfast.tools.thread import in_daemon
from holdfast.tools.tool import Context, Output, Plan, Tool, Toolbox


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said about a call; `words` reach the model when they refused.

    `remember` allows what `holdfast.tools.patterns.suggested` says of its plan from now on, as they were shown.
    """

    allowed: bool
    words: str = ""
    remember: Remember = ""


class Asker(Protocol):
    """Somebody who can be asked about a call; may take as long as a person takes."""

    async def __call__(self, call: CallPart, plan: Plan, why: str) -> Answer:
        """Return the person's answer."""
        ...


class NobodyToAsk(Exception):
    """A call needs a person and there is none; the text is what they would have been asked."""


class Turn(Protocol):
    """What running calls need of the turn they belong to."""

    def append(
        self, *entries: ApprovalAnswered | ApprovalAsked | CallEnded | CallLate | CallStarted | ProcessStarted
    ) -> None:
        """Append durably, fold, then tell."""
        ...

    def to(self, signal: Signal) -> None:
        """Move the turn along its table."""
        ...

    def is_open(self, call: str) -> bool:
        """Return whether the call still waits for its outcome."""
        ...

    def seen(self, path: str) -> FileSeen | None:
        """Return a file as the model last saw it, None if it never did."""
        ...

    def not_recorded(self, failed: BaseException) -> None:
        """Tell that something could not be journalled."""
        ...


@dataclass(frozen=True, slots=True)
class _Running:
    task: asyncio.Task[None]
    since: float


class Calls:
    """The calls of one turn."""

    def __init__(  # noqa: PLR0913 - what calls are run with
        self,
        turn: Turn,
        stop: Stop,
        *,
        toolbox: Toolbox,
        policy: Callable[[], Policy],
        remember: Callable[[Pattern], None],
        ask: Asker | None,
        emit: Callable[[Event], None],
        limits: Limits,
    ) -> None:
        self._turn = turn
        self._stop = stop
        self._toolbox = toolbox
        self._policy = policy
        self._remember = remember
        self._ask = ask
        self._emit = emit
        self._limits = limits
        self._stop_asked = asyncio.Event()
        self._running: dict[str, _Running] = {}
        self.unwritten: dict[str, CallEnded] = {}
        """Outcomes that the journal did not take, by call id."""

    def stop(self) -> None:
        """Ask every running call to end."""
        self._stop_asked.set()

    def seconds(self) -> dict[str, float]:
        """Return how long each call that was started and not waited for has run."""
        now = asyncio.get_running_loop().time()
        return {call: round(now - running.since, 3) for call, running in self._running.items()}

    async def run(self, calls: tuple[OpenCall, ...]) -> None:
        """Give every call its outcome, in order: neighbours that only read run together, others alone.

        Raises `NobodyToAsk`, and whatever the turn's race raises on a stop; calls not reached then are not started.
        """
        together: list[asyncio.Task[None]] = []
        for call in calls:
            tool = self._toolbox.tools.get(call.part.name)
            alone = tool is None or tool.effect != "read"
            if alone:
                await self._finish(together)
            plan = await self._plan(call.part, tool)
            if plan is None or not await self._allowed(call, plan, together):
                continue
            together.append(self._start(call.part, plan))
            if alone:
                await self._finish(together)
        await self._finish(together)

    async def end(self) -> None:
        """Ask the running calls to end, wait `stop_grace`, cancel them, wait `drop_wait`."""
        self._stop_asked.set()
        tasks = self.running()
        late = await _wait(tasks, self._limits.stop_grace)
        for task in late:
            task.cancel()
        await _wait(late, self._limits.drop_wait)

    def running(self) -> set[asyncio.Task[None]]:
        """Return the tasks of calls that have not ended; the failures of those that have are told."""
        for task in (tasks := {running.task for running in self._running.values()}):
            if task.done() and not task.cancelled() and isinstance(error := task.exception(), Exception):
                self._turn.not_recorded(error)
        return {task for task in tasks if not task.done()}

    async def _plan(self, call: CallPart, tool: Tool | None) -> Plan | None:
        """Return the call's plan, or None having given it its `failed` outcome."""
        try:
            if tool is not None:
                return self._fresh(await self._stop.race(in_daemon(lambda: tool.plan(call.id, call.arguments))))
            names = ", ".join(sorted(self._toolbox.tools))
            text = f"Tool {call.name!r} does not exist, one of these was expected: {names}. Nothing was done."
        except ToolFailed as failed:
            text = str(failed)
        except Exception as error:  # noqa: BLE001 - the tool boundary: the model reads it, the turn goes on
            text = f"Tool {call.name!r} failed before it started: {type(error).__name__}: {error}. Nothing was done."
        self._turn.append(CallEnded(call=call.id, outcome="failed", text=valid_unicode(text)))
        return None

    def _fresh(self, plan: Plan) -> Plan:
        """Return the plan; raises `ToolFailed` if it would replace what the model has not seen of a file it has."""
        if plan.change is not None and stale(plan.change, self._turn.seen(plan.change.path)):
            raise ToolFailed(words.stale(plan.change.path))
        return plan

    async def _allowed(self, call: OpenCall, plan: Plan, together: list[asyncio.Task[None]]) -> bool:
        """Return whether the call may start; if not, it has its outcome."""
        denied = ""
        decision = decide(plan, self._policy())
        if isinstance(decision, Allow) and call.asked is not None:  # before a crash: they were to decide, and will
            decision = Ask(call.asked.why)
        match decision:
            case Allow():
                pass
            case Deny(why=why):
                denied = why
            case Ask(why=why):
                await self._finish(together)
                answered = await self._answer(call, plan, why)
                if answered.allowed:
                    again = decide(plan, self._policy())  # the mode may have changed while they thought
                    denied = again.why if isinstance(again, Deny) else ""
                else:
                    said = answered.words
                    denied = "Denied by the user; not started." + (f" They said: {said}" if said.strip() else "")
        if denied:
            self._turn.append(CallEnded(call=call.part.id, outcome="denied", text=valid_unicode(denied)))
        return not denied

    async def _answer(self, call: OpenCall, plan: Plan, why: str) -> ApprovalAnswered:
        """Return what a person says; question and answer are journalled, a question that stands there already once."""
        own = call.part.id
        pattern = suggested(plan)
        if call.asked is None:
            self._turn.append(ApprovalAsked(call=own, why=valid_unicode(why), pattern=pattern))
        if self._ask is None:
            raise NobodyToAsk(why)
        self._turn.to(Signal.ASK)
        answer = await self._stop.race(self._ask(call.part, plan, why))
        remember = answer.remember if answer.allowed and pattern is not None else ""
        answered = ApprovalAnswered(
            call=own,
            allowed=answer.allowed,
            words=valid_unicode(answer.words),
            remember=remember,
            pattern=pattern if remember else None,
        )
        self._turn.append(answered)
        if remember == "project" and pattern is not None:
            self._remember(pattern)
        self._turn.to(Signal.ANSWER)
        return answered

    def _start(self, call: CallPart, plan: Plan) -> asyncio.Task[None]:
        """Journal that the call starts, then start it."""
        self._turn.append(CallStarted(call=call.id, effect=plan.effect, change=plan.change, spool=plan.spool))
        self._turn.to(Signal.RUN)
        loop = asyncio.get_running_loop()
        since = loop.time()
        task = loop.create_task(self._run(call, plan, since), name=f"call {call.id}")
        self._running[call.id] = _Running(task, since)
        return task

    async def _run(self, call: CallPart, plan: Plan, since: float) -> None:
        def emit(text: str) -> None:
            self._emit(LiveOutput(call.id, text))

        def began(process: ProcessId) -> None:
            try:
                self._turn.append(ProcessStarted(call=call.id, process=process))
            except StateError as failed:  # the call runs, and its outcome may yet be written
                self._turn.not_recorded(failed)

        try:
            output = await plan.run(Context(call=call.id, stop=self._stop_asked, emit=emit, began=began))
        except ToolFailed as failed:
            output = Output(text=str(failed), ok=False)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            output = Output(text=f"Tool {call.name!r} gave up by itself. Its effect is unknown.", ok=False)
        except Exception as error:  # noqa: BLE001 - the tool boundary: the model reads it, the turn goes on
            text = f"Tool {call.name!r} failed while it ran: {type(error).__name__}: {error}. Its effect is unknown."
            output = Output(text=text, ok=False)
        self._record(call, output, round(asyncio.get_running_loop().time() - since, 3))
        if plan.spool is not None:
            self._toolbox.forget(plan.spool)

    def _record(self, call: CallPart, output: Output, seconds: float) -> None:
        text = valid_unicode(output.text)
        leaving = self._stop.leave
        if output.interrupted and leaving is not None:
            text = words.interrupted(leaving.cause, leaving.detail, printed=text)
        outcome = "interrupted" if output.interrupted else "ok" if output.ok else "failed"
        if self._turn.is_open(call.id):
            ended = CallEnded(
                call=call.id, outcome=outcome, text=text, seconds=seconds, seen=output.seen, images=output.images
            )
            try:
                self._turn.append(ended)
            except StorageFailed:
                self.unwritten[call.id] = ended  # what finished is not lost: the exit tries again
                raise
        else:  # it was settled without us: what is known now is told with the next prompt
            self._turn.append(CallLate(call=call.id, outcome=outcome, text=text))

    async def _finish(self, tasks: list[asyncio.Task[None]]) -> None:
        """Wait until every one of `tasks` has recorded its outcome, and empty the list."""
        if not tasks:
            return
        for task in tasks:
            await self._stop.race(asyncio.shield(task))
        tasks.clear()
        self._running = {call: running for call, running in self._running.items() if not running.task.done()}
        self._turn.to(Signal.RAN)


async def _wait(tasks: set[asyncio.Task[None]], seconds: float) -> set[asyncio.Task[None]]:
    """Return the tasks that have not ended within `seconds`."""
    return (await asyncio.wait(tasks, timeout=seconds))[1] if tasks else tasks
