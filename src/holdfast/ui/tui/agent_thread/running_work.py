"""The running turn and user commands of the open session. They live on the agent's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import AppendConflict, HoldfastError, UsageError
from holdfast.host.events import Busy, Idle
from holdfast.session.journal.entries import TurnEnded, When
from holdfast.tool_calls import Image
from holdfast.tools.workspace.images import named_images
from holdfast.ui.advice import SCREEN, with_advice
from holdfast.ui.tui.agent_thread.command_loop import CommandLoop
from holdfast.ui.tui.agent_thread.messages import AgentMessage, ErrorMessage, InputReturned, PromptRefused

if TYPE_CHECKING:
    from holdfast.agent.agent import Agent


class RunningWork:
    """Starts turns and commands; sends when they begin and end, and returns queued messages that they did not reach.

    `prompt`, `shell`, `compact` and `recall` may be called from any thread, and never wait.
    """

    def __init__(
        self,
        commands: CommandLoop,
        *,
        current_agent: Callable[[], Agent | None],
        require_agent: Callable[[], Agent],
        expand: Callable[[str], Awaitable[str]],
        send: Callable[[AgentMessage], None],
    ) -> None:
        """Create it with nothing running.

        `current_agent` returns the agent of the open session, None if there is none; `require_agent` raises instead.
        `expand` returns what the model reads for a typed text, or raises `HoldfastError`. `send` must neither block nor
        raise.
        """
        self._commands = commands
        self._current_agent = current_agent
        self._require_agent = require_agent
        self._expand = expand
        self._send = send
        self._shells: set[asyncio.Task[None]] = set()
        self._turn: asyncio.Task[None] | None = None
        self.leaving = False
        """Whether holdfast is being left: queued messages then stay queued."""

    def prompt(self, text: str, when: When = "steer") -> None:
        """Run a turn; while one runs, queue the text for it or for the next one.

        Refused text is returned as `PromptRefused`, queued text that a stopped turn did not reach as
        `InputReturned`.
        """
        self._commands.submit_user_action(lambda: self.submit(text, when))

    def shell(self, command: str, *, share: bool) -> None:
        """Run a user command, during a turn or not; the model reads its output only with `share`."""

        async def begin() -> None:
            task = asyncio.create_task(self._shell(self._require_agent(), command, share=share), name="shell")
            self._shells.add(task)
            task.add_done_callback(self._shells.discard)
            await asyncio.sleep(0)  # it must have started before it can be stopped

        self._commands.submit_user_action(begin)

    def compact(self, wish: str) -> None:
        """Summarize older messages, with special attention to `wish`; `stop` cancels that without changes."""

        async def begin() -> None:
            agent = self._require_agent()
            if await agent.wait_for_turn():
                raise UsageError("Cannot compact: a turn is running. Wait for its end.")
            await self.begin(agent, lambda: agent.compact(wish))

        self._commands.submit_user_action(begin)

    def recall(self) -> None:
        """Unqueue all queued messages and send them back as `InputReturned`."""
        self._commands.submit(lambda: self._return_queued(self._require_agent()))

    async def submit(self, text: str, when: When, *, cause: str = "") -> None:
        """Queue the text for the running turn, else start one; commands are still served. `cause` as in `Agent.run`."""
        try:
            agent = self._require_agent()
            written = await self._expand(text)
            if await agent.wait_for_turn():
                agent.queue(written, when, images=self._attached(agent, text))
                return
        except HoldfastError as error:
            self._send(PromptRefused(text, with_advice(error, SCREEN)))
            return
        await self.begin(agent, lambda: agent.run(written, images=self._attached(agent, text), cause=cause), text)

    async def begin(self, agent: Agent, turn: Callable[[], Awaitable[object]], prompt: str = "") -> None:
        """Start `turn` once the previous one has ended."""
        await self.turn_over()
        self._turn = asyncio.create_task(self._run(agent, turn, prompt), name="turn")
        await asyncio.sleep(0)  # the turn must have the session before the next command

    async def turn_over(self) -> None:
        """Wait for a turn that has ended and sends its last messages."""
        if self._turn is not None:
            await self._turn

    async def wait(self) -> None:
        """Wait until the turn and all user commands have ended."""
        if self._shells:
            await asyncio.wait(self._shells)
        if self._turn is not None:
            await self._turn
            self._turn = None

    async def _return_queued(self, agent: Agent) -> None:
        is_current = agent is self._current_agent()  # else they stay queued in their session
        waiting = [each.message for each in agent.conversation.queued if is_current]
        if texts := [agent.recall(message.id) for message in waiting]:
            self._send(InputReturned("\n\n".join(texts)))

    async def _shell(self, agent: Agent, command: str, *, share: bool) -> None:
        if not self._turn_runs:
            self._send(Busy())
        await self._commands.run_safely(lambda: agent.shell(command, share=share))
        if not self._turn_runs and not self._others_run:
            self._send(Idle(None))

    @property
    def _turn_runs(self) -> bool:
        return self._turn is not None and not self._turn.done()

    @property
    def _others_run(self) -> bool:
        return any(not task.done() for task in self._shells if task is not asyncio.current_task())

    def _attached(self, agent: Agent, text: str) -> tuple[Image, ...]:
        opened = agent.conversation.opened
        images, wrong = named_images(text, Path(opened.cwd if opened else "."))
        for why in wrong:
            self._send(ErrorMessage(why))
        return images

    async def _run(self, agent: Agent, turn: Callable[[], Awaitable[object]], prompt: str) -> None:
        """Run a turn or a compaction, send its start and end, and return the queued messages that it did not reach."""
        ended: TurnEnded | None = None
        self._send(Busy())

        async def run() -> None:
            nonlocal ended
            before = agent.conversation.turns
            try:
                result = await turn()
            except HoldfastError as error:
                # On a conflict the turns that were added are another process's.
                if not prompt or (agent.conversation.turns > before and not isinstance(error, AppendConflict)):
                    raise
                self._send(PromptRefused(prompt, with_advice(error, SCREEN)))
                return
            ended = result if isinstance(result, TurnEnded) else None

        try:
            if (not await self._commands.run_safely(run) or ended is not None) and not self.leaving:
                await self._commands.run_safely(lambda: self._return_queued(agent))
        finally:
            self._send(Idle(ended))
            if self._others_run:
                self._send(Busy())
