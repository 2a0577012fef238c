"""The process above the keeper: when the keeper is killed, what it kept falls to the guard, which ends it.

Two rules. It does nothing but wait, so that nothing but a kill can end it; a keeper that somebody freezes goes on at
once, also by the death of its guard. Keeper and guard each outlive the other just long enough to clean up: only the
death of both at one moment leaves something, and the next start looks for that.
"""

from __future__ import annotations

import os
import signal
import time

from holdfast.tools.processes import LINUX, adopt_orphans, below, by_parent, end_with, living, send

CLOSING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
GIVE_UP = 1.0  # seconds of SIGKILL
TICK = 0.01
GONE = b"gone\n"
"""What the lock file holds once nothing is left of what a keeper kept."""


def guarded(lock: int) -> int:
    """Return the pid of the guard in a new process, the keeper; this one stays as its guard, and never returns.

    The guard passes SIGTERM on and kills the keeper at a SIGQUIT. If nothing of the keeper is left, it writes so into
    the file `lock` and exits with 0. Where there can be no guard, it returns in this process, whose parent is told.
    """
    if not LINUX:
        return os.getppid()  # nobody else adopts orphans
    adopt_orphans()
    guard = os.getpid()
    keeper = os.fork()
    if keeper == 0:
        if not end_with(guard, signal.SIGCONT):  # it is frozen, perhaps; the keeper sees who its parent is
            os._exit(1)
        return guard
    end_with(os.getppid(), signal.SIGCONT)  # frozen itself, it goes on when the agent is gone

    def pass_on(number: int, _frame: object) -> None:
        os.kill(keeper, signal.SIGKILL if number == signal.SIGQUIT else signal.SIGTERM)

    for number in (*CLOSING, signal.SIGQUIT):
        signal.signal(number, pass_on)
    states = os.WEXITED | os.WSTOPPED | os.WNOWAIT
    while (now := os.waitid(os.P_PID, keeper, states)) is not None and now.si_code == os.CLD_STOPPED:
        os.kill(keeper, signal.SIGCONT)
    for number in (*CLOSING, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    if _remains(guard):
        os._exit(1)
    os.pwrite(lock, GONE, 0)
    os._exit(0)


def _remains(guard: int) -> bool:
    """Kill whatever is below the guard until nothing is, and return whether something cannot be killed."""
    until = time.monotonic() + GIVE_UP
    while time.monotonic() < until:
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:  # the kernel's word; a look at /proc can miss one that is just being started
            return False
        killed = [send(each.pid, signal.SIGKILL) for each in below(guard, by_parent(living()))]
        if killed and not any(killed):
            return True
        time.sleep(TICK)
    return True
