"""The terminal while the process is stopped and continued: given back, taken again, and never taken twice.

Two rules. A SIGCONT takes the terminal again only if a SIGTSTP gave it back; any other leaves the screen as it is, and
draws it again. Both are handled by the event loop: a signal handler could interrupt a write, and wait for it for ever.
"""

from __future__ import annotations

import asyncio
import os
import signal
import termios
import tty
from contextlib import suppress

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver


class JobControl(LinuxDriver):
    """Textual's driver for Unix, with a handling of SIGTSTP and SIGCONT of its own.

    Textual's starts the application mode at every SIGCONT, on top of the one that runs: the settings it gives back are
    then its own, and each start leaves two threads.
    """

    def __init__(
        self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)  # pyright: ignore[reportUnknownMemberType] - an App of anything
        self._on_screen = False
        """Whether the terminal is taken."""
        self._put_aside = False
        """Whether it is to be taken when the process is continued in the foreground."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self._stop)
        loop.add_signal_handler(signal.SIGCONT, self._go_on)

    def start_application_mode(self) -> None:
        """Take the terminal; in the background stop, and take it when continued."""
        self._put_aside = self._in_background()
        if self._put_aside:
            os.kill(os.getpid(), signal.SIGSTOP)
            return
        self._on_screen = True
        before = self._writer_thread
        super().start_application_mode()
        self._on_screen = self._writer_thread is not before  # else there is no terminal any more

    def stop_application_mode(self) -> None:
        """Give the terminal back, unless that is done."""
        if self._on_screen:
            super().stop_application_mode()
            self._on_screen = False

    def write(self, data: str) -> None:
        """Write to the terminal; what is drawn while it is not taken goes nowhere, and is drawn again."""
        if self._on_screen:
            super().write(data)

    def _stop(self) -> None:
        """Do what SIGTSTP asks for, with the terminal given back; unless an editor has it."""
        if self._on_screen and self._auto_restart:
            self.suspend_application_mode()
            self._put_aside = self._must_signal_resume = True
        os.kill(os.getpid(), signal.SIGSTOP)

    def _go_on(self) -> None:
        """Go on after a SIGCONT: in the background, where nothing can be drawn, stop again."""
        if not self._auto_restart or self._app.return_code is not None or not (self._on_screen or self._put_aside):
            return
        if self._in_background():
            os.kill(os.getpid(), signal.SIGSTOP)
        elif self._on_screen:
            self._take_again()
        else:
            self.start_application_mode()
            self._app.refresh(layout=True)

    def _take_again(self) -> None:
        """Set again what a shell may have changed if this was a SIGSTOP, and draw everything."""
        with suppress(termios.error):
            now = termios.tcgetattr(self.fileno)
            now[tty.LFLAG] = self._patch_lflag(now[tty.LFLAG])
            now[tty.IFLAG] = self._patch_iflag(now[tty.IFLAG])
            now[tty.CC][termios.VMIN] = 1
            termios.tcsetattr(self.fileno, termios.TCSANOW, now)
        self._enable_mouse_support()
        self._enable_bracketed_paste()
        self._disable_line_wrap()
        self.write("\x1b[?25l\x1b[?1004h")  # no cursor; reports of the focus
        self._app.refresh(layout=True)

    def _in_background(self) -> bool:
        """Return whether another process group has the terminal."""
        with suppress(OSError):  # it is gone, or was never ours
            return os.tcgetpgrp(self.fileno) != os.getpgrp()
        return False
