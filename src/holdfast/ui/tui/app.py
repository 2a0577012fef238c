"""The screen: keys and messages in, the agent's commands out. What it shows is folded by `holdfast.ui.view`."""

from __future__ import annotations

import asyncio
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.widgets import Static

from holdfast.agent.opening import create, resume
from holdfast.agent.settle import Leave
from holdfast.calls import Mode
from holdfast.config import Limits
from holdfast.errors import HoldfastError, ModelUnusable
from holdfast.session.catalog import Catalog, Summary
from holdfast.session.entries import PromptAccepted
from holdfast.text import literal
from holdfast.ui.tui.agent import (
    Agent,
    Asked,
    AskedNoMore,
    Busy,
    Closed,
    Idle,
    Opened,
    Refused,
    Told,
    Trouble,
    Wishes,
)
from holdfast.ui.tui.approval import Approval
from holdfast.ui.tui.commands import Line, parse
from holdfast.ui.tui.composer import Composer
from holdfast.ui.tui.inbox import Inbox
from holdfast.ui.tui.status import Status, StatusLine, doing, spent
from holdfast.ui.tui.themes import DARK, LIGHT
from holdfast.ui.tui.transcript import Transcript
from holdfast.ui.tui.trial import Connections
from holdfast.ui.view import View

LEAVING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
"""Signals that end the screen in good order; the guard cleans up after every other."""

AGAIN = 1.0
"""Seconds in which a second ESC or Ctrl+C means more than the first."""

NO_MODEL = "No model is set up. Name one: /model PROVIDER:MODEL. Or /model demo, which needs neither key nor network."

CSS = """
Screen { background: $background; }
#notice { display: none; height: auto; max-height: 8; padding: 0 2; color: $warning; }
#approval { display: none; height: auto; max-height: 60%; margin: 0 1; padding: 0 1; border-left: outer $warning; background: $surface; }
#approval #question { height: auto; }
#approval #detail-box { height: auto; max-height: 12; margin: 1 0; }
#approval #answers { height: auto; border: none; padding: 0; background: $surface; }
#approval #reason { border: none; height: 1; padding: 0; background: $panel; }
#composer { height: auto; max-height: 12; margin: 1 1 0 1; padding: 0 1; border-left: outer $primary; background: $surface; }
#status { height: 1; color: $foreground 80%; }
"""  # noqa: E501 - a rule a line
"""The style sheet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What the screen begins with: `resumed` is the session to go on with, None for a new one."""

    catalog: Catalog
    cwd: Path
    model: str
    mode: Mode
    resumed: Summary | None
    debug: bool = False
    theme: str = DARK.name


