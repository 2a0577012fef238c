"""The watchdog above the supervisor of commands: if the supervisor is killed, the watchdog ends its commands.

Why two processes? The supervisor (`supervisor.py`) ends all commands when the agent dies. But the supervisor can be
killed too: by the user, by the OOM killer, or by a command that kills every process it finds. Linux then gives its
orphans to the nearest ancestor that asked for them (PR_SET_CHILD_SUBREAPER). Without a watchdog that is init, and a
server started by a command would run on forever. The watchdog is that ancestor. It kills whatever it inherits and then
exits.

Why can it not fail in the same way? It only waits, so nothing but a kill can end it. If it is killed, its death signal
(PR_SET_PDEATHSIG) tells the supervisor, which ends all commands. Each outlives the other just long enough to clean up.
A process that was frozen (SIGSTOP) is woken by the same signals. Only the death of both at one moment leaves something
running, and `orphans.py` finds that on the next start.

Example: `kill -9` hits the supervisor while `npm run dev` runs. Its death signal ends the shell; npm and node become
children of the watchdog, which sends SIGKILL until `waitpid` reports no child, writes "gone" into the lock file and
exits with 0. The agent reads from the closed pipe that the supervisor died, and journals the command as interrupted.
"""

from __future__ import annotations

import os
import signal
import time

from holdfast.tools.process.process_table import LINUX, adopt_orphans, below, by_parent, end_with, living, send

CLOSING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_GIVE_UP = 1.0  # seconds of sending SIGKILL
_TICK = 0.01
GONE = b"gone\n"
"""The content of the lock file once none of a supervisor's processes is left."""


def fork_watchdog(lock: int) -> int:
    """Fork. Return the watchdog's pid in the new process, the supervisor; the old one becomes the watchdog.

    The watchdog never returns. It passes SIGTERM on and kills the supervisor on SIGQUIT. If no process of the
    supervisor is left, it writes that into the file `lock` and exits with 0. Where no watchdog is possible, this
    returns the parent's pid without forking.
    """
    if not LINUX:
        return os.getppid()  # no other process adopts orphans here
    adopt_orphans()
    watchdog = os.getpid()
    passed_on = (*CLOSING, signal.SIGQUIT)
    signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)  # the supervisor may be at work before the handlers are set
    supervisor = os.fork()
    if supervisor == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
        if not end_with(watchdog, signal.SIGCONT):  # perhaps it is frozen; the supervisor checks its parent
            os._exit(1)
        return watchdog
    end_with(os.getppid(), signal.SIGCONT)  # if frozen, it continues when the agent has exited

    def pass_on(number: int, _frame: object) -> None:
        os.kill(supervisor, signal.SIGKILL if number == signal.SIGQUIT else signal.SIGTERM)

    for number in passed_on:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
    states = os.WEXITED | os.WSTOPPED | os.WNOWAIT
    while (now := os.waitid(os.P_PID, supervisor, states)) is not None and now.si_code == os.CLD_STOPPED:
        os.kill(supervisor, signal.SIGCONT)
    for number in passed_on:
        signal.signal(number, signal.SIG_IGN)
    if kill_descendants(watchdog):
        os._exit(1)
    os.pwrite(lock, GONE, 0)
    os._exit(0)


def kill_descendants(parent: int) -> bool:
    """Kill everything below `parent`, which is this process; return whether something cannot be killed."""
    until = time.monotonic() + _GIVE_UP
    while time.monotonic() < until:
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:  # ask the kernel: /proc can miss a process that is just starting
            return False
        killed = [send(each.pid, signal.SIGKILL) for each in below(parent, by_parent(living()))]
        if killed and not any(killed):
            return True
        time.sleep(_TICK)
    return True
