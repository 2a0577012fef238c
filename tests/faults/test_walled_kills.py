"""A turn with a confined command, one of the processes around it killed at any entry of its journal.

The rows of the table in `docs/reference/confinement.md`: what is journalled before the command can act, what is known
after the kill, and that a second later nothing of it lives.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from launching import World
from report import record
from test_nasty_children import left

from holdfast.history.profiles import OPENAI_CHAT
from holdfast.session.journal.entries import CallEnded, CallStarted, Entry, TurnEnded
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.session.verify import verify
from holdfast.testing.script import Call, ReceivedRequest, Reply, Say
from launcher import PRODUCT
from polling import slowness
from process_leaks import linux_only
from tiers import sampled, some

pytestmark = linux_only

LIMIT = 1.0
"""Seconds in which everything of the command must be gone."""
MOST = 3
VICTIMS = ("agent", "watchdog", "supervisor", "wall", "proxy", "agent watchdog supervisor")

STRIKE = """
import os, pathlib, signal
from holdfast.session.storage.sqlite_store import SqliteStore

victims, point = os.environ["STRIKE"].rsplit(" ", 1)
append, done = SqliteStore.append, 0

def children(pid):
    try:
        return [int(each) for each in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []

def words(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""

def strike():
    watchdogs = [each for each in children(os.getpid()) if "supervisor" in words(each)]
    supervisors = [below for each in watchdogs for below in children(each)]
    commands = [below for each in supervisors for below in children(each)]
    proxies = [each for each in commands if "network.proxy" in words(each) and "bwrap" not in words(each)]
    known = {"watchdog": watchdogs, "supervisor": supervisors, "proxy": proxies, "agent": [os.getpid()]}
    known["wall"] = [each for each in commands if each not in proxies]
    order = ("watchdog", "supervisor", "wall", "proxy", "agent")
    found = [pid for name in order if name in victims for pid in known[name]]
    pathlib.Path("struck").write_text(" ".join(map(str, found)))
    for number in (signal.SIGSTOP, signal.SIGKILL):  # none has time to act on another's death
        for pid in found:
            if pid != os.getpid() or number == signal.SIGKILL:
                os.kill(pid, number)

def struck(self, entries, *, expected):
    global done
    done += 1
    if int(point) == 2 * done - 1:
        strike()
    length = append(self, entries, expected=expected)
    if int(point) == 2 * done:
        strike()
    if point == "0":
        pathlib.Path("points").write_text(str(2 * done))
    return length

SqliteStore.append = struck
"""

COMMAND = "exec 9>held; (cd /; exec env -i setsid -f sleep 300 >/dev/null 2>&1 </dev/null); echo x >> ran; sleep 0.4"


def turn(request: ReceivedRequest) -> Reply:
    """Return what the model does next: one command, then an answer."""
    answered = any(message["role"] == "assistant" for message in request.messages)
    return (Say("Done."),) if answered else (Call("bash", {"command": COMMAND, "network": ["example.org"]}),)


def complaints(entries: list[Entry], folder: Path) -> list[str]:
    """Return what the journal of a settled session tells that is not so."""
    started = [each for each in entries if isinstance(each, CallStarted)]
    ends = [each for each in entries if isinstance(each, CallEnded)]
    ran = (folder / "ran").exists()
    found = [f"level {each.confined!r} was journalled" for each in started if each.confined != "network"]
    if ran and len(started) != 1:
        found.append(f"it ran, and {len(started)} starts were journalled")
    if ran and (folder / "ran").read_text() != "x\n":
        found.append("it ran twice")
    if len(ends) != len({each.call for each in ends}) or (started and len(ends) != 1):
        found.append(f"{len(ends)} outcomes")
    for end in ends:
        if end.outcome in ("not_started", "denied") and ran:
            found.append("it ran, and was told not to have")
        if end.outcome == "ok" and not ran:
            found.append("it did not run, and was told to have")
    if not isinstance(entries[-1], TurnEnded):
        found.append(f"the last turn has no end; the last entries are {[type(each).__name__ for each in entries[-4:]]}")
    return found


def struck_at(world: World, victims: str, point: int) -> tuple[list[str], float, bool]:
    """Return what is wrong after a strike, how long anything lived, and whether something was struck."""
    folder = world.folder / f"{victims.replace(' ', '-')}-{point}"
    folder.mkdir()
    world.script(*[turn] * 4)
    how = ("-m", world.model, "--yolo", "--sandbox", "require", "-p", "go")
    agent = world.start(*how, program=STRIKE + PRODUCT, environ=world.environ(STRIKE=f"{victims} {point}"), cwd=folder)
    ran = agent.wait()
    began = time.monotonic()
    while (remain := left({"it": folder})) and time.monotonic() < began + LIMIT * slowness():
        time.sleep(0.005)
    seconds = time.monotonic() - began
    found = [f"{len(remain)} processes live"] if remain else []
    if point == 0:
        assert ran.code == 0, ran.err
        assert (folder / "ran").exists(), ran.err
        return found, 0.0, False
    if ran.code != (-9 if "agent" in victims else 0):
        found.append(f"it ended with {ran.code}: {ran.err}")
    for session in world.sessions:
        entries = world.entries(session) if (session / "session.db").exists() else []
        if not entries or getattr(entries[0], "cwd", "") != str(folder):  # killed before its first entry, or another
            continue
        if "agent" in victims:
            world.go_on("--sandbox", "require", cwd=folder)
        entries = world.entries(session)
        found += complaints(entries, folder)
        found += [each.what for each in verify(session.name, read_copy(session), OPENAI_CHAT).problems]
    struck = (folder / "struck").exists() and bool((folder / "struck").read_text())
    return [f"{victims} at {point}: {each}" for each in found], seconds, struck


@pytest.mark.parametrize("victims", sampled(VICTIMS, 2))
def test_a_kill_at_any_entry_of_a_turn_with_a_confined_command(walled_world: World, victims: str) -> None:
    wrong, _, _ = struck_at(walled_world, victims, 0)
    assert wrong == []
    many = int((walled_world.folder / f"{victims.replace(' ', '-')}-0/points").read_text())
    points = [point for (point,) in some([(each,) for each in range(1, many + 1)], MOST)]
    found, slowest, hits = list[str](), 0.0, 0
    for point in points:
        more, seconds, struck = struck_at(walled_world, victims, point)
        found += more
        slowest, hits = max(slowest, seconds), hits + struck
    record("a confined command", f"{victims} killed", points=len(points), of=many, violations=found, slowest=slowest)
    assert found == []
