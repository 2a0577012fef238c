"""What a command left alive when keeper and guard were killed with the agent: found again, ended, and told.

Two rules. A process is ended only if it is beyond doubt: it carries the call in the environment it was started with, or
was journalled, or lives below one of those. Signals go through a descriptor of the process, never to a pid that may
have a new owner.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Collection
from dataclasses import dataclass

from holdfast.calls import ProcessId
from holdfast.text import valid_unicode
from holdfast.tools.processes import LINUX, Process, below, boot, by_parent, call_of, living, look

GRACE = 0.3  # seconds between SIGTERM and SIGKILL
GIVE_UP = 0.8  # seconds since SIGTERM
TICK = 0.02
NAMED = 5  # more of them are counted


@dataclass(frozen=True, slots=True)
class Remains:
    """What was found, as "name (pid)": processes that were ended, and those that could not be."""

    ended: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def said(remains: Remains) -> str:
    """Return in a few words what was found, "" if that was nothing."""
    clauses: list[str] = []
    if remains.ended:
        clauses.append(f"still running, and ended now: {_listed(remains.ended)}")
    if remains.left:
        clauses.append(f"could not be ended and may still run: {_listed(remains.left)}")
    return "; ".join(clauses)


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def reap(calls: Collection[str], known: Collection[ProcessId]) -> Remains:
    """End what is left of `calls`, whose keeper and guard are gone, and return what that was; takes up to a second."""
    found: dict[tuple[int, int], _Found] = {}
    began = time.monotonic()
    try:
        while True:
            for process in _of(calls, known):
                key = (process.pid, process.start)
                if key not in found and (new := _open(process)) is not None:
                    found[key] = new
                    new.signal(signal.SIGTERM, signal.SIGCONT)
            alive = [each for each in found.values() if each.is_alive()]
            over = time.monotonic() - began
            if not alive or over > GIVE_UP:
                ended = tuple(each.name for each in found.values() if each not in alive)
                return Remains(ended, tuple(each.name for each in alive))
            for each in alive if over > GRACE else ():
                each.signal(signal.SIGKILL)
            time.sleep(TICK)
    finally:
        for each in found.values():
            os.close(each.descriptor)


@dataclass(frozen=True, slots=True)
class _Found:
    descriptor: int
    name: str

    def signal(self, *numbers: signal.Signals) -> None:
        for number in numbers:
            # Gone meanwhile, or another user's: who is left at the end is said.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self.descriptor, number)

    def is_alive(self) -> bool:
        ended = select.poll()
        ended.register(self.descriptor, select.POLLIN)
        return not ended.poll(0)


def _open(process: Process) -> _Found | None:
    """Return the process with a descriptor of it, None if it is gone or its pid has a new owner."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:  # gone; or there are more of them than descriptors, and it is its turn when others are gone
        return None
    now = look(process.pid)
    if now is None or now.start != process.start:
        os.close(descriptor)
        return None
    return _Found(descriptor, f"{valid_unicode(process.name.decode(errors='replace'))} ({process.pid})")


def _of(calls: Collection[str], known: Collection[ProcessId]) -> list[Process]:
    """Return the living processes of the calls, the oldest first; never this one, nor those it was started from."""
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
