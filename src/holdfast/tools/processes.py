"""Processes as the system shows them: who lives, below whom, for which call.

Two rules. It imports the standard library only, because the keeper does. What Linux alone can tell is empty elsewhere.
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
MARK = "HOLDFAST_CALL"
"""The environment variable that says which call a process was started for; children inherit it."""

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


class Process:
    """A process with a running thread; `start` is when it began, in clock ticks since the system did."""

    __slots__ = ("name", "parent", "pid", "session", "start")

    def __init__(self, *, pid: int, name: bytes, parent: int, session: int, start: int) -> None:
        self.pid = pid
        self.name = name
        self.parent = parent
        self.session = session
        self.start = start


def look(pid: int) -> Process | None:
    """Return the process if it lives; a zombie does not."""
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
    """Return every process that lives, the newest first: the likeliest to be gone by the time they are read."""
    pids = sorted((int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()), reverse=True)
    return [process for pid in pids if (process := look(pid))]


def by_parent(processes: Iterable[Process]) -> dict[int, list[Process]]:
    """Return the children of each process that has some."""
    children: dict[int, list[Process]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    return children


def below(pid: int, children: Mapping[int, Sequence[Process]]) -> list[Process]:
    """Return every process below `pid`, parents before children."""
    found = list(children.get(pid, ()))
    for process in found:  # grows while it is walked
        found += children.get(process.pid, ())
    return found


def call_of(pid: int) -> str:
    """Return the call in the environment that the process was started with, "" if none can be read."""
    with contextlib.suppress(OSError), io.FileIO(f"/proc/{pid}/environ") as file:
        for variable in file.readall().split(b"\0"):
            name, _, call = variable.partition(b"=")
            if name == MARK.encode():
                return os.fsdecode(call)
    return ""


def boot() -> str:
    """Return the id of the time since the system was started, in which alone a pid and a start mean something."""
    with contextlib.suppress(OSError), io.FileIO("/proc/sys/kernel/random/boot_id") as file:
        return file.readall().decode().strip()
    return ""


def send(pid: int, *numbers: signal.Signals) -> bool:
    """Signal a process and return whether it takes that from us: another user's does not, one that is gone need not."""
    try:
        for number in numbers:
            os.kill(pid, number)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


def keep_secrets() -> None:
    """Have the system refuse this process's memory and environment to every other process but root's.

    It holds for what is forked, and ends with exec: a program that is started can be debugged as ever.
    """
    if LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def adopt_orphans() -> None:
    """Make this process the parent of every process below it that loses its own."""
    if LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with(parent: int, number: signal.Signals) -> bool:
    """Have this process signalled when `parent`, its parent, ends; return False if that has happened already."""
    if LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    return not LINUX or os.getppid() == parent
