"""The user's own commands (`!`): run like the model's, shown to the model only on request.

A command is journalled before it starts, and its outcome, as far as known, however it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping

import msgspec

from holdfast.agent.cancellation import end_tasks, wait_shielded
from holdfast.agent.events import Event, LiveOutput
from holdfast.agent.journal_writer import JournalWriter
from holdfast.agent.recovery.settle import command_ended, settle_command
from holdfast.agent.seam import LeftBehind
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import StateError, ToolFailed, UsageError
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import ProcessStarted, ShellEnded, ShellStarted
from holdfast.text import valid_unicode
from holdfast.tool_calls import Confined, Outcome, ProcessId
from holdfast.tools.tool import Plan, Toolbox, ToolContext, ToolOutput

TOOL = "bash"
_LONGEST = 3600
"""Seconds after which a command is ended."""


class PlannedCommand(msgspec.Struct, frozen=True):
    """A command that was planned, so that it can be judged before it starts; its processes carry `id`."""

    id: str
    command: str
    plan: Plan
    arguments: str
    tool: str = TOOL


class _Running(msgspec.Struct, frozen=True):
    task: asyncio.Task[ShellEnded]
    stop: asyncio.Event


class UserCommands:
    """The user's commands in one session. Any number may run at once, also during a turn."""

    def __init__(self, journal: JournalWriter, toolbox: Toolbox, emit: Callable[[Event], None]) -> None:
        self._journal = journal
        self._toolbox = toolbox
        self._emit = emit
        self._running: dict[str, _Running] = {}
        self._unwritten: dict[str, ShellEnded] = {}  # ends that are not journalled yet

    @property
    def any_running(self) -> bool:
        return bool(self._running)

    def plan(self, command: str) -> PlannedCommand:
        """Return the plan of a command; raises `UsageError` or `ToolFailed` if it cannot run. Nothing happens."""
        tool = self._toolbox.tools.get(TOOL)
        if not command.strip() or tool is None:
            raise UsageError(
                f"Command {command!r} cannot be run: it is empty, or this session has no shell. Type a shell command."
            )
        opened = self._journal.conversation.opened  # its processes carry it: unique across sessions
        command_id = f"{opened.session if opened else ''}{self._journal.new_id('-s')}"
        arguments = json.dumps({"command": command, "timeout": _LONGEST})
        return PlannedCommand(command_id, command, tool.plan(command_id, arguments), arguments)

    async def run(
        self,
        command: str,
        *,
        share: bool,
        planned: PlannedCommand | None = None,
        confined: Confined = "",
        by_user: bool = False,
    ) -> ShellEnded:
        """Run the command and return how it ended. A cancellation stops it, waits for its end, and propagates.

        One that was `planned` and judged runs as it was allowed: `confined` at a level, `by_user` if the user, or a
        rule of theirs, allowed it. Raises `UsageError` or `ToolFailed` if it cannot start: then nothing has happened.
        """
        planned = planned or self.plan(command)
        command_id, plan = planned.id, planned.plan
        started = ShellStarted(id=command_id, command=valid_unicode(command), shared=share, spool=plan.spool)
        self._journal.append(started)
        stop = asyncio.Event()
        work = self._run(started, plan, stop, confined=confined, by_user=by_user)
        task = asyncio.get_running_loop().create_task(work, name=f"command {command_id}")
        self._running[command_id] = _Running(task, stop)
        return await wait_shielded(task, lambda _: stop.set())

    def stop(self) -> None:
        """Ask every command to end, from any thread."""
        for running in tuple(self._running.values()):
            loop = running.task.get_loop()
            if loop.is_running() and asyncio._get_running_loop() is not loop:  # noqa: SLF001 - None without a loop
                with contextlib.suppress(RuntimeError):  # it has closed in the meantime, so nothing runs
                    loop.call_soon_threadsafe(running.stop.set)
            else:
                running.stop.set()

    async def end(self, within: float) -> None:
        """Stop every command and wait up to `within` seconds for each step: ending by itself, then being cancelled."""
        self.stop()
        await end_tasks([running.task for running in self._running.values()], within)

    def orphans(self, conversation: Conversation) -> tuple[LeftBehind, ...]:
        """Return the open commands that an earlier process started."""
        known = self._running.keys() | self._unwritten.keys()
        open_ = (shell for shell in conversation.open_shells if shell.started.id not in known)
        return tuple(LeftBehind(shell.started.id, shell.started.spool, shell.process) for shell in open_)

    def missing_ends(
        self, conversation: Conversation, running: str, *, began: Mapping[str, float]
    ) -> tuple[ShellEnded, ...]:
        """Return the ends to journal for open commands that do not run in this process.

        `running` is a note about processes they left running; `began` is when they started, in seconds since the epoch.
        """
        ends: list[ShellEnded] = []
        for started in (shell.started for shell in conversation.open_shells if shell.started.id not in self._running):
            since = began.get(started.id, 0.0)
            traces = self._toolbox.traces(started.spool, since) if started.spool is not None else None
            cause, program = StopCause("crash", running), conversation.program
            ends.append(self._unwritten.get(started.id) or settle_command(started, cause, traces, program=program))
        return tuple(ends)

    async def _run(
        self, started: ShellStarted, plan: Plan, stop: asyncio.Event, *, confined: Confined, by_user: bool
    ) -> ShellEnded:
        clock = asyncio.get_running_loop().time
        since = clock()
        output = ToolOutput(text="Its end was not reported. Its effect is unknown.", interrupted=True)

        def emit(text: str) -> None:
            self._emit(LiveOutput(started.id, text))

        def began(process: ProcessId) -> None:
            try:
                self._journal.append(ProcessStarted(call=started.id, process=process))
            except StateError as failed:  # the command runs, and its end may still be written
                self._journal.not_recorded(failed)

        try:
            context = ToolContext(
                call=started.id,
                stop=stop,
                emit=emit,
                report_process=began,
                typed=True,
                confined=confined,
                by_user=by_user,
            )
            output = await plan.run(context)
        except ToolFailed as failed:
            output = ToolOutput(text=str(failed), ok=False)
        finally:
            outcome: Outcome = "interrupted" if output.interrupted else "ok" if output.ok else "failed"
            ended = command_ended(started, outcome, valid_unicode(output.text), round(clock() - since, 3))
            del self._running[started.id]
            try:
                self._journal.append(ended)
            except StateError:
                self._unwritten[started.id] = ended  # not lost: the next prompt tries again
                raise
        if started.spool is not None:
            self._toolbox.forget(started.spool)
        return ended
