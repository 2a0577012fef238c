"""Shows the session in the widgets: each message of the agent, and the status."""

from __future__ import annotations

import time
from collections.abc import Callable
from pkgutil import resolve_name
from typing import cast

import msgspec

from holdfast.agent.events import Event, Fact, TurnFailed
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
from holdfast.session.journal.entries import CallEnded, PromptAccepted, Rewound, Titled
from holdfast.session.journal.tasks import TaskEnded, TaskStarted
from holdfast.text import literal
from holdfast.ui.advice import SCREEN
from holdfast.ui.tui.agent_thread.messages import (
    AgentMessage,
    CurrentConversation,
    ErrorMessage,
    InputAccepted,
    PromptRefused,
    SessionClosed,
    SessionOpenedMessage,
)
from holdfast.ui.tui.choices import CommandTarget, offer_session_in_use
from holdfast.ui.tui.environment.environment import ScreenEnvironment
from holdfast.ui.tui.session_controller import READ_ONLY
from holdfast.ui.tui.widgets.approval import Approval
from holdfast.ui.tui.widgets.completion import Completions
from holdfast.ui.tui.widgets.status_line import Status, StatusLine
from holdfast.ui.tui.widgets.welcome import Welcome
from holdfast.ui.tui.widgets.work_list import ShownWork, WorkList
from holdfast.ui.view.view import View

_SERVERS_PAGE = "holdfast.ui.tui.pages.server_page:show_servers"
"""What opens the page of MCP servers."""


class Widgets(msgspec.Struct, frozen=True, kw_only=True):
    """The widgets that show the session, except those in `CommandTarget`."""

    welcome: Welcome
    approval: Approval
    work: WorkList
    completions: Completions
    status_line: StatusLine


class SessionDisplay:
    """Shows each message of the agent after the controller; `ticks` starts or stops the display of elapsed time."""

    def __init__(
        self, target: CommandTarget, widgets: Widgets, environment: ScreenEnvironment, *, ticks: Callable[[bool], None]
    ) -> None:
        self._target = target
        self._widgets = widgets
        self._environment = environment
        self._ticks = ticks

    def greet(self) -> None:
        """Show the welcome text while the transcript is empty."""
        welcome, controller = self._widgets.welcome, self._target.controller
        welcome.display = not self._target.transcript.view.keys
        if welcome.display:
            welcome.greet(cwd=str(controller.cwd), model=controller.status.model)

    def show(self, status: Status) -> None:
        """Show the status."""
        self._widgets.status_line.status = status
        self._environment.show(status)
        if self._widgets.welcome.display:
            self._widgets.welcome.greet(cwd=status.cwd, model=status.model)
        composer = self._target.composer
        composer.set_state(queueing=bool(status.doing), question_open=status.question_open, queued=bool(status.queued))

    def draw(self, message: AgentMessage) -> None:
        """Show a message from the agent."""
        target, widgets = self._target, self._widgets
        match message:
            case SessionOpenedMessage(facts=facts):
                self._load(facts)
                if message.read_only:
                    target.dialogs.notify(READ_ONLY)
            case SessionClosed():
                self._load(())
            case Busy():
                self._ticks(True)  # noqa: FBT003 - the only question
            case Idle():
                self._ticks(False)  # noqa: FBT003 - the only question
            case Asked():
                widgets.approval.ask(message, take=not target.composer.text)
                self._ticks(False)  # noqa: FBT003 - the only question
            case AskClosed():
                widgets.approval.close()
                target.composer.take_over()
                self._ticks(True)  # noqa: FBT003 - the only question
            case PromptRefused(text=text, message=reason):
                target.composer.give_back(text)
                target.dialogs.notify(reason, also=True)
            case Returned(text=text):
                target.composer.give_back(text)
            case ErrorMessage(message=text):
                target.dialogs.notify(text, also=True)
            case InUse():
                offer_session_in_use(message, target)
            case TaskOutput() | ServersShown() | Lines():
                self._show_answer(message)
            case CurrentConversation():
                self._show_work()
            case InputAccepted() | Window() | Closed():
                pass  # shown in the status line
            case _:
                self._draw_event(message)

    def _show_answer(self, answer: TaskOutput | ServersShown | Lines) -> None:
        """Show what a command answers: one line as a notice, else a page."""
        from holdfast.ui.tui.widgets.help_pages import lines_page

        target = self._target
        match answer:
            case Lines(lines=(line,)):
                target.dialogs.notify(line, also=True)
            case Lines(lines=lines):
                target.dialogs.read(lines_page("Answer of the command", map(literal, lines)))
            case TaskOutput(task=task, text=text):
                target.dialogs.read(lines_page(f"Task {task}", literal(text).splitlines() or ["No output yet."]))
            case ServersShown():
                cast("Callable[[ServersShown, CommandTarget], None]", resolve_name(_SERVERS_PAGE))(answer, target)

    def _draw_event(self, event: Event) -> None:
        match event:
            case Fact(entry=Titled(title=title, model="")):
                self._target.dialogs.notify(f'Renamed to "{title}".' if title else "Title cleared.")
            case TurnFailed(fault=fault):
                self._target.dialogs.notify(SCREEN[fault], also=True)
            case _:
                pass
        transcript = self._target.transcript
        begun = bool(transcript.view.keys)
        transcript.show(transcript.view.take(event, at=time.monotonic()))
        if isinstance(event, Fact) and isinstance(event.entry, TaskStarted | TaskEnded | CallEnded | Rewound):
            self._show_work()
        if not begun:
            self.greet()

    def _show_work(self) -> None:
        """Show queued messages, background tasks and the to-do list."""
        controller = self._target.controller
        tasks = {task: controller.tasks.rows[task].command for task in controller.tasks.running}
        self._widgets.work.work = ShownWork(controller.queued, tasks, self._target.transcript.view.todo)

    def _load(self, facts: tuple[Fact, ...]) -> None:
        """Show another session."""
        target = self._target
        self._widgets.completions.root = target.controller.cwd
        receipt = target.controller.options.config.receipt
        view = View(collapse=target.composer.pastes.collapse, own_tests=receipt.tests, receipts=receipt.line)
        view.load(facts)
        target.transcript.load(view)
        self._show_work()
        self.greet()
        target.composer.past_prompts.begin(
            tuple(fact.entry.text for fact in facts if isinstance(fact.entry, PromptAccepted))
        )
