"""Processes as the system shows them: which ones live, their parents, and the call they belong to.

Imports the standard library only, because the supervisor does. What only Linux can tell is empty elsewhere.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence

LINUX = sys.platform == "linux"
CALL_VARIABLE = "HOLDFAST_CALL"
"""The environment variable with the call a process was started for. Children inherit it."""

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


class Process:
    """A process with a running thread. `start` is when it began, in clock ticks since boot."""

    __slots__ = ("name", "parent", "pid", "session", "start")

    def __init__(self, *, pid: int, name: bytes, parent: int, session: int, start: int) -> None:
        self.pid = pid
        self.name = name
        self.parent = parent
        self.session = session
        self.start = start


def running_process(pid: int) -> Process | None:
    """Return the process if it lives. A zombie does not."""
    try:
        with io.FileIO(f"/proc/{pid}/stat") as file:
            head, _, tail = file.readall().rpartition(b")")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = tail.split()
    state, parent, session, threads, start = fields[0], fields[1], fields[3], fields[17], fields[19]
    # A process whose first thread ended looks like a zombie, but its other threads run on.
    if state in b"ZX" and int(threads) <= 1:
        return None
    name = head.partition(b"(")[2]
    return Process(pid=pid, name=name, parent=int(parent), session=int(session), start=int(start))


def living() -> list[Process]:
    """Return every living process, newest first: the likeliest to exit before they are read."""
    pids = sorted((int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()), reverse=True)
    return [process for pid in pids if (process := running_process(pid))]


def by_parent(processes: Iterable[Process]) -> dict[int, list[Process]]:
    """Return the children of each process that has any."""
    children: dict[int, list[Process]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    return children


def below(pid: int, children: Mapping[int, Sequence[Process]]) -> list[Process]:
    """Return every descendant of `pid`, parents before children."""
    found = list(children.get(pid, ()))
    for process in found:  # grows during the loop
        found += children.get(process.pid, ())
    return found


def call_of(pid: int) -> str:
    """Return the call in the process's initial environment, "" if it cannot be read."""
    with contextlib.suppress(OSError), io.FileIO(f"/proc/{pid}/environ") as file:
        for variable in file.readall().split(b"\0"):
            name, _, call = variable.partition(b"=")
            if name == CALL_VARIABLE.encode():
                return os.fsdecode(call)
    return ""


def boot() -> str:
    """Return the boot id: pid and start time identify a process only within one boot."""
    with contextlib.suppress(OSError), io.FileIO("/proc/sys/kernel/random/boot_id") as file:
        return file.readall().decode().strip()
    return ""


def send(pid: int, *numbers: signal.Signals) -> bool:
    """Signal a process; return False if it belongs to another user. A process that has exited counts as signalled."""
    try:
        for number in numbers:
            os.kill(pid, number)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


def keep_secrets() -> None:
    """Make the system deny other processes, except root's, access to this process's memory and environment.

    Inherited by forks, reset by exec: a started program can be debugged as usual.
    """
    if LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def adopt_orphans() -> None:
    """Make this process adopt every descendant that loses its parent."""
    if LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with(parent: int, number: signal.Signals) -> bool:
    """Request a signal for when `parent` (this process's parent) ends; return False if it has ended already."""
    if LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    return not LINUX or os.getppid() == parent