class Screen(App[int]):
    """The full-screen terminal."""

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "interrupt", "Stop", show=False),
        Binding("ctrl+c", "give_up", "Stop, clear, quit", show=False, priority=True),
        Binding("ctrl+d", "leave_if_empty", "Quit", show=False, priority=True),
        Binding("ctrl+q", "quit", "Quit", show=False),
        Binding("ctrl+l", "redraw", "Redraw", show=False),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False),
        Binding("ctrl+o", "expand", "Expand", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False, priority=True),
        Binding("pagedown", "page(1)", "Page down", show=False, priority=True),
    ]

    def __init__(
        self, start: Start, connections: Connections, limits: Limits, *, keyboard: type[Driver] | None = None
    ) -> None:
        super().__init__(driver_class=keyboard)
        self._start = start
        self._connections = connections
        self.died_of: int | None = None
        """The signal that ended the screen, if one did."""
        self._status = Status(mode=start.mode, model=start.model)
        self._view = View()
        self._since = 0.0
        self._escaped = 0.0
        self._open = start.resumed is not None
        wishes = Wishes(connect=connections.connect, limits=limits, debug=start.debug)
        self.agent = Agent(wishes, mode=start.mode, tell=self._tell)
        self._inbox: Inbox[Told]

    def compose(self) -> ComposeResult:
        """Yield the four parts of the screen, from the top."""
        yield Transcript(id="transcript")
        yield Static(id="notice", markup=False)
        yield Approval(id="approval")
        yield Composer()
        yield StatusLine(id="status")

    def on_mount(self) -> None:
        """Begin: the prompt first, then whatever takes time."""
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = self._start.theme
        loop = asyncio.get_running_loop()
        self._inbox = Inbox(loop, self._heard)
        for number in LEAVING:
            loop.add_signal_handler(number, self._leave_for, number)
        self._transcript = self.query_one(Transcript)
        self._composer = self.query_one(Composer)
        self._composer.focus()
        self._draw()
        self._ticker = self.set_interval(0.1, self._draw, pause=True)
        self.call_after_refresh(self._begin)

    def _leave_for(self, number: int) -> None:
        """Leave because of a signal, which the process dies of once everything has ended."""
        self.agent.stop(Leave("signal", signal.Signals(number).name))
        self.died_of = number
        self.exit(128 + number)

    def _begin(self) -> None:
        self.agent.start()
        summary = self._start.resumed
        if summary is not None:
            catalog = self._start.catalog
            self.agent.open(lambda: resume(catalog, summary), self._start.model)
        elif not self._start.model:
            self._say(
                "No model is set up yet: /model PROVIDER:MODEL sets one, /model demo needs neither key nor network."
            )

    # --- what the agent tells -----------------------------------------------------------------------------------

    def _tell(self, told: Told) -> None:
        self._inbox.put(told)

    def _heard(self, told: Told) -> None:
        match told:
            case Opened():
                self._opened(told)
            case Busy():
                self._since = time.monotonic()
                self._status = replace(self._status, doing="working")
                self._ticker.resume()
            case Idle():
                self._status = replace(self._status, doing="")
                self._ticker.pause()
            case Asked():
                self.query_one(Approval).ask(told)
                self._status = replace(self._status, doing="waiting for you")
            case AskedNoMore():
                self.query_one(Approval).close()
                self._composer.focus()
            case Refused(text=text, message=message):
                self._composer.give_back(text)
                self._say(message)
            case Trouble(message=message):
                self._say(message)
            case Closed():
                pass
            case _:
                self._status = spent(doing(self._status, told), told)
                self._transcript.show(self._view.take(told))
                return
        self._draw()

    def _opened(self, opened: Opened) -> None:
        self._open = True
        self._view = View()
        self._status = Status(mode=self._status.mode, model=opened.model)
        for fact in opened.facts:
            self._view.take(fact)
            self._status = spent(self._status, fact)
        self._transcript.load(self._view)
        self._composer.remember(
            tuple(fact.entry.text for fact in opened.facts if isinstance(fact.entry, PromptAccepted))
        )

    # --- what the person does -----------------------------------------------------------------------------------

    def on_composer_sent(self, sent: Composer.Sent) -> None:
        """Run a command, or begin a turn with what was written."""
        self._say("")
        try:
            line = parse(sent.text)
            if line is None:
                self._prompt(sent.text)
            else:
                self._command(line)
        except HoldfastError as error:
            self._say(str(error))
        else:
            self._composer.accept()

    def _prompt(self, text: str) -> None:
        model = self._status.model
        if not model:
            raise ModelUnusable(NO_MODEL)
        self._connections.check(model)
        if not self._open:
            start = self._start
            self._open = True
            self.agent.open(lambda: create(start.catalog, cwd=start.cwd, model=model))
        self.agent.prompt(text)

    def _command(self, line: Line) -> None:
        command = line.command
        match command.name:
            case "quit":
                self.exit(0)
            case "model" if line.rest:
                self._use_model(line.rest)
            case _ if command.later:
                self._say(command.later)
            case _:
                self._say(f"/{command.name} is not built yet.")

    def _use_model(self, name: str) -> None:
        self._connections.check(name)
        self._status = replace(self._status, model=name)
        if self._open:
            self.agent.use_model(name)
        self._draw()

    def on_approval_answered(self, answered: Approval.Answered) -> None:
        """Hand on the answer."""
        self.agent.answer(answered.answer)

    def action_interrupt(self) -> None:
        """Stop the turn that runs; twice on a prompt, clear it into the history."""
        now = time.monotonic()
        again = now - self._escaped < AGAIN
        self._escaped = 0.0 if again else now
        if self._status.doing:
            self._stop()
        elif again and self._composer.text:
            self._composer.clear_into_history()

    def action_give_up(self) -> None:
        """Stop the turn that runs, as ESC does; idle, clear the prompt; on an empty one, twice, quit."""
        if selected := self.screen.get_selected_text():
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
        elif self._status.doing:
            self._stop()
        elif self._composer.text:
            self._composer.clear_into_history()
        else:
            now = time.monotonic()
            if now - self._escaped < AGAIN:
                self.exit(0)
            self._escaped = now
            self._say("Press Ctrl+C again to quit; the session is kept.")

    def action_leave_if_empty(self) -> None:
        """Quit if nothing is written."""
        if self._composer.text:
            self._composer.action_delete_right()
        else:
            self.exit(0)

    def action_redraw(self) -> None:
        """Draw everything anew."""
        self.refresh(layout=True)

    def action_expand(self) -> None:
        """Show all of every block, or short again."""
        self._transcript.toggle_all()

    def action_page(self, by: int) -> None:
        """Move the transcript by a page."""
        self._transcript.scroll_relative(y=by * max(1, self._transcript.size.height - 2), animate=False)

    def _stop(self) -> None:
        self.agent.stop()
        self._status = replace(self._status, doing="stopping")
        self._draw()

    def _say(self, message: str) -> None:
        notice = self.query_one("#notice", Static)
        notice.update(Text(literal(message)))
        notice.display = bool(message)

    def _draw(self) -> None:
        if self._status.doing:
            self._status = replace(self._status, seconds=time.monotonic() - self._since)
        self.query_one(StatusLine).status = self._status
