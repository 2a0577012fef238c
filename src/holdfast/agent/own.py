"""A person's own commands: run like those of a model, told it only if they want that.

Two rules. A command is in the journal before it begins. However it ends, what is known of it is journalled.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from holdfast.agent.events import Event, LiveOutput
from holdfast.agent.record import Record
from holdfast.agent.stop import to_the_end
from holdfast.calls import Outcome
from holdfast.errors import ToolFailed, UsageError
from holdfast.session import words
from holdfast.session.entries import ShellEnded, ShellStarted
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
        own = self._record.new_id("s")
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

    def left(self, open_: Iterable[ShellStarted]) -> tuple[ShellEnded, ...]:
        """Return the ends of commands that an earlier process began."""
        gone = [started for started in open_ if started.id not in self._running]
        return tuple(_ended(started, "interrupted", words.interrupted("crash"), 0.0) for started in gone)

    async def _run(self, started: ShellStarted, plan: Plan, stop: asyncio.Event) -> ShellEnded:
        clock = asyncio.get_running_loop().time
        since = clock()
        output = Output(text="It ended without saying how. Its effect is unknown.", interrupted=True)

        def emit(text: str) -> None:
            self._emit(LiveOutput(started.id, text))

        try:
            output = await plan.run(Context(call=started.id, stop=stop, emit=emit))
        except ToolFailed as failed:
            output = Output(text=str(failed), ok=False)
        finally:
            outcome: Outcome = "interrupted" if output.interrupted else "ok" if output.ok else "failed"
            ended = _ended(started, outcome, valid_unicode(output.text), round(clock() - since, 3))
            del self._running[started.id]
            self._record.append(ended)
        return ended


def _ended(started: ShellStarted, outcome: Outcome, text: str, seconds: float) -> ShellEnded:
    note = words.shared(started.command, outcome, text) if started.shared else ""
    return ShellEnded(id=started.id, outcome=outcome, text=text, seconds=seconds, note=note)
