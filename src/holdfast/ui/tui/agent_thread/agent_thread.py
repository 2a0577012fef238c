"""The screen's side of the session host: a thread with an event loop, which holds the host of one session at a time.

Commands go in and immutable messages come out; neither side ever waits for the other. This thread opens, reads and
closes sessions, in the order in which that was asked for; all else is the host's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from holdfast.agent.events import Fact
from holdfast.agent.sessions import OpenSession, fork, resume
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import HoldfastError, SessionBusy, UsageError
from holdfast.host import commands as c
from holdfast.host.events import InUse, ServersShown, TaskOutput, Window
from holdfast.host.hosted_session import RULES_OF
from holdfast.providers.model import Model
from holdfast.questions import ApprovalAnswer
from holdfast.session.catalog import SessionSummary
from holdfast.session.conversation.fold import fold
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.tool_calls import Mode
from holdfast.ui.advice import SCREEN, with_advice
from holdfast.ui.startup.debug_log_option import debug_log
from holdfast.ui.startup.run_options import RunOptions
from holdfast.ui.startup.server_lists import ServerLists
from holdfast.ui.tui.agent_thread.command_loop import CommandLoop
from holdfast.ui.tui.agent_thread.host_messages import HostMessages, opened_message
from holdfast.ui.tui.agent_thread.messages import AgentMessage, ErrorMessage, PromptRefused, SessionClosed

if TYPE_CHECKING:
    from holdfast.agent.debug_log.log import Log
    from holdfast.host.session_host import SessionHost


NO_SESSION = "No session is open. Type a prompt, or /resume one."


class AgentThread:
    """Runs one session at a time in its own thread. Its methods may be called from any thread, and never wait."""

    def __init__(
        self,
        options: RunOptions,
        *,
        connect: Callable[[str, Log | None], Awaitable[Model]],
        keep: Callable[[str], tuple[str, str]],
        send: Callable[[AgentMessage], None],
    ) -> None:
        """Create it; `connect` returns a model, `keep` stores a traceback, `send` must neither block nor raise."""
        self._commands = CommandLoop(send, keep, stop_running=self._stop_running, end=self._close_session)
        self._send = send
        self._options = options
        self._connect_to = connect
        self._mode: Mode = options.mode
        self._host: SessionHost | None = None
        self._open_failure = ""  # why the last attempt to open a session failed
        self._leaving = False  # queued messages then stay queued
        self._servers = ServerLists(options)
        self._closing = ExitStack()  # closed together with the session

    def start(self) -> None:
        """Start the thread; commands submitted before are served first."""

        async def begin() -> None:
            await self._servers.begin()
            self._servers.when_known(self._report_servers)

        self._commands.start(begin)

    # --- commands -----------------------------------------------------------------------------------------------

    def submit(self, command: c.Command) -> None:
        """Give a command to the host of the open session, after the earlier ones.

        A prompt that is refused returns as `PromptRefused`.
        """
        is_action = isinstance(command, c.Prompt | c.Shell | c.Slash | c.Compact) or (
            isinstance(command, c.ShowServers) and command.restart
        )

        async def give() -> c.Submission | None:
            if self._host is not None:
                return self._host.submit(command)
            match command:  # without a session
                case c.Prompt(text=text):
                    self._send(PromptRefused(text, self._open_failure or NO_SESSION))
                case c.ShowServers(restart=False, server=server):
                    self._send(ServersShown((), self._servers.failures, server))
                case c.ShowTask(task=task):
                    self._send(TaskOutput(task, ""))
                case c.Forbid():
                    pass  # what is allowed is a session's
                case c.MoveCommand():
                    raise UsageError("Nothing was moved: the model runs no command. Press Ctrl+B while one runs.")
                case _:
                    raise UsageError(self._open_failure or NO_SESSION)
            return None

        (self._commands.submit_user_action if is_action else self._commands.submit)(give)

    def stop(self, cause: StopCause | None = None) -> None:
        """Stop running work now, and submitted work as soon as it starts."""
        self._commands.stop(cause)

    def answer(self, question: str, answer: ApprovalAnswer) -> None:
        """Answer the question with this id, if it is still open."""

        def give() -> None:
            if self._host is not None:
                self._host.submit(c.Answer(question, answer.choice, answer.words, answer.marked))

        self._commands.call_soon(give)

    def use_mode(self, mode: Mode) -> None:
        """Use this approval mode from the next decision on, also in sessions that are opened later."""

        def use() -> None:
            self._mode = mode
            if self._host is not None:
                self._host.submit(c.UseMode(mode))

        self._commands.call_soon(use)

    def open(self, begin: Callable[[], OpenSession], model: str = "") -> None:
        """Open a session in place of the current one; with `model`, switch it to that and to the run's settings."""
        self._commands.submit(lambda: self._open(begin, model))

    def resume(self, session: SessionSummary, model: str = "") -> None:
        """Open an existing session; if another process holds it, `InUse` is sent."""

        async def open_it() -> None:
            try:
                await self._open(lambda: resume(self._options.catalog, session), model)
            except SessionBusy as busy:
                self._send(InUse(session, busy.holder, model))

        self._commands.submit(open_it)

    def fork(self, session: SessionSummary, model: str = "", *, until: int | None = None) -> None:
        """Open a copy of a session, which may be in use, or of its entries up to `until`; switch it to `model`."""
        self.open(lambda: fork(self._options.catalog, session, until=until), model)

    def read(self, session: SessionSummary) -> None:
        """Show a session as it is now, without opening it."""

        async def show() -> None:
            reading = read_copy(self._options.catalog.folder(session.id))
            await self._close_session()
            facts = tuple(Fact(record.seq, record.entry) for record in reading.records)
            conversation = fold(fact.entry for fact in facts)
            self._send(opened_message(session.id, session.cwd, facts, conversation, read_only=True))

        self._commands.submit(show)

    def close_session(self) -> None:
        """Stop the turn and close the session; `SessionClosed` is sent after its last message."""

        async def end() -> None:
            try:
                await self._close_session()
            finally:
                self._send(SessionClosed())

        self.stop()
        self._commands.submit(end)

    def leave(self, cause: StopCause) -> None:
        """Stop the running turn; queued messages stay queued in the session."""
        self._commands.call_soon(self._leave)
        self.stop(cause)

    def close(self, within: float) -> bool:
        """End everything within `within` seconds. Return whether that succeeded; nothing is served afterwards."""
        self.leave(StopCause("user", "holdfast was closed"))
        return self._commands.close(within)

    # --- the open session -----------------------------------------------------------------------------------------

    def _leave(self) -> None:
        self._leaving = True
        if self._host is not None:
            self._host.keep_messages()

    def _report_servers(self) -> None:
        """Say at once which servers failed: the next prompt journals it, for the model, too."""
        for why in self._servers.failures.values():
            self._send(ErrorMessage(f"{why.removesuffix(' Nothing was sent.')} To see its states: /mcp."))

    def _stop_running(self, cause: StopCause | None) -> None:
        if self._host is not None:
            stop = cause or StopCause("user")
            self._host.submit(c.Stop(stop.cause, stop.detail))

    async def _open(self, begin: Callable[[], OpenSession], model: str) -> None:
        try:
            await self._servers.wait()
            session = begin()  # first: if it fails, the current session stays open
            await self._commands.run_safely(self._close_session)
            host = self._host = self._host_or_close(session)
        except HoldfastError as error:
            self._open_failure = with_advice(error, SCREEN)
            raise
        messages = HostMessages(
            self._send,
            lambda: host.agent.conversation,
            failed_servers=lambda: self._servers.failures,
        )
        host.listen(messages.take)
        conversation = host.agent.conversation
        if model and model != conversation.chosen_model:
            host.submit(c.UseModel(model))
        if model:
            host.submit(c.UseSettings(self._options.chosen_settings.over(conversation.settings)))
        host.submit(c.Continue())

    def _host_or_close(self, session: OpenSession) -> SessionHost:
        """Return the host of the session; if that fails, the session is closed."""
        try:
            return self._host_of(session)
        except BaseException:
            self._closing.close()
            session.store.close()
            self._send(SessionClosed())
            raise

    def _host_of(self, session: OpenSession) -> SessionHost:
        from holdfast.host.opening import open_host  # with the agent, which the start of the screen does not load

        options = self._options
        log = self._closing.enter_context(
            debug_log(options, session.id, notify=lambda text: self._send(ErrorMessage(text)))
        )
        options.prepare(session.toolbox)
        config = msgspec.structs.replace(options.config, permission_mode=self._mode)
        host = open_host(
            msgspec.structs.replace(options, config=config, resumed=None),  # the screen says what changes on resuming
            session,
            RULES_OF["screen"],
            log=log,
            connect_to=lambda name: self._connect(name, log),
            usable=str,  # the screen has checked it
            describe_bug=self._commands.describe_bug,
        )
        if self._leaving:
            host.keep_messages()
        return host

    async def _connect(self, name: str, log: Log | None) -> Model:
        model = await self._connect_to(name, log)
        self._send(Window(name, self._options.windows.at_hand(name) or self._options.config.context.window))
        return model

    async def _close_session(self) -> None:
        host, self._host = self._host, None
        try:
            if host is not None:
                await host.close()
        finally:
            self._closing.close()
            await self._servers.close(leaving=self._leaving)
