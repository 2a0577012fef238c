"""A program that is struck at one entry of its journal: processes of its turn are killed, or its client goes.

`STRIKE + PRODUCT` is holdfast. The variable STRIKE says `VICTIMS POINT`: which of the processes, joined by `-`, and
where. Odd points are before an append to the journal, even ones after it, so that between two appends both are tried:
nothing of what follows has begun, and all of it is done. At point 0 nothing is struck; `points` says then how many
there are, and from which on the server lives.

The victim `client` is asked to go: the program waits until the file `gone` is there.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from holdfast.session.journal.entries import CallEnded, Entry, ResponseEnded, TurnEnded
from holdfast.session.journal.parts import CallPart
from holdfast.tools.process.process_table import running_process
from polling import slowness

LIMIT = 1.0
"""Seconds in which everything must be gone."""

STRIKE = """
import json, os, pathlib, signal, time
from holdfast.session.storage.sqlite_store import SqliteStore

victims, point = os.environ["STRIKE"].split()
ORDER = ("watchdog", "supervisor", "relay", "server")  # the outermost first: none has time to end what is below it
append, done, first = SqliteStore.append, 0, 0

def above(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

def alive():
    try:
        pids = [int(each) for each in pathlib.Path("marker").read_text().split()]
        chain = [pids[0]]
        while chain[-1] != os.getpid():
            chain.append(above(chain[-1]))
    except (OSError, IndexError):
        return {}, [], []
    return dict(zip(reversed(ORDER), chain[:-1])), [*pids, *chain[1:2]], chain[2:-1]

def strike():
    known, server, above_it = alive()
    mine = [name for name in ORDER if name in victims.split("-") and name in known]
    told = {"at": time.monotonic(), "server": server, "above": above_it, "victims": mine}
    pathlib.Path("struck.new").write_text(json.dumps(told))
    os.rename("struck.new", "struck")
    for name in mine:
        os.kill(known[name], signal.SIGKILL)
    if "agent" in victims:
        os.kill(os.getpid(), signal.SIGKILL)
    while "client" in victims and not os.path.exists("gone"):
        time.sleep(0.001)

def struck(self, entries, *, expected):
    global done, first
    done += 1
    if int(point) == 2 * done - 1:
        strike()
    length = append(self, entries, expected=expected)
    if int(point) == 2 * done:
        strike()
    if point == "0":
        first = first or (2 * done if alive()[1] else 0)
        pathlib.Path("points").write_text(f"{2 * done} {first}")
    return length

SqliteStore.append = struck
"""

SDK = """
import os, sys
from mcp.client import stdio
from holdfast.tools.mcp import connections

class SdksProcess:
    def __init__(self, process):
        self.process, self.log = process, ""
        self.reader, self.writer = process.stdout._stream, process.stdin._stream
    async def how_it_ended(self, within):
        return "It ended."
    async def end(self, within=0.5):
        await stdio._stop_server_process(self.process)

async def start_server(supervisor, command, *, call, folder):
    argv, environ = command.argv, {**os.environ, **command.env}
    return SdksProcess(
        await stdio._create_platform_compatible_process(argv[0], [*argv[1:]], environ, sys.stderr, command.cwd)
    )

connections.start_server = start_server
"""
"""Known-bad: a server's process is started and ended as the SDK does it."""


class Struck(msgspec.Struct, frozen=True):
    """When a program was struck, the processes of its server, those above it, and which of them were killed."""

    at: float
    server: list[int]
    above: list[int]
    victims: list[str]


def read_struck(folder: Path) -> Struck:
    return msgspec.convert(json.loads((folder / "struck").read_text()), Struck)


def read_points(folder: Path) -> tuple[int, int]:
    """Return how many points a turn has, and from which on its server lives."""
    points, first = map(int, (folder / "points").read_text().split())
    return points, first


def left(pids: Iterable[int], since: float) -> tuple[list[int], float]:
    """Return which processes still live LIMIT seconds after then, and when the last was gone; what is left is ended."""
    pids = list(pids)
    while remain := [pid for pid in pids if running_process(pid)]:
        if time.monotonic() > since + LIMIT and time.monotonic() > since + LIMIT * slowness():
            break
        time.sleep(0.005)
    seconds = time.monotonic() - since
    for pid in remain:
        os.kill(pid, 9)
    return remain, seconds


def complaints(entries: Iterable[Entry], ran: Counter[str]) -> list[str]:
    """Return what is wrong in the journal of a settled session; `ran` is how often each tool of the server ran."""
    entries = list(entries)
    calls = [part for entry in entries if isinstance(entry, ResponseEnded) for part in entry.parts]
    names = {call.id: call.name.rpartition("__")[2] for call in calls if isinstance(call, CallPart)}
    ends = Counter(entry.call for entry in entries if isinstance(entry, CallEnded))
    found = [f"{name} has {ends[call]} outcomes" for call, name in names.items() if ends[call] != 1]
    found += [f"{name} ran {times} times" for name, times in ran.items() if times > 1]
    for entry in entries:
        if isinstance(entry, CallEnded):
            name = names[entry.call]
            if entry.outcome == "not_started" and ran[name]:
                found.append(f"{name} ran, and was told not to have")
            if entry.outcome == "failed" and ran[name] and name != "fail":
                found.append(f"{name} was lost, and is told to have failed")
            if entry.outcome == "ok" and not ran[name]:
                found.append(f"{name} is told to have run, and did not")
    if not isinstance(entries[-1], TurnEnded):
        found.append(f"the last turn has no end: {type(entries[-1]).__name__}")
    return found
