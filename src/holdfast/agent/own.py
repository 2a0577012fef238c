"""A person's own commands: run like those of a model, told it only if they want that.

Two rules. A command is in the journal before it begins. However it ends, what is known of it is journalled.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from holdfast.agent.events import Event, LiveOutput
from holdfast.agent.record import Record
from holdfast.agent.settle import Leave, command_ended, settle_command
from holdfast.agent.stop import to_the_end
from holdfast.calls import Outcome, ProcessId
from holdfast.errors import StateError, StorageFailed, ToolFailed, UsageError
from holdfast.session.conversation import OpenShell
from holdfast.session.entries import ProcessStarted, ShellEnded, ShellStarted
from holdfast.text import valid_unicode
from holdfast.tools.tool import Context, Output, Plan, Toolbox

TOOL = "bash"
LONGEST = 3600
"""Seconds after which a command is ended."""


@dataclass(frozen=True, slots=True)
class _Running:
    task: asyncio.Task[ShellEnded]
    stop: asyncio.Event


class OwnCommands:
    """The commands that a person runs in one session; any number at once, whatever else runs."""

    def __init__(self, record: Record, toolbox: Toolbox, emit: Callable[[Event], None]) -> None:
        self._record = record
        self._toolbox = toolbox
        self._emit = emit
        self._running: dict[str, _Running] = {}
        self._unwritten: dict[str, ShellEnded] = {}  # ends that the journal has not taken

    @property
    def any_running(self) -> bool:
        """Return whether one has not ended."""
        return bool(self._running)

    async def run(self, command: str, *, share: bool) -> ShellEnded:
        """Run the command and return how it ended; a cancellation stops it, waits for that, and propagates.

        Raises `UsageError` or `ToolFailed` if it cannot be begun: then nothing happened.
        """
        tool = self._toolbox.tools.get(TOOL)
        if not command.strip() or tool is None:
            raise UsageError(f"Command {command!r} cannot be run here, some words for a shell were expected. Type one.")
        opened = self._record.conversation.opened  # its processes carry its id: no other session may have the same
        own = f"{opened.session if opened else ''}{self._record.new_id('-s')}"
        plan = tool.plan(own, json.dumps({"command": command, "timeout": LONGEST}))
        started = ShellStarted(id=own, command=valid_unicode(command), shared=share, spool=plan.spool)
        self._record.append(started)
        stop = asyncio.Event()
        task = asyncio.get_running_loop().create_task(self._run(started, plan, stop), name=f"command {own}")
        self._running[own] = _Running(task, stop)
        return await to_the_end(task, lambda _: stop.set())

    def stop(self) -> None:
        """Ask every command to end."""
        for running in self._running.values():
            running.stop.set()

    async def end(self, within: float) -> None:
        """Stop every command and wait so many seconds for it, then go on without."""
        self.stop()
        if tasks := [running.task for running in self._running.values()]:
            _, late = await asyncio.wait(tasks, timeout=within)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=within)

    def gone(self, open_: Iterable[OpenShell]) -> tuple[OpenShell, ...]:
        """Return those of the commands without an end that an earlier process began."""
        known = self._running.keys() | self._unwritten.keys()
        return tuple(shell for shell in open_ if shell.started.id not in known)

    def left(self, open_: Iterable[OpenShell], running: str, *, began: Mapping[str, float]) -> tuple[ShellEnded, ...]:
        """Return the ends of commands that are not written down and do not run in this process.

        `running` is what is to be told of processes of theirs, `began` when they did, in seconds since the epoch.
        """
        ends: list[ShellEnded] = []
        for started in (shell.started for shell in open_ if shell.started.id not in self._running):
            since = began.get(started.id, 0.0)
            left = self._toolbox.traces(started.spool, since) if started.spool is not None else None
            ends.append(self._unwritten.get(started.id) or settle_command(started, Leave("crash", running), left))
        return tuple(ends)

    async def _run(self, started: ShellStarted, plan: Plan, stop: asyncio.Event) -> ShellEnded:
        clock = asyncio.get_running_loop().time
        since = clock()
        output = Output(text="It ended without saying how. Its effect is unknown.", interrupted=True)

        def emit(text: str) -> None:
            self._emit(LiveOutput(started.id, text))

        def began(process: ProcessId) -> None:
            try:
                self._record.append(ProcessStarted(call=started.id, process=process))
            except StateError as failed:  # it runs, and how it ends may yet be written
                self._record.not_recorded(failed)

        try:
            output = await plan.run(Context(call=started.id, stop=stop, emit=emit, began=began))
        except ToolFailed as failed:
            output = Output(text=str(failed), ok=False)
        finally:
            outcome: Outcome = "interrupted" if output.interrupted else "ok" if output.ok else "failed"
            ended = command_ended(started, outcome, valid_unicode(output.text), round(clock() - since, 3))
            del self._running[started.id]
            try:
                self._record.append(ended)
            except StorageFailed:
                self._unwritten[started.id] = ended  # it is not lost: the next prompt tries again
                raise
        if started.spool is not None:
            self._toolbox.forget(started.spool)
        return ended
