"""The screen's surroundings: window title, notifications, background colour, the user's status command."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from textual.app import App

from holdfast.ui.startup.run_options import RunOptions
from holdfast.ui.tui.dialogs import Dialogs
from holdfast.ui.tui.environment.background_colour import QUESTION, SILENT, WAIT, light_by_reply
from holdfast.ui.tui.environment.notification import is_away, notification, reason, title
from holdfast.ui.tui.terminal.keyboard import Keyboard
from holdfast.ui.tui.themes import DARK, LIGHT, FirstTheme
from holdfast.ui.tui.widgets.activity import STOPPING
from holdfast.ui.tui.widgets.status_line import Status, StatusLine
from holdfast.ui.tui.widgets.welcome import Situation, Welcome, situation_of

if TYPE_CHECKING:
    from holdfast.ui.tui.environment.status_command import StatusCommand


class ScreenEnvironment:
    """Updates the screen's surroundings when the session changes; each part is imported when it is needed."""

    def __init__(self, app: App[int], start: RunOptions, line: StatusLine, dialogs: Dialogs, welcome: Welcome) -> None:
        self._app = app
        self._before: Status | None = None  # None until the prompt is on the screen
        self._title = ""
        self._reports_focus = False  # whether the terminal has ever reported that it lost the focus
        self._active_at = time.monotonic()
        self._default_theme = ""  # set here: as long as it is in use, the user has chosen no other
        self._start = start
        self._welcome = welcome
        self._line = line
        self._dialogs = dialogs
        self._command: StatusCommand | None = None

    def begin(self, theme: FirstTheme) -> None:
        """Start, once the prompt is on the screen; `theme` is the one in use."""
        self._default_theme = theme.name if theme.is_default else ""
        self._ask_background()
        self._before = self._line.status
        self._app.watch(self._app, "app_focus", self._focus)
        if self._start.config.notify != "off":
            self._show_title(self._before)
        if command := self._start.config.statusline:
            from holdfast.ui.tui.environment.status_command import StatusCommand

            self._command = StatusCommand(
                command,
                environ=self._start.environ,
                show=self._line.show_user_line,
                notify=lambda text: self._dialogs.notify(text, also=True),
            )
            self._line.follow(self._command.update)

        if self._welcome.display:
            start, model = self._start, self._line.status.model
            self._dialogs.in_background(lambda: situation_of(start.cwd, model, start.catalog), self._greet)

    def note_activity(self) -> None:
        """Note that the user is active: a key was pressed."""
        self._active_at = time.monotonic()

    def show(self, status: Status) -> None:
        """Update the window title; notify the user, who looks elsewhere, if a question is open or the turn ended."""
        before = self._before
        if before is None or self._start.config.notify == "off":
            return
        self._before = status
        self._show_title(status)
        why = reason(before, status, stopping=STOPPING)
        idle = time.monotonic() - self._active_at
        focused = self._app.app_focus
        if why is not None and is_away(focused=focused, reports_focus=self._reports_focus, idle=idle):
            self._write(notification(why, status, self._start.config.notify, self._start.environ))

    def _focus(self, focused: bool) -> None:  # noqa: FBT001 - Textual's signature
        self._reports_focus = self._reports_focus or not focused

    def _show_title(self, status: Status) -> None:
        if (shown := title(status)) != self._title:
            self._title = shown
            self._write(shown)

    def _write(self, sequence: str) -> None:
        driver = self._app._driver  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - Textual has no other way to it
        if isinstance(driver, Keyboard):
            driver.write(sequence)

    def _ask_background(self) -> None:
        driver = self._app._driver  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - Textual has no other way to it
        if not self._default_theme or not isinstance(driver, Keyboard) or self._start.environ.get("TERM", "") in SILENT:
            return
        loop = asyncio.get_running_loop()

        def replied(colour: str) -> None:
            with suppress(RuntimeError):  # the loop has closed
                loop.call_soon_threadsafe(self._use_background, colour)

        driver.on_reply = replied
        driver.replies.expecting = True
        loop.call_later(WAIT, lambda: setattr(driver.replies, "expecting", False))
        driver.write(QUESTION)

    def _use_background(self, colour: str) -> None:
        """Use the theme that suits the background, unless the user has chosen another in the meantime."""
        light = light_by_reply(colour)
        if light is not None and self._app.is_running and self._app.theme == self._default_theme:
            self._default_theme = LIGHT.name if light else DARK.name
            self._app.theme = self._default_theme

    def _greet(self, found: Situation) -> None:
        """Show the situation of the folder, if it is still that of the session; the model may have changed."""
        if self._line.status.cwd == found.cwd:
            self._welcome.learn(msgspec.structs.replace(found, model=self._line.status.model))

    def end(self) -> None:
        """Stop the status command."""
        if self._command is not None:
            self._command.close()
