"""Restores the terminal however the program ends, from a child process that outlives it.

It is forked before anything else happens and sleeps until its parent has exited. If the parent reported that it
restored the terminal itself, there is nothing to do. This includes a suspended program: then a shell has the terminal,
and its settings and the line typed there stay as they are.
"""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

TERMINAL = "/dev/tty"

FINISHED, RELEASED, IN_USE = b".", b"-", b"+"
"""What the parent reports: it restored the terminal for good, or until it is resumed; it takes the terminal again."""

_MODES = (
    b"\x1b[?2026l"  # end of synchronized output
    b"\x1b[<u"  # keyboard mode (kitty protocol)
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"  # no mouse reports
    b"\x1b[?1004l\x1b[?2004l\x1b[?2048l"  # no focus reports, bracketed paste, size reports
    b"\x1b[23;2t"  # the title that was saved
)
_PLAIN = b"\x1b[0m\x1b[?7h\x1b[?25h"  # plain style, wrapping, cursor

RESET = _MODES + b"\x1b[?1049l" + _PLAIN
"""Resets every terminal mode that the screen may have set; each reset is harmless if it was not set."""

RESET_INLINE = (
    _MODES + b"\x1b7\x1b[?1049l"  # whichever screen it is: a terminal on the main one goes back to the saved place
    b"\x1b[<u\r\x1b[J"
    + _PLAIN  # the keyboard mode of the main screen, and the live region, whose start the cursor is at
)
"""The same for the inline screen, which it also erases."""


class TerminalGuard:
    """The parent's end of the pipe to the child process."""

    def __init__(self, hand_over: Callable[[], None] = lambda: None, alive: int | None = None) -> None:
        self.hand_over = hand_over
        """Stop buffering typed input; the screen takes the terminal next."""
        self._alive = alive

    def report(self, *, in_use: bool) -> None:
        """Report that the terminal is taken now, or restored until it is taken again."""
        self.send(IN_USE if in_use else RELEASED)

    def send(self, state: bytes) -> None:
        """Report one of the three states; do nothing without a terminal."""
        if self._alive is not None:
            with suppress(BrokenPipeError):  # the child was killed
                os.write(self._alive, state)


@contextmanager
def terminal_guard(reset: bytes = RESET) -> Generator[TerminalGuard]:
    """Restore the terminal by `reset` if this process dies within the block, even by SIGKILL.

    Call it while there is one thread. Leaving the block means that the terminal is restored. Until `hand_over` is
    called, typed input is kept unprocessed: not echoed, Enter not translated.
    """
    try:
        terminal = os.open(TERMINAL, os.O_RDWR | os.O_CLOEXEC)
        before = termios.tcgetattr(terminal)
    except (OSError, termios.error):  # no controlling terminal: nothing to restore
        yield TerminalGuard()
        return
    watched, alive = os.pipe()
    if os.fork() == 0:
        try:
            os.close(alive)
            _watch(watched, terminal, before, reset)
        finally:
            os._exit(0)
    os.close(watched)
    _buffer_input(terminal, before)
    guard = TerminalGuard(lambda: termios.tcsetattr(terminal, termios.TCSANOW, before), alive)
    try:
        yield guard
    finally:
        os.close(terminal)
        guard.send(FINISHED)
        os.close(alive)
        with suppress(ChildProcessError):
            os.wait()


def _buffer_input(terminal: int, before: list[int | list[bytes | int]]) -> None:
    """Make the terminal keep typed input unprocessed."""
    inputs, outputs, controls, locals_, *rest = before
    assert isinstance(inputs, int)
    assert isinstance(locals_, int)
    locals_ &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(terminal, termios.TCSANOW, [inputs & ~termios.ICRNL, outputs, controls, locals_, *rest])


def _watch(watched: int, terminal: int, before: list[int | list[bytes | int]], reset: bytes) -> None:
    """Wait until the parent has exited; restore the terminal if the parent had it."""
    os.setpgid(0, 0)  # signals to the parent's group (^C, hang-up) must not end the guard
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    for stream in (0, 1, 2):
        with suppress(OSError):
            os.close(stream)
    last = IN_USE
    while last != FINISHED and (state := os.read(watched, 1)):
        last = state
    if last == IN_USE:
        os.write(terminal, reset)
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
