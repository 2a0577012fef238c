"""The background tasks of one session: commands of the model that keep running while turns end and begin.

How it works. `start` journals `task-started` before the command runs. When the command ends, its asyncio task journals
`task-ended`, whatever the turn is doing by then. `run_foreground` runs a command that a turn waits for, also in its own
asyncio task. `move` makes it a background task: it journals that, together with the result of the call, and the turn
stops waiting. The process itself does not change (`tools/process/session_supervisors.py`).

A task ends by itself, by `stop`, or with the agent. A stop of the turn does not end it.

Why is its end an entry, and not the result of a call that waits for it? A call has one result, in the next message, and
a provider accepts no other. The end may come an hour later, between turns or in the middle of a request. So it is sent
as a note: it joins the next request of a running turn (`unsent_task_ends`), or opens the next user message, once on any
branch.

Example: `npm run dev` is started as t9, used by three calls, and the user leaves. `close` ends it, and the journal has
`task-ended`. After `kill -9` the supervisor ends it, and the next start finds its record, and writes `task-ended`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from holdfast.agent.cancellation import end_tasks
from holdfast.agent.journal_writer import JournalWriter
from holdfast.agent.recovery.settle_tasks import last_of, settle_task, task_ended
from holdfast.agent.seam import LeftBehind
from holdfast.agent.stop_cause import StopCause
from holdfast.agent.turn.calls.plan_run import run_plan
from holdfast.errors import StateError, ToolFailed
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import CallEnded, ProcessStarted
from holdfast.session.journal.tasks import TaskEnded, TaskEndSent, TaskStarted
from holdfast.system.threads import described
from holdfast.text import valid_unicode
from holdfast.tool_calls import Outcome, ProcessId
from holdfast.tools.tool import Plan, Toolbox, ToolContext, ToolOutput

MOST_TASKS = 8
"""How many tasks may run at once."""

BEGINS_WITHIN = 1.0
"""Seconds that a call waits, so that its result can say that the task runs or has already failed."""

_SHOWN = 30_000  # characters of new output in one result of the tool `task`; more is in the file


class _Output:
    """The last characters of what a task has printed, and how many there were in all."""

    def __init__(self) -> None:
        self.total = 0
        self._last = ""

    def add(self, text: str) -> None:
        self.total += len(text)
        self._last = (self._last + text)[-_SHOWN:]

    def since(self, place: int) -> str:
        """Return the output after the first `place` characters, with a note if its beginning is missing."""
        new = self.total - place
        missing = new - len(self._last)
        gap = f"[... {missing} characters before this ...]\n" if missing > 0 else ""
        return gap + self._last[max(0, len(self._last) - new) :]


class RunningTask:
    """A running task of this process. `output_file` is the file with all of its output."""

    def __init__(self, started: TaskStarted, *, body: asyncio.Task[ToolOutput], command: _Command) -> None:
        self.started = started
        self.since = command.since
        self.stop = command.stop
        self.body = body
        self.output_file = command.plan.output_file
        self.output = command.output
        self.over = asyncio.Event()
        self.stopped_by = ""


class _Command:
    """A command that a turn waits for, or that is about to become a task."""

    def __init__(self, call: str, plan: Plan) -> None:
        self.call = call
        self.plan = plan
        self.since = asyncio.get_running_loop().time()
        self.stop = asyncio.Event()
        self.begun = asyncio.Event()
        self.output = _Output()
        self.moved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.body: asyncio.Task[ToolOutput] | None = None


class BackgroundTasks:
    """The tasks of one session in this process. `tools` see it as `holdfast.tools.tool.Tasks`."""

    def __init__(self, journal: JournalWriter, toolbox: Toolbox) -> None:
        self._journal = journal
        self._toolbox = toolbox
        self._running: dict[str, RunningTask] = {}
        self._commands: dict[str, _Command] = {}  # by call
        self._looks: dict[str, list[tuple[str, int]]] = {}  # by task: calls that read its output, and how far
        self._outputs: dict[str, tuple[_Output, str]] = {}  # of ended tasks, with the file name
        self._unwritten: dict[str, TaskEnded] = {}  # ends that are not journalled yet

    @property
    def any_running(self) -> bool:
        return bool(self._running)

    @property
    def running(self) -> tuple[RunningTask, ...]:
        """Return the running tasks, oldest first."""
        return tuple(self._running.values())

    # --- beginning ------------------------------------------------------------------------------------------------

    async def start(self, call: str, plan: Plan, context: ToolContext) -> ToolOutput:
        """Start the command of `call` as a task and return its result; raises `ToolFailed` if nothing was run.

        Of the call's `context` counts how it is confined; its output goes to the file alone.
        """
        self._check_room()
        command = _Command(call, plan)
        started = self._entry(command)
        try:
            self._journal.append(started)
        except StateError as failed:
            raise ToolFailed(f"The background task was not started: {failed} Nothing was run.") from failed
        task_context = self._context(command, context, emit=lambda _: None)
        body = command.body = asyncio.create_task(_body(plan, task_context), name=f"task {started.id}")
        task = self._follow(started, command, body)
        begun = asyncio.ensure_future(command.begun.wait())
        try:
            await asyncio.wait({begun, body}, timeout=BEGINS_WITHIN, return_when=asyncio.FIRST_COMPLETED)
        finally:
            begun.cancel()
        if body.done():
            await task.over.wait()
            return ToolOutput(text=f"Started as background task {started.id}, which has ended already.")
        state = f"Runs as background task {started.id}." if command.begun.is_set() else f"Began task {started.id}."
        return ToolOutput(text=f"{state} {_how_to(plan.output_file)}")

    async def run_foreground(self, call: str, plan: Plan, context: ToolContext) -> ToolOutput | None:
        """Run a command that a turn waits for and return its output.

        Returns None if the command was moved to the background: its call then has its result already.
        """
        command = self._commands[call] = _Command(call, plan)
        command_context = self._context(command, context, emit=context.emit, began=context.report_process)
        body = command.body = asyncio.create_task(_body(plan, command_context), name=f"command {call}")
        stopped = asyncio.ensure_future(context.stop.wait())
        stopped.add_done_callback(lambda done: done.cancelled() or command.moved.done() or command.stop.set())
        try:
            await asyncio.wait({body, command.moved}, return_when=asyncio.FIRST_COMPLETED)
            return None if command.moved.done() else await body
        except asyncio.CancelledError:
            if not command.moved.done():
                body.cancel()
                await asyncio.wait({body})
            raise
        finally:
            stopped.cancel()
            self._commands.pop(call, None)

    def move(self) -> tuple[str, ...]:
        """Move the commands that the turn waits for to the background, and return the ids of their tasks.

        Raises `StateError` if that cannot be journalled: then nothing has changed.
        """
        moved: list[str] = []
        for command in list(self._commands.values()):
            body, release = command.body, command.plan.release
            ends = command.stop.is_set() or body is None or body.done() or not self._journal.fold.is_open(command.call)
            if ends or body is None or release is None or len(self._running) >= MOST_TASKS:
                continue
            started = self._entry(command, moved=True)
            text = f"The user moved it to the background: it runs on as task {started.id}."
            output = _printed(command.output.since(0))
            printed = f"\nWhat it had printed until then:\n{last_of(output)}" if output.strip() else ""
            seconds = round(asyncio.get_running_loop().time() - command.since, 3)
            text = f"{text} {_how_to(command.plan.output_file)}{printed}"
            self._journal.append(started, CallEnded(call=command.call, outcome="ok", text=text, seconds=seconds))
            release()
            self._follow(started, command, body)
            command.moved.set_result(None)
            moved.append(started.id)
        return tuple(moved)

    def _check_room(self) -> None:
        if len(self._running) >= MOST_TASKS:
            names = ", ".join(self._running)
            raise ToolFailed(
                f"Background task was not started: {MOST_TASKS} run already ({names}), which is the most. "
                "Stop one with stop_task. Nothing was run."
            )

    def _entry(self, command: _Command, *, moved: bool = False) -> TaskStarted:
        plan = command.plan
        text = valid_unicode(plan.command or plan.title)
        task_id = self._journal.new_id("t")
        return TaskStarted(id=task_id, call=command.call, command=text, spool=plan.spool, moved=moved)

    def _context(
        self,
        command: _Command,
        of_call: ToolContext,
        *,
        emit: Callable[[str], None],
        began: Callable[[ProcessId], None] | None = None,
    ) -> ToolContext:
        def printed(text: str) -> None:
            command.output.add(text)
            if not command.moved.done():
                emit(text)

        def runs(process: ProcessId) -> None:
            command.begun.set()
            if began is not None:
                began(process)
                return
            try:
                self._journal.append(ProcessStarted(call=command.call, process=process))
            except StateError as failed:  # the command runs, and its end may still be written
                self._journal.not_recorded(failed)

        return ToolContext(
            call=command.call,
            stop=command.stop,
            emit=printed,
            report_process=runs,
            may_read=of_call.may_read,
            has_read_rules=of_call.has_read_rules,
            confined=of_call.confined,
            by_user=of_call.by_user,
        )

    # --- ending ---------------------------------------------------------------------------------------------------

    def _follow(self, started: TaskStarted, command: _Command, body: asyncio.Task[ToolOutput]) -> RunningTask:
        """Journal the end of the command as the end of the task, even if no caller waits for it."""
        task = self._running[started.id] = RunningTask(started, body=body, command=command)
        body.add_done_callback(lambda _: self._ended(task))
        return task

    def _ended(self, task: RunningTask) -> None:
        task_id, body = task.started.id, task.body
        del self._running[task_id]
        output = ToolOutput(text="Its end was not reported. Its effect is unknown.", interrupted=True)
        if not body.cancelled() and (error := body.exception()) is not None:
            text = f"The command failed while it ran: {described(error)}. Its effect is unknown."
            output = ToolOutput(text=str(error) if isinstance(error, ToolFailed) else text, ok=False)
        elif not body.cancelled():
            output = body.result()
        outcome: Outcome = "interrupted" if output.interrupted else "ok" if output.ok else "failed"
        by = f" by {task.stopped_by}" if task.stopped_by else ""
        stopped = f"It was stopped{by}.\n" if by else ""
        text = stopped + last_of(valid_unicode(output.text))
        seconds = round(asyncio.get_running_loop().time() - task.since, 3)
        ended = task_ended(task.started, outcome, text, seconds, program=self._journal.fold.program)
        self._outputs[task_id] = task.output, task.output_file
        try:
            self._journal.append(ended)
        except StateError as failed:
            self._unwritten[task_id] = ended  # not lost: the next prompt tries again
            self._journal.not_recorded(failed)
        else:
            if task.started.spool is not None:
                self._toolbox.forget(task.started.spool)
        task.over.set()

    def ask_to_stop(self, task: str, by: str) -> RunningTask | None:
        """Ask a task to end and return it, None if it does not run. `by` names who stops it."""
        running = self._running.get(task)
        if running is not None:
            running.stopped_by = running.stopped_by or by
            running.stop.set()
        return running

    async def end(self, within: float, by: str = "the end of the session") -> tuple[str, ...]:
        """Stop every task and return the ids of those that ran; `by` says why.

        Waits up to `within` seconds for the tasks to end by themselves, and as long again after cancelling the rest.
        """
        ran = tuple(task.started.id for task in self.running)
        for task in ran:
            self.ask_to_stop(task, by)
        await end_tasks([task.body for task in self.running], within)
        return ran

    # --- recovery ---------------------------------------------------------------------------------------------------

    def orphans(self, conversation: Conversation) -> tuple[LeftBehind, ...]:
        """Return the open tasks that an earlier process started. Their processes carry the id of the call."""
        known = self._running.keys() | self._unwritten.keys()
        open_ = (task for task in conversation.open_tasks if task.started.id not in known)
        return tuple(LeftBehind(task.started.call, task.started.spool, task.process) for task in open_)

    def missing_ends(
        self, conversation: Conversation, running: str, *, began: Mapping[str, float]
    ) -> tuple[TaskEnded, ...]:
        """Return the ends to journal for open tasks that do not run in this process.

        `running` is a note about processes they left running; `began` is when they started, in seconds since the epoch.
        """
        ends: list[TaskEnded] = []
        for started in (task.started for task in conversation.open_tasks if task.started.id not in self._running):
            if (known := self._unwritten.get(started.id)) is not None:
                ends.append(known)
                continue
            traces = self._toolbox.traces(started.spool, began.get(started.id, 0.0)) if started.spool else None
            ends.append(settle_task(started, StopCause("crash", running), traces, program=conversation.program))
        return tuple(ends)

    # --- for the task tools -----------------------------------------------------------------------------------------

    async def poll(self, task: str, *, call: str, seconds: float, stop: asyncio.Event) -> ToolOutput:
        """Return the task's new output and its state; wait up to `seconds` for its end."""
        running = self._running.get(task)
        if running is not None and seconds:
            waits = [asyncio.ensure_future(event.wait()) for event in (running.over, stop)]
            try:
                await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in waits:
                    each.cancel()
        if task in self._running and running is not None:
            ran = asyncio.get_running_loop().time() - running.since
            state, output, output_file = f"Task {task} runs, since {ran:.1f} s.", running.output, running.output_file
        else:
            ended = self._end_of(task)
            state = f"Task {task} has ended ({ended.outcome}, {ended.seconds:.1f} s)."
            if task not in self._outputs:  # of an earlier process
                return ToolOutput(text=f"{state}\n{ended.text}")
            output, output_file = self._outputs[task]
        looks = self._looks.setdefault(task, [])
        seen = max((place for call_id, place in looks if self._journal.fold.has_call(call_id)), default=0)
        looks.append((call, output.total))
        new = _printed(output.since(seen))
        output_text = f"New output:\n{new}" if new.strip() else "No new output."
        return ToolOutput(text=f"{state} {output_text}{_output_file_note(output_file)}")

    async def stop(self, task: str) -> ToolOutput:
        """End the task, and return a result that says so."""
        running = self.ask_to_stop(task, "stop_task")
        if running is None:
            ended = self._end_of(task)
            return ToolOutput(text=f"Task {task} had ended already ({ended.outcome}).")
        await running.over.wait()
        return ToolOutput(text=f"Task {task} has ended. Its last output is reported for itself.")

    def _end_of(self, task: str) -> TaskEnded:
        """Return the end of a task; raises `ToolFailed` if there is no such task."""
        ends = {each.id: each for each in self._journal.fold.tasks.ended} | self._unwritten
        if task not in ends:
            known = ", ".join((*self._running, *ends)) or "none yet"
            raise ToolFailed(f"Task {task!r} does not exist (expected one of {known}). Nothing was done.")
        return ends[task]

    def output_of(self, task: str) -> str:
        """Return the last output of a task, for the user; "" if this process does not have it."""
        if (running := self._running.get(task)) is not None:
            return running.output.since(0)
        return self._outputs[task][0].since(0) if task in self._outputs else ""


def unsent_task_ends(conversation: Conversation) -> tuple[TaskEndSent, ...]:
    """Return entries for the ends of tasks that the next request of the running turn reports."""
    return tuple(TaskEndSent(task=task) for task in conversation.unreported_tasks)


async def _body(plan: Plan, context: ToolContext) -> ToolOutput:
    return await run_plan(plan, context)


def _printed(output: str) -> str:
    from holdfast.tools.printed_text import printed_text

    return printed_text(output)


def _how_to(output_file: str) -> str:
    file = f" All of its output goes to {output_file!r}." if output_file else ""
    return f"See its output with task, end it with stop_task. Its end is reported to you.{file}"


def _output_file_note(output_file: str) -> str:
    return f"\n[All of its output that was stored is in {output_file!r}: read it.]" if output_file else ""
