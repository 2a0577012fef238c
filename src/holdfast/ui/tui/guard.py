"""The terminal given back as it was found, however the program that took it ends: a child that outlives it says so.

It is forked before anything else happens and sleeps until its parent is gone. If the parent said that it gave the
terminal back itself, there is nothing to do.
"""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

TERMINAL = "/dev/tty"

GIVEN_BACK = b"."

RESET = (
    b"\x1b[?2026l"  # what was drawn is shown
    b"\x1b[<u"  # the keyboard as it was (kitty protocol)
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"  # no reports of the mouse
    b"\x1b[?1004l\x1b[?2004l\x1b[?2048l"  # nor of focus, nor marks around a paste, nor reports of the size
    b"\x1b[?1049l\x1b[0m\x1b[?7h\x1b[?25h"  # the screen from before, plain, wrapping, with a cursor
)
"""Undoes whatever the screen may have asked of the terminal; each is harmless where it was not."""


@contextmanager
def guarded() -> Generator[Callable[[], None]]:
    """Have the terminal given back if this process dies within the block, be it by SIGKILL.

    Call it while there is one thread. Leaving the block means that the terminal is as it was. Until what is yielded is
    called, what is typed is kept as it is typed: not echoed, Enter not made a line feed.
    """
    try:
        terminal = os.open(TERMINAL, os.O_RDWR | os.O_CLOEXEC)
        before = termios.tcgetattr(terminal)
    except (OSError, termios.error):  # no terminal of our own: nothing to give back
        yield lambda: None
        return
    watched, alive = os.pipe()
    if os.fork() == 0:
        try:
            os.close(alive)
            _watch(watched, terminal, before)
        finally:
            os._exit(0)
    os.close(watched)
    _keep(terminal, before)
    try:
        yield lambda: termios.tcsetattr(terminal, termios.TCSANOW, before)
    finally:
        os.close(terminal)
        with suppress(BrokenPipeError):  # somebody killed the guard
            os.write(alive, GIVEN_BACK)
        os.close(alive)
        with suppress(ChildProcessError):
            os.wait()


def _keep(terminal: int, before: list[int | list[bytes | int]]) -> None:
    """Have the terminal keep what is typed as it is."""
    inputs, outputs, controls, locals_, *rest = before
    assert isinstance(inputs, int)
    assert isinstance(locals_, int)
    locals_ &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(terminal, termios.TCSANOW, [inputs & ~termios.ICRNL, outputs, controls, locals_, *rest])


def _watch(watched: int, terminal: int, before: list[int | list[bytes | int]]) -> None:
    """Return when the parent is gone, having given the terminal back if it did not."""
    os.setpgid(0, 0)  # what is meant for the parent's group (^C of a shell's job, a hang-up) does not end the guard
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    for stream in (0, 1, 2):
        with suppress(OSError):
            os.close(stream)
    if os.read(watched, 1) != GIVEN_BACK:
        os.write(terminal, RESET)
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
