"""User commands about background tasks: move one there, stop one, see its output. On the agent's thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from holdfast.agent.events import Event, Fact
from holdfast.errors import UsageError
from holdfast.host.events import TaskOutput
from holdfast.session.journal.entries import TurnEnded, When
from holdfast.session.journal.tasks import TaskEnded
from holdfast.ui.tui.agent_thread.command_loop import CommandLoop
from holdfast.ui.tui.agent_thread.messages import AgentMessage

if TYPE_CHECKING:
    from holdfast.agent.agent import Agent


class TaskCommands:
    """The commands; each may be called from any thread, and returns at once."""

    def __init__(
        self,
        commands: CommandLoop,
        agent: Callable[[], Agent | None],
        *,
        send: Callable[[AgentMessage], None],
        begin: Callable[[str, When], Awaitable[None]] | None,
        turn_over: Callable[[], Awaitable[None]],
    ) -> None:
        """Serve the tasks of the open session; `begin`, if given, starts a turn when one has ended.

        `turn_over` waits until a turn whose end is journalled is over.
        """
        self._commands = commands
        self._agent = agent
        self._send = send
        self._begin = begin
        self._turn_over = turn_over

    def move(self) -> None:
        """Move the model's running command to the background."""

        async def move() -> None:
            agent = self._agent()
            if agent is None or not agent.tasks.move():
                raise UsageError("Nothing was moved: the model runs no command. Press Ctrl+B while one runs.")

        self._commands.submit(move)

    def stop(self, task: str) -> None:
        """End a task."""

        async def stop() -> None:
            agent = self._agent()
            if agent is None or agent.tasks.ask_to_stop(task, "the user") is None:
                raise UsageError(f"Task {task!r} does not run. See /tasks.")

        self._commands.submit(stop)

    def show(self, task: str) -> None:
        """Send the last output of a task as `TaskOutput`."""

        async def show() -> None:
            agent = self._agent()
            self._send(TaskOutput(task, agent.tasks.output_of(task) if agent is not None else ""))

        self._commands.submit(show)

    def with_wake(self, emit: Callable[[Event], None]) -> Callable[[Event], None]:
        """Return an `emit` that also begins a turn once a task has ended by itself and nothing runs, if configured.

        A running turn reads of the end with its next request. If it makes none, another turn begins behind it, unless
        it was stopped or has failed.
        """
        begin = self._begin
        if begin is None:
            return emit
        is_open = False  # whether a task has ended of which the model may not have read

        async def wake() -> None:
            from holdfast.host.wake import WAKE_PROMPT

            nonlocal is_open
            agent = self._agent()
            if agent is None or await agent.wait_for_turn():
                return
            is_open = False
            if agent.conversation.unreported_tasks:
                await begin(WAKE_PROMPT, "later")

        async def wake_behind() -> None:
            await self._turn_over()
            await wake()

        def emit_and_wake(event: Event) -> None:
            nonlocal is_open
            emit(event)
            match event:
                case Fact(entry=TaskEnded(outcome=outcome)) if outcome != "interrupted":
                    is_open = True
                    self._commands.submit(wake)
                case Fact(entry=TurnEnded(cause="finished")) if is_open:
                    self._commands.submit(wake_behind)
                case _:
                    pass

        return emit_and_wake
