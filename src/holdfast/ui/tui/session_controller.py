"""The session as the screen knows it: its state, updated by the agent's messages, and the user's commands.

The session belongs to the agent's thread: nothing here waits for it. Nothing here knows a widget: the screen passes a
callback that shows each new state.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import msgspec

from holdfast.agent.events import Fact
from holdfast.agent.sessions import create
from holdfast.errors import ModelUnusable, UsageError
from holdfast.host import commands as c
from holdfast.host.events import (
    AskClosed,
    Asked,
    Busy,
    Closed,
    Idle,
    InUse,
    Lines,
    Returned,
    ServersShown,
    TaskOutput,
    Window,
)
from holdfast.host.offered_commands import (
    INIT_COMMAND,
    RECEIPT_COMMAND,
    SKILLS_COMMAND,
    UNDO_COMMANDS,
    OfferedCommand,
    added_commands,
)
from holdfast.providers.registry import Provider
from holdfast.session.catalog import SessionSummary
from holdfast.session.conversation.conversation import Conversation, PromptMark
from holdfast.session.journal import entries as e
from holdfast.session.journal.mode_changes import resumed_mode
from holdfast.session.journal.model_settings import Effort, ModelSettings
from holdfast.session.journal.tasks import TaskEnded, TaskStarted
from holdfast.system.git import branch_or_commit
from holdfast.system.user_directories import brought_folders
from holdfast.tool_calls import Mode, Pattern
from holdfast.ui.startup.crash_report import keep_traceback
from holdfast.ui.startup.run_options import RunOptions
from holdfast.ui.tui.agent_thread.agent_thread import AgentThread
from holdfast.ui.tui.agent_thread.mailbox import Mailbox
from holdfast.ui.tui.agent_thread.messages import (
    AgentMessage,
    CurrentConversation,
    ErrorMessage,
    InputAccepted,
    PromptRefused,
    SessionClosed,
    SessionOpenedMessage,
)
from holdfast.ui.tui.agent_thread.model_choice import ModelChoice
from holdfast.ui.tui.agent_thread.model_connections import Connections
from holdfast.ui.tui.prompt.dropped_paths import is_disk_file, with_image_mention
from holdfast.ui.tui.tasks.known_tasks import KnownTasks
from holdfast.ui.tui.widgets.activity import TurnProgress
from holdfast.ui.tui.widgets.status_line import Status

if TYPE_CHECKING:
    from holdfast.skills.session_skills import SessionSkills

READ_ONLY = "Read-only: this session is open in another window. /fork to continue in a copy."

NO_MODEL = "No model configured. Run /setup, or /model demo to try without a key."


class SessionController:
    """The open session, if any: its state, and the user's commands to it."""

    def __init__(
        self,
        start: RunOptions,
        connections: Connections,
        *,
        receive: Callable[[AgentMessage], None],
        show: Callable[[Status], None],
    ) -> None:
        """Create it without a session: `receive` gets the agent's messages after `listen`, `show` each new status."""
        self.options = start
        self.catalog = start.catalog
        self.environ = start.environ
        self.arguments = start.arguments
        self.providers = start.providers
        self.cwd = start.cwd
        """The folder of the session, or of the run if there is none."""
        self.session = ""
        """The ID of the open session, "" if none is open."""
        self.prompts: tuple[PromptMark, ...] = ()
        """The prompts to which the conversation can be rewound."""
        self.conversation: Conversation | None = None
        """The conversation as the agent last sent it, None before the first message."""
        self.tasks = KnownTasks()
        """The background tasks of the session."""
        self.queued: tuple[str, ...] = ()
        """The messages that wait to be sent."""
        self.allowed: tuple[Pattern, ...] = ()
        """The patterns that the user allowed in the session."""
        self._models = ModelChoice(start.model, start.settings_of, providers=start.providers)
        self._status = Status(
            mode=start.mode,
            model=start.model,
            effort=self._models.settings.effort,
            branch=branch_or_commit(start.cwd),
            cwd=str(start.cwd),
            sandbox_required=start.config.sandbox == "require",
        )
        self._brought_in: Path | None = None  # the folder that was looked into
        self._brought: SessionSkills | None = None
        self._show = show
        self._start = start
        self._connections = connections
        self._mode: Mode = start.mode  # of new sessions; an approval answer may change that of the open one
        self._yolo_chosen = start.mode == "yolo"  # by name: only then does cycling the mode include it
        self._is_open = start.resumed is not None  # or being opened
        self._is_read_only = False
        self._progress = TurnProgress()
        self._mailbox: Mailbox[AgentMessage] = Mailbox(receive)
        self.agent = AgentThread(start, connect=connections.connect, keep=self.keep, send=self._mailbox.put)

    @property
    def status(self) -> Status:
        """Return the state of the status line."""
        return self._status

    @property
    def settings(self) -> ModelSettings:
        """Return the settings of the next request."""
        return self._models.settings

    @status.setter
    def status(self, status: Status) -> None:
        if status != self._status:
            self._status = status
            self._show(status)

    def listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Receive the agent's messages on `loop` from now on."""
        self._mailbox.open(loop)

    def start(self) -> None:
        """Start the agent, and open the session to resume."""
        self.agent.start()
        summary = self._start.resumed
        if summary is not None and self._start.fork:
            self.continue_in_copy(summary, self._start.model)
        elif summary is not None:
            self.agent.resume(summary, self._start.model)

    def keep(self, trace: str) -> tuple[str, str]:
        """Store a traceback; return it redacted, and where it is stored."""
        return keep_traceback(trace, environ=self.environ, secrets=self._connections.secrets)

    # --- messages from the agent -----------------------------------------------------------------------------------

    def take(self, message: AgentMessage) -> None:
        """Update the state by a message from the agent."""
        match message:
            case SessionOpenedMessage(now=now):
                self._is_open = True
                self._models.settings = now.conversation.settings
                self._models.chosen = now.conversation.chosen_model
                self._enter(
                    message.session, Path(message.cwd), model=now.conversation.model, read_only=message.read_only
                )
                mode = resumed_mode(now.conversation.mode, self._mode, chosen=self._start.mode_chosen)
                self.status = msgspec.structs.replace(self.status, mode=mode)
                self._update_conversation(now)
                self._update_tasks(KnownTasks(message.facts))
            case SessionClosed():
                self._enter("", self._start.cwd, model=self._models.chosen)
                self._update_tasks(KnownTasks())
            case Fact(entry=TaskStarted() | TaskEnded()):
                self.tasks.take(message)
                self._update_tasks(self.tasks)
            case CurrentConversation():
                self._update_conversation(message)
            case Busy() | Idle() | InputAccepted():
                self._update_progress(message)
            case Asked() | AskClosed():
                plan = message.plan if isinstance(message, Asked) else None
                model_asks = plan is not None and plan.question is not None
                self.status = msgspec.structs.replace(
                    self.status, question_open=plan is not None, model_asks=model_asks
                )
            case PromptRefused():  # a session that failed to open is tried again
                self._is_open = self._is_open and bool(self.session)
            case InUse():
                self._is_open = bool(self.session)
            case Window(model=model, tokens=tokens):  # sent before the change to a fallback model is journalled
                self._models.windows[model] = tokens
                self._show_model(self.status.model)
            case Fact(entry=e.ModelChanged(model=model, why=why)):
                self._models.chosen = self._models.chosen if why == "fallback" else model
                self._show_model(model)
            case Fact(entry=e.ModelSettingsChanged(settings=settings)):
                self._models.settings = settings
                self._show_model(self.status.model)
            case Fact(entry=e.ApprovalAnswered(mode=mode) | e.ModeChanged(mode=mode, why="plan")) if mode is not None:
                self.status = msgspec.structs.replace(self.status, mode=mode)
            case Returned() | ErrorMessage() | Lines() | TaskOutput() | ServersShown() | Closed():
                pass
            case _:
                self.status = self._progress.happened(message, self.status, time.monotonic())

    def tick(self) -> None:
        """Update the elapsed time of the turn, and the time until a retry."""
        self.status = self._progress.tick(self.status, time.monotonic())

    def _enter(self, session: str, cwd: Path, *, model: str, read_only: bool = False) -> None:
        self._is_read_only = read_only
        self.session, self.cwd, self.prompts, self.queued, self.allowed = session, cwd, (), (), ()
        self.conversation = None
        self.status = Status(
            mode=self._mode,
            model=model,
            effort=self._models.settings.effort,
            branch=branch_or_commit(cwd),
            doing=self._progress.starting,
            session=session,
            cwd=str(cwd),
            sandbox_required=self.options.config.sandbox == "require",
        )

    def _update_conversation(self, now: CurrentConversation) -> None:
        self.conversation = known = now.conversation
        self.prompts, self.allowed = known.prompts, known.allowed
        self.queued = tuple(each.message.text for each in known.queued)
        self.status = msgspec.structs.replace(
            self.status, queued=len(known.queued), context=now.tokens, usage=known.usage
        )

    def _update_tasks(self, tasks: KnownTasks) -> None:
        self.tasks = tasks
        self.status = msgspec.structs.replace(self.status, tasks=len(tasks.running))

    def _update_progress(self, message: Busy | Idle | InputAccepted) -> None:
        match message:
            case Busy():
                self.status = self._progress.began(self.status, time.monotonic())
            case Idle():
                self._show_model(self._models.chosen)  # the next prompt goes to it
                self.status = self._progress.ended(self.status, branch=branch_or_commit(self.cwd))
            case InputAccepted():
                self.status = self._progress.accepted(self.status)

    # --- what the user does ---------------------------------------------------------------------------------------

    def begin(self, text: str, when: e.When) -> None:
        """Start a turn with `text`, in a new session if none is open; while one runs, `when` says where the text goes.

        Raise `UsageError` if no session can take it.
        """
        if not self._models.chosen:
            raise ModelUnusable(NO_MODEL)
        self._connections.check(self._models.chosen)
        self._ensure_session()
        self.status = self._progress.prompted(self.status)
        self.agent.submit(c.Prompt(with_image_mention(text, is_file=is_disk_file), when))

    def run(self, command: c.Shell | c.Slash | c.Compact | c.ShowServers) -> None:
        """Have the host run what `stop` ends; a shell or slash command opens a session if none is open.

        Raise `UsageError` if the session is read-only.
        """
        if isinstance(command, c.Shell | c.Slash):
            self._ensure_session()
        self.status = self._progress.submitted(self.status)
        self.agent.submit(command)

    def added_commands(self) -> tuple[OfferedCommand, ...]:
        """Return the host's commands that the screen has no own for, those of plug-ins, and the prompts of servers."""
        undo = UNDO_COMMANDS if self.options.config.undo else ()
        return (
            INIT_COMMAND,
            RECEIPT_COMMAND,
            *undo,
            *self.brought_commands(),
            *added_commands(self.options.slash_commands, self.options.prompt_commands()),
        )

    def brought_commands(self) -> tuple[OfferedCommand, ...]:
        """Return the skills and commands of the folder that can be typed, and the command that lists them."""
        if self._brought_in != self.cwd:
            self._brought_in, root = self.cwd, Path(os.path.realpath(self.cwd))
            self._brought = None
            if brought_folders("skills", root, self.environ) or brought_folders("commands", root, self.environ):
                from holdfast.skills.session_skills import SessionSkills

                self._brought = SessionSkills(root, self.environ, "")
        if self._brought is None:
            return ()
        from holdfast.host.brought_commands import offered_of, typed_files
        from holdfast.host.slash_commands import RESERVED_COMMANDS

        reserved = RESERVED_COMMANDS | self.options.slash_commands.keys()
        return SKILLS_COMMAND, *offered_of(typed_files(self._brought.listed(), reserved))

    def stop(self) -> None:
        """Stop everything that runs, or was submitted and has not started."""
        self.agent.stop()
        self.status = self._progress.stopped(self.status)

    def continue_in_copy(self, session: SessionSummary, model: str = "", *, until: int | None = None) -> None:
        """Open a copy of a session, or of its entries up to `until`; switch it to `model`, if given."""
        self._is_open, self._is_read_only = True, False
        self.agent.fork(session, model, until=until)

    def begin_new(self) -> None:
        """Close the session; it stays visible until it has ended, and the next prompt starts a new one."""
        self._is_open, self._is_read_only = False, False
        self.agent.close_session()

    def use_model(self, name: str) -> None:
        """Use this model for later requests. Raise `ModelUnusable`, or `UsageError` if the session is read-only."""
        self._check_writable()
        self._connections.check(name)
        self._models.choose(name)
        self._show_model(name)
        if self._is_open:
            self.agent.submit(c.UseModel(name))

    def use_effort(self, effort: Effort | None) -> str:
        """Set the effort of later requests, None for the provider's default. Return a note like `effort_note`.

        Raise `UsageError` if the session is read-only.
        """
        self._check_writable()
        self._models.settings = settings = msgspec.structs.replace(self._models.settings, effort=effort)
        self._show_model(self.status.model)
        if self._is_open:
            self.agent.submit(c.UseSettings(settings))
        return self.effort_note(effort)

    def effort_note(self, effort: Effort | None) -> str:
        """Return what is sent to the model instead of this effort, "" if the effort is sent as it is."""
        return self._models.effort_note(effort, self.status.model)

    def _show_model(self, model: str) -> None:
        window, effort = self._models.windows.get(model, 0), self._models.settings.effort
        self.status = msgspec.structs.replace(self.status, model=model, window=window, effort=effort)

    def use_mode(self, mode: Mode) -> None:
        """Use this approval mode from now on, also in a running turn."""
        self._yolo_chosen = self._yolo_chosen or mode == "yolo"
        self._mode = mode
        self.agent.use_mode(mode)
        self.status = msgspec.structs.replace(self.status, mode=mode)

    def cycle_mode(self) -> None:
        """Switch to the next approval mode; `yolo` is skipped unless the user has chosen it by name."""
        modes: list[Mode] = [mode for mode in get_args(Mode) if mode != "yolo" or self._yolo_chosen]
        self.use_mode(modes[(modes.index(self.status.mode) + 1) % len(modes)])

    def provider_status(self, provider: Provider) -> str:
        """Return the missing environment variable, as in "X is not set", else the provider's address."""
        return self._connections.provider_status(provider)

    def has_key(self, provider: Provider) -> bool:
        """Return whether the provider's key is available."""
        return self._connections.has_key(provider)

    def _ensure_session(self) -> None:
        """Open a session if none is open."""
        self._check_writable()
        if not self._is_open:
            self._is_open, catalog, cwd = True, self.catalog, self.cwd
            model, settings = self._models.chosen, self._models.settings
            options = self.options  # its tools are read when the session is created
            self.agent.open(
                lambda: create(
                    catalog,
                    cwd=cwd,
                    model=model,
                    settings=settings,
                    tools=options.tools_of(model),
                    system=options.system,
                    instructions=options.instructions,
                    remote=options.remote_schemas(),
                )
            )

    def _check_writable(self) -> None:
        if self._is_read_only:
            raise UsageError(READ_ONLY)
