"""SIGKILL before and behind each entry of a turn with hooks of all events: of the agent, of a hook, of the supervisor.

What must hold: the history is valid and the next prompt works, each call has one outcome and none ran twice, each hook
that ran has its start in the journal and one end, and a second later none of their processes lives. A subject that
journals the start of a hook behind its run is found out.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from report import record

from fold_readings import faults
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.session.storage.sqlite_store import SqliteStore
from hook_rig import hook_rig
from polling import slowness
from process_leaks import alive, linux_only
from tiers import sampled

pytestmark = linux_only

VICTIMS = ("agent", "hook", "supervisor")
POINTS = 100
"""More than the turn has: it has 2 for each append."""

PROGRAM = """\
import asyncio, os, signal, sys
from pathlib import Path
from agent_harness import opened
from hook_rig import hook, hook_rig
from holdfast.agent.seam import Expanded
from holdfast.hooks.definition import EVENTS
from holdfast.session.journal import entries as e
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.script import Call, Say
from process_leaks import alive, below

home, victim, point, bad = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] == "bad"
append, done, held = SqliteStore.append, 0, []

def strike():
    (home / "struck").write_text("")
    if victim == "agent":
        os.kill(os.getpid(), signal.SIGKILL)
    pids = alive("HOLDFAST_" + "CALL=hooked-h") if victim == "hook" else []
    if victim == "supervisor":
        ours = [pid for pid, line in below(os.getpid()).items() if "supervisor.lock" in line]
        pids = [pid for pid in ours if above(pid) != os.getpid()]
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

def above(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

def struck(self, entries, *, expected):
    global done
    if bad:
        held.extend(each for each in entries if isinstance(each, e.HookStarted))
        if any(isinstance(each, e.HookEnded) for each in entries):
            entries = (*held, *entries)
            held.clear()
        else:
            entries = tuple(each for each in entries if not isinstance(each, e.HookStarted))
        expected = self.length
    done += 1
    if point == 2 * done - 1:
        strike()
    length = append(self, entries, expected=expected) if entries else expected
    if point == 2 * done:
        strike()
    return length

SqliteStore.append = struck

def slow(event):
    more = "[ -e passed ] || exit 2" if event == "Stop" else "true"
    return hook(event, f"echo $HOLDFAST_CALL >> marks; sleep 0.05; {more}")

async def main():
    folder = home / "home" / "s"
    folder.mkdir(parents=True, exist_ok=True)
    store = SqliteStore.create(folder)
    async with hook_rig(home, *map(slow, EVENTS), store=store) as rig:
        rig.agent.mode = "yolo"
        command = Call("bash", {"command": "echo $HOLDFAST_CALL >> calls"})
        rig.model.extend((command, Call("bash", {"command": "exit 1"})), (Say("Done?"),))
        rig.model.extend((Call("bash", {"command": "touch passed"}),), (Say("Done."),))
        expanded = await rig.hooks.submit_prompt("go on", Expanded("go on"))
        await rig.agent.run(expanded.text)

asyncio.run(main())
"""


def run(home: Path, victim: str, point: int, how: str = "good") -> subprocess.CompletedProcess[str]:
    """Run the turn, and strike at a point."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(home), victim, str(point), how],
        check=False,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
        timeout=300,
    )


def left() -> list[int]:
    """Return the processes of hooks and calls that live a second later, longer on a slow machine."""
    until = time.monotonic() + 1.0 * slowness()
    while (pids := alive("HOLDFAST_CALL=hooked-h")) and time.monotonic() < until:
        time.sleep(0.01)
    return pids


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def complaints(home: Path, entries: list[e.Entry]) -> list[str]:
    """Return what is wrong in the journal of a settled session."""
    parts = [part for each in entries if isinstance(each, e.ResponseEnded) for part in each.parts]
    ends = Counter(each.call for each in entries if isinstance(each, e.CallEnded))
    found = [
        f"a call has {ends[part.id]} outcomes" for part in parts if isinstance(part, CallPart) if ends[part.id] != 1
    ]
    started = [each.id for each in entries if isinstance(each, e.HookStarted)]
    ended = Counter(each.id for each in entries if isinstance(each, e.HookEnded))
    found += [f"hook {each} has {ended[each]} ends" for each in started if ended[each] != 1]
    found += [
        f"hook {each} ran, and the journal has no start of it" for each in {*lines(home / "w" / "marks")} - {*started}
    ]
    calls = lines(home / "w" / "calls")
    found += ["a call ran twice"] if len(set(calls)) < len(calls) else []
    return found


async def struck(home: Path, victim: str, point: int, how: str = "good") -> list[str] | None:
    """Return what is wrong after a strike, None if the turn has no such point."""
    ran = await asyncio.to_thread(run, home, victim, point, how)
    found = [f"{len(pids)} processes live" for pids in [left()] if pids]
    if not (home / "struck").exists():
        return None if ran.returncode == 0 else [ran.stderr]
    if ran.returncode != (-9 if victim == "agent" else 0):
        found.append(f"it ended with {ran.returncode}: {ran.stderr}")
    store = SqliteStore.open(home / "home" / "s")
    if store.length == 0:
        store.close()
        return found
    async with hook_rig(home, store=store) as rig:
        await rig.agent.recover()
        found += complaints(home, rig.entries)
        found += faults(rig.agent.conversation.messages)
        ended = await rig.turn(prompt="again")
        found += [] if ended.cause == "finished" else [f"the next turn ended by {ended.cause}"]
    return found


@pytest.mark.parametrize(
    ("victim", "point"), sampled([(victim, point) for victim in VICTIMS for point in range(1, POINTS)], 6)
)
async def test_a_kill_at_any_entry_of_a_turn_with_hooks(tmp_path: Path, victim: str, point: int) -> None:
    found = await struck(tmp_path, victim, point)
    record("a turn with hooks", f"{victim} killed", points=0 if found is None else 1, violations=found or [])
    assert not found


async def test_a_hook_that_is_journalled_too_late_is_found_out(tmp_path: Path) -> None:
    found = await struck(tmp_path, "agent", 5, "bad") or []  # behind the run of the first hook, before its end
    record("a turn with hooks", "journalled too late", points=1, violations=found, known_bad=True)
    assert any("has no start of it" in each for each in found)
