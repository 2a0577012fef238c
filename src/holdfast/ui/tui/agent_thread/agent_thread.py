"""The agent's side of the screen: a thread with an event loop, which alone owns store, tools and agent.

Commands go in and immutable messages come out; neither side ever waits for the other. An error of a command becomes a
message, and the next command is served.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from holdfast.agent.sessions import OpenSession, fork, resume
from holdfast.agent.stop_cause import StopCause
from holdfast.config.project_decisions import Project
from holdfast.errors import HoldfastError, SessionBusy, UsageError
from holdfast.host.events import InUse, ServersShown, Window
from holdfast.providers.model import Model
from holdfast.questions import ApprovalAnswer
from holdfast.session.catalog import SessionSummary
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.model_settings import ModelSettings
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.tool_calls import Mode, Pattern
from holdfast.ui.advice import SCREEN, with_advice
from holdfast.ui.startup.debug_log_option import debug_log
from holdfast.ui.startup.run_options import RunOptions
from holdfast.ui.startup.server_lists import ServerLists
from holdfast.ui.tui.agent_thread.command_loop import CommandLoop
from holdfast.ui.tui.agent_thread.conversation_meter import session_opened, with_conversation
from holdfast.ui.tui.agent_thread.messages import AgentMessage, ErrorMessage, InputReturned, SessionClosed
from holdfast.ui.tui.agent_thread.open_question import OpenQuestion
from holdfast.ui.tui.agent_thread.running_work import RunningWork
from holdfast.ui.tui.agent_thread.task_commands import TaskCommands

if TYPE_CHECKING:
    from holdfast.agent.agent import Agent
    from holdfast.agent.debug_log.log import Log
    from holdfast.agent.generated_title import GeneratedTitle
    from holdfast.tools.toolbox import LocalToolbox


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
        self._agent: Agent | None = None
        self._toolbox: LocalToolbox | None = None
        self._project: Project | None = None
        self._title: GeneratedTitle | None = None
        self._open_failure = ""  # why the last attempt to open a session failed
        self._servers = ServerLists(options)
        self._closing = ExitStack()  # closed together with the session
        self._question = OpenQuestion(send)
        self.work = RunningWork(
            self._commands,
            current_agent=lambda: self._agent,
            require_agent=self._require_agent,
            expand=self._expand,
            send=send,
        )
        start_turn = partial(self.work.submit, cause="wake") if options.config.wake else None
        self.tasks = TaskCommands(
            self._commands, lambda: self._agent, send=send, begin=start_turn, turn_over=self.work.turn_over
        )

    def start(self) -> None:
        """Start the thread; commands submitted before are served first."""

        async def begin() -> None:
            await self._servers.begin()
            self._servers.when_known(self._report_servers)

        self._commands.start(begin)

    def stop(self, cause: StopCause | None = None) -> None:
        """Stop running work now, and submitted work as soon as it starts."""
        self._commands.stop(cause)

    # --- commands -----------------------------------------------------------------------------------------------

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
            conversation = fold(record.entry for record in reading.records)
            self._send(session_opened(session.id, session.cwd, reading, conversation=conversation, read_only=True))

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

    def rewind(self, turn: int) -> None:
        """Rewind to before the prompt of `turn`; its text is sent back as `InputReturned`."""

        async def go_back() -> None:
            self._send(InputReturned(await self._require_agent().rewind(turn)))

        self._commands.submit(go_back)

    def uncompact(self) -> None:
        """Undo the last compaction."""
        self._commands.submit(lambda: self._require_agent().uncompact())

    def leave(self, cause: StopCause) -> None:
        """Stop the running turn; queued messages stay queued in the session."""
        self.work.leaving = True
        self.stop(cause)

    def answer(self, question: str, answer: ApprovalAnswer) -> None:
        """Answer the question with this id, if it is still open."""
        self._commands.call_soon(lambda: self._question.answer(question, answer))

    def rename(self, title: str) -> None:
        """Set the session's title."""
        self._submit(lambda agent: agent.rename(title))

    def use_mode(self, mode: Mode) -> None:
        """Use this approval mode from the next decision on."""

        def use() -> None:
            self._mode = mode
            if self._agent is not None:
                self._agent.mode = mode

        self._commands.call_soon(use)

    def servers(self, server: str = "", *, restart: bool = False) -> None:
        """Send the states of the MCP servers as `ServersShown`, after restarting `server` if `restart`."""

        async def show() -> None:
            toolbox = self._toolbox
            if restart:
                if toolbox is None or self._agent is None:
                    raise UsageError("No session is open, so no server runs. Each is started when it is needed.")
                await toolbox.restart_server(server)
            states = () if toolbox is None or self._agent is None else await toolbox.server_states()
            self._send(ServersShown(states, self._servers.failures, server))

        if restart:
            self._commands.submit_user_action(show)
        else:
            self._commands.submit(show)

    def _report_servers(self) -> None:
        """Say at once which servers failed: the next prompt journals it, for the model, too."""
        for why in self._servers.failures.values():
            self._send(ErrorMessage(f"{why.removesuffix(' Nothing was sent.')} To see its states: /mcp."))

    def forbid(self, pattern: Pattern) -> None:
        """Remove a pattern that is always allowed in this folder."""

        async def remove() -> None:
            if self._project is not None:
                self._project.forbid(pattern)

        self._commands.submit(remove)

    def use_model(self, name: str) -> None:
        """Use the model `name` (PROVIDER:MODEL) for later requests."""
        self._submit(lambda agent: agent.use_model(name))

    def use_settings(self, settings: ModelSettings) -> None:
        """Send later requests with these settings."""
        self._submit(lambda agent: agent.use_settings(settings))

    def close(self, within: float) -> bool:
        """End everything within `within` seconds. Return whether that succeeded; nothing is served afterwards."""
        self.leave(StopCause("user", "holdfast was closed"))
        return self._commands.close(within)

    def _submit(self, act: Callable[[Agent], None]) -> None:
        """Call `act` with the agent of the open session, after the earlier commands."""

        async def call() -> None:
            act(self._require_agent())

        self._commands.submit(call)

    async def _expand(self, typed: str) -> str:
        return typed if self._toolbox is None else await self._toolbox.expand_prompt(typed)

    def _stop_running(self, cause: StopCause | None) -> None:
        if self._toolbox is not None:
            self._toolbox.stop_waiting()
        if self._agent is not None:
            self._agent.stop(cause)

    def _require_agent(self) -> Agent:
        if self._agent is None:
            raise UsageError(self._open_failure or "No session is open. Type a prompt, or /resume one.")
        return self._agent

    async def _open(self, begin: Callable[[], OpenSession], model: str) -> None:
        try:
            await self._servers.wait()
            session = begin()  # first: if it fails, the current session stays open
            await self._commands.run_safely(self._close_session)
            agent = self._agent = self._agent_or_close(session)
        except HoldfastError as error:
            self._open_failure = with_advice(error, SCREEN)
            raise
        self._send(session_opened(session.id, str(session.cwd), session.reading, conversation=agent.conversation))
        if model and model != agent.conversation.chosen_model:
            agent.use_model(model)
        if model:
            agent.use_settings(self._options.chosen_settings.over(agent.conversation.settings))
        await self.work.begin(agent, agent.resume_turn)

    def _agent_or_close(self, session: OpenSession) -> Agent:
        """Return an agent of the session; if that fails, the session is closed."""
        try:
            return self._agent_of(session)
        except BaseException:
            self._closing.close()
            session.store.close()
            self._send(SessionClosed())
            raise

    def _agent_of(self, session: OpenSession) -> Agent:
        options = self._options
        log = self._closing.enter_context(
            debug_log(options, session.id, notify=lambda text: self._send(ErrorMessage(text)))
        )
        options.prepare(session.toolbox)
        self._toolbox = session.toolbox
        self._project = options.project_of(session.cwd)
        emit = self.tasks.with_wake(with_conversation(self._send, lambda: agent.conversation))
        if options.config.title_model:
            from holdfast.agent.generated_title import GeneratedTitle

            self._title = GeneratedTitle(
                options.config.title_model,
                journal=lambda: agent.journal,
                connect=lambda name: self._connect_to(name, log),
                limits=options.limits,
                defaults=options.settings_of,
            )
            emit = self._title.wrap_emit(emit)
        agent = options.new_agent(
            store=session.store,
            toolbox=session.toolbox,
            project=self._project,
            connect=lambda name: self._connect(name, log),
            emit=emit,
            ask=self._question.ask,
            reading=session.reading,
            log=log,
            mode=self._mode,
        )
        return agent

    async def _connect(self, name: str, log: Log | None) -> Model:
        model = await self._connect_to(name, log)
        self._send(Window(name, self._options.windows.at_hand(name) or self._options.config.context.window))
        return model

    async def _close_session(self) -> None:
        agent, self._agent = self._agent, None
        title, self._title = self._title, None
        try:
            try:
                if title is not None:
                    await title.end()
            finally:
                if agent is not None:
                    await agent.close()
        finally:
            self._closing.close()
            await self._servers.close(leaving=self.work.leaving)
            await self.work.wait()
