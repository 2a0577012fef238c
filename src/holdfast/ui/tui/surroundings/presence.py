"""What the screen does for its surroundings, as one object that the screen has; each part is imported when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.ui.startup.run_options import RunOptions
from holdfast.ui.tui.dialogs import Dialogs
from holdfast.ui.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from holdfast.ui.tui.surroundings.status_command import StatusCommand


class Presence:
    """Keeps what is around the screen in step with the session."""

    def __init__(self, start: RunOptions, line: StatusLine, dialogs: Dialogs) -> None:
        self._start = start
        self._line = line
        self._dialogs = dialogs
        self._command: StatusCommand | None = None

    def begin(self) -> None:
        """Start; the prompt is on the screen."""
        if command := self._start.config.statusline:
            from holdfast.ui.tui.surroundings.status_command import StatusCommand  # noqa: PLC0415 - few have one

            self._command = StatusCommand(
                command,
                environ=self._start.environ,
                show=self._line.show_own,
                say=lambda text: self._dialogs.say(text, also=True),
            )
            self._line.follow(self._command.update)

    def end(self) -> None:
        """Leave nothing behind."""
        if self._command is not None:
            self._command.close()
