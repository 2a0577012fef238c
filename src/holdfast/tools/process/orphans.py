"""Ends processes that outlived agent, supervisor and watchdog: found again at the next start, ended, and reported.

A process is ended only if it is beyond doubt a command's: it carries the call in its environment, was journalled, or is
a descendant of such a process. Signals are sent through a pidfd, never to a pid that may have been reused.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Collection

import msgspec

from holdfast.text import valid_unicode
from holdfast.tool_calls import ProcessId
from holdfast.tools.process.process_table import (
    LINUX,
    Process,
    below,
    boot,
    by_parent,
    call_of,
    living,
    running_process,
)

_TICK = 0.02
_GRACE = 15  # ticks between SIGTERM and SIGKILL
_GIVE_UP = 40  # ticks after SIGTERM: 0.8 s, and longer on a machine so busy that the processes have no time to end
NAMED = 5  # listed by name; more are only counted


class OrphanReport(msgspec.Struct, frozen=True):
    """The result, as "name (pid)": processes that were ended, and those that could not be."""

    ended: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def describe_orphans(report: OrphanReport) -> str:
    """Return a short description of the result, "" if nothing was found."""
    parts: list[str] = []
    if report.ended:
        parts.append(f"still running, and ended now: {_listed(report.ended)}")
    if report.left:
        parts.append(f"could not be ended and may still be running: {_listed(report.left)}")
    return "; ".join(parts)


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def reap(calls: Collection[str], known: Collection[ProcessId]) -> OrphanReport:
    """End what is left of `calls`, whose supervisor has exited, and return the result.

    Takes up to a second, longer on a busy machine.
    """
    found: dict[tuple[int, int], _Found] = {}
    tick = 0
    try:
        while True:
            for process in _of(calls, known):
                key = (process.pid, process.start)
                if key not in found and (new := _open(process)) is not None:
                    found[key] = new
                    new.signal(signal.SIGTERM, signal.SIGCONT)
            alive = [each for each in found.values() if each.is_alive()]
            if not alive or tick > _GIVE_UP:
                ended = tuple(each.name for each in found.values() if each not in alive)
                return OrphanReport(ended, tuple(each.name for each in alive))
            for each in alive if tick > _GRACE else ():
                each.signal(signal.SIGKILL)
            time.sleep(_TICK)
            tick += 1
    finally:
        for each in found.values():
            os.close(each.descriptor)


class _Found(msgspec.Struct, frozen=True):
    descriptor: int
    name: str

    def signal(self, *numbers: signal.Signals) -> None:
        for number in numbers:
            # It has exited, or belongs to another user; survivors are reported at the end.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self.descriptor, number)

    def is_alive(self) -> bool:
        ended = select.poll()
        ended.register(self.descriptor, select.POLLIN)
        return not ended.poll(0)


def _open(process: Process) -> _Found | None:
    """Return the process with a pidfd, None if it has exited or its pid was reused."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:  # exited, or out of descriptors: the next round gets it
        return None
    now = running_process(process.pid)
    if now is None or now.start != process.start:
        os.close(descriptor)
        return None
    return _Found(descriptor, f"{valid_unicode(process.name.decode(errors='replace'))} ({process.pid})")


def _of(calls: Collection[str], known: Collection[ProcessId]) -> list[Process]:
    """Return the living processes of the calls, oldest first, except this process and its ancestors."""
    if not LINUX or not calls:
        return []
    processes = living()
    children = by_parent(processes)
    parents = {process.pid: process.parent for process in processes}
    lineage: list[int] = [os.getpid()]
    while parent := parents.get(lineage[-1]):
        lineage.append(parent)
    here = {(process.pid, process.start) for process in known if process.boot == boot()}
    roots = [each for each in processes if (each.pid, each.start) in here or call_of(each.pid) in calls]
    found = {each.pid: each for root in roots for each in (root, *below(root.pid, children))}
    return sorted((each for each in found.values() if each.pid not in lineage), key=lambda each: each.start)
