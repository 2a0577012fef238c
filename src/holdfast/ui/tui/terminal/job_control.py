"""The terminal while the process is suspended and resumed: restored, then taken again, never taken twice.

A SIGCONT takes the terminal again only if a SIGTSTP restored it; any other SIGCONT only redraws. Both are handled by
the event loop: a signal handler could interrupt a write and wait for it forever.

A shell's `kill %1` sends a stopped job its signal and a SIGCONT at once. The job is then in the background, where the
screen cannot be drawn and must stop again. It waits a moment before it stops: the signal that ends it may come second.
"""

from __future__ import annotations

import asyncio
import os
import signal
import termios
import tty
from contextlib import suppress
from typing import ClassVar, Protocol

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

SAVE_TITLE, RESTORE_TITLE = "\x1b[22;2t", "\x1b[23;2t"
"""Save and restore the title of the window, where the terminal can."""


_OTHER_SIGNALS = 0.1
"""Seconds in the background after which the process stops again."""


class TerminalReport(Protocol):
    """A callback for when the screen takes the terminal or restores it."""

    def __call__(self, *, in_use: bool) -> None:
        """Note that the terminal will be taken, or that it has been restored."""
        ...


class JobControl(LinuxDriver):
    """Textual's driver for Unix, with its own handling of SIGTSTP and SIGCONT.

    Textual's driver starts the application mode at every SIGCONT, on top of the running one: later it restores its own
    settings instead of the shell's, and each start leaves two threads.
    """

    on_terminal: ClassVar[TerminalReport | None] = None
    """Called before the terminal is taken and after it was restored. On the class: Textual creates the driver."""

    def __init__(
        self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)  # pyright: ignore[reportUnknownMemberType] - an App of anything
        self._on_screen = False
        """Whether the application has the terminal."""
        self._take_when_resumed = False
        """Whether to take the terminal when the process is resumed in the foreground."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self._stop)
        loop.add_signal_handler(signal.SIGCONT, self._resume)

    def start_application_mode(self) -> None:
        """Take the terminal; in the background, stop first and take it when resumed."""
        self._take_when_resumed = self._in_background()
        if self._take_when_resumed:
            os.kill(os.getpid(), signal.SIGSTOP)
            return
        self._on_screen = True
        self._report(in_use=True)
        before = self._writer_thread
        super().start_application_mode()
        self._on_screen = self._writer_thread is not before  # else the terminal has been closed
        self.write(SAVE_TITLE)

    def stop_application_mode(self) -> None:
        """Restore the terminal, unless it is restored already."""
        if self._on_screen:
            self.write(RESTORE_TITLE)
            super().stop_application_mode()
            self._on_screen = False
            self._report(in_use=False)

    def disable_input(self) -> None:
        """Stop reading; do nothing without the terminal: discarding the shell's input would stop this process."""
        if self._on_screen:
            super().disable_input()

    def write(self, data: str) -> None:
        """Write to the terminal; output without the terminal is dropped, and redrawn later.

        After a SIGSTOP a timer that is due, such as the cursor's, can come before the handler of SIGCONT.
        """
        if self.can_write:
            super().write(data)

    @property
    def can_write(self) -> bool:
        """Return whether the application has the terminal, and is not in the background."""
        return self._on_screen and not self._in_background()

    @property
    def has_mouse(self) -> bool:
        """Return whether the screen takes the mouse."""
        return self._mouse

    def use_mouse(self, *, on: bool) -> None:
        """Turn mouse support on or off; without it, the terminal selects text itself."""
        if not on:
            self._disable_mouse_support()
        self._mouse = on
        self._enable_mouse_support()

    def _stop(self) -> None:
        """Handle SIGTSTP: restore the terminal and stop; while an editor runs, it is not handled here."""
        if self._on_screen:
            self.suspend_application_mode()
            self._take_when_resumed = self._must_signal_resume = True
        os.kill(os.getpid(), signal.SIGSTOP)

    def _resume(self) -> None:
        """Handle SIGCONT; in the background, where nothing can be drawn, stop again."""
        if self._app.return_code is not None or not (self._on_screen or self._take_when_resumed):
            return
        if self._in_background():
            asyncio.get_running_loop().call_later(_OTHER_SIGNALS, self._stop_in_background)
        elif self._on_screen:
            self._reset_modes()
        else:
            self.start_application_mode()
            self._app.refresh(layout=True)

    def _stop_in_background(self) -> None:
        """Stop again, unless the process is in the foreground by now, or ends."""
        if self._app.return_code is None and self._in_background():
            os.kill(os.getpid(), signal.SIGSTOP)

    def _report(self, *, in_use: bool) -> None:
        if self.on_terminal is not None:
            self.on_terminal(in_use=in_use)

    def _reset_modes(self) -> None:
        """Set the modes again that a shell may have changed after a SIGSTOP, and redraw everything."""
        with suppress(termios.error):
            now = termios.tcgetattr(self.fileno)
            now[tty.LFLAG] = self._patch_lflag(now[tty.LFLAG])
            now[tty.IFLAG] = self._patch_iflag(now[tty.IFLAG])
            now[tty.CC][termios.VMIN] = 1
            termios.tcsetattr(self.fileno, termios.TCSANOW, now)
        self._enable_mouse_support()
        self._enable_bracketed_paste()
        self._disable_line_wrap()
        self.write("\x1b[?25l\x1b[?1004h")  # no cursor; focus reports
        self._app.refresh(layout=True)

    def _in_background(self) -> bool:
        """Return whether another process group has the terminal."""
        with suppress(OSError):  # it is closed, or not the controlling terminal
            return os.tcgetpgrp(self.fileno) != os.getpgrp()
        return False
