"""Nasty commands behind a wall: whichever of the processes around them is killed, a second later nothing is left.

The pid namespace of bubblewrap ends also what no supervisor could find: a command that kills all it sees and stays, one
without an environment, one that forks and exits without pause, even if agent, watchdog and supervisor are killed at the
same moment. Landlock has no such namespace, and promises what commands without a wall get.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from report import record
from test_nasty_children import (
    CROWD,
    INJECTORS,
    PROGRAM,
    Injector,
    children,
    done,
    kill,
    left,
    running,
    supervisor,
    watchdog,
)

from holdfast.system.confinement.description import WallKind
from polling import eventually, slowness
from process_leaks import linux_only
from stubborn_commands import NASTY
from tiers import sampled
from walls import need

pytestmark = linux_only

_ENDLESS = """
import os
print("ready", flush=True)
while not os.path.exists("ended"):
    if os.fork():
        os._exit(0)
    os.setsid()
"""
_NO_ENVIRONMENT = "cd /; exec env -i setsid -f sleep 300 >/dev/null 2>&1 </dev/null"
HARDER = {
    "kills all that it sees, and stays": "exec 9>held; trap '' TERM HUP INT; echo ready; kill -KILL -1; sleep 300",
    "kills its supervisors, and stays": (
        "exec 9>held; setsid -f sleep 300; echo ready; "
        "while :; do kill -KILL $PPID $(cut -d' ' -f4 /proc/$PPID/stat) 2>/dev/null; sleep 0.05; done"
    ),
    "empties its environment": f"exec 9>held; ({_NO_ENVIRONMENT}); echo ready; {_NO_ENVIRONMENT}",
    "forks and exits without pause": (
        f"setsid {shlex.quote(os.path.realpath(sys.executable))} -I -S -c {shlex.quote(_ENDLESS)} & sleep 300"
    ),
    "starts two where one was, up to a limit": (
        'b() { [ -e ended ] || [ "$1" -gt 4 ] || { b $(($1 + 1)) & b $(($1 + 1)) & sleep 300; }; }; '
        "b 0 & echo ready; wait"
    ),
}
"""Commands that outlive the death of all that runs them where there is no pid namespace."""


def outer(agent: int) -> list[int]:
    """Return the outer process of each wall: the supervisor's children."""
    return children(supervisor(agent))


def kill_every(find: Callable[[int], list[int]]) -> Callable[[int], None]:
    def strike(agent: int) -> None:
        for pid in find(agent):
            with contextlib.suppress(ProcessLookupError):
                kill(pid)

    return strike


def kill_all_three(agent: int) -> None:
    """Kill agent, watchdog and supervisor so that none can act on another's death.

    All are frozen first, and the lowest dies first: the death of one would wake the next below it.
    """
    every = (agent, watchdog(agent), supervisor(agent))
    for pid in every:
        os.kill(pid, signal.SIGSTOP)
    for pid in reversed(every):
        os.kill(pid, signal.SIGKILL)


ALL_THREE = Injector("agent, watchdog and supervisor killed", kill_all_three, agent_lives=False)
WALLED: list[tuple[WallKind, Injector]] = [
    *(
        ("bwrap", each)
        for each in (*INJECTORS, Injector("outer process of the wall killed", kill_every(outer)), ALL_THREE)
    ),
    *(("landlock", each) for each in INJECTORS),
]


def remains(root: Path, lines: Mapping[str, str], injector: Injector, kind: str) -> tuple[list[str], float]:
    """Return what was left of which command or waited for in vain, and in how many seconds the rest was gone."""
    limit = CROWD * slowness()
    with running(root, list(lines), kind, lines) as (agent, folders):
        began = time.monotonic()
        injector.strike(agent)
        while (found := left(folders)) and time.monotonic() < began + limit:
            time.sleep(0.01)
        seconds = time.monotonic() - began
        wrong = [f"{name}: {list(found.values()).count(name)} left alive" for name in dict.fromkeys(found.values())]
        if injector.agent_lives:
            with contextlib.suppress(AssertionError):
                eventually(lambda: all(done(folder) for folder in folders.values()), limit)
            wrong += [f"{name}: still waited for" for name, folder in folders.items() if not done(folder)]
    return [f"{injector.name}: {each}" for each in wrong], seconds


@pytest.mark.parametrize(
    ("kind", "injector"), sampled(WALLED, 4), ids=lambda each: each.name if isinstance(each, Injector) else each
)
def test_nothing_is_left_of_nasty_commands_behind_a_wall(tmp_path: Path, kind: WallKind, injector: Injector) -> None:
    need(kind)
    lines = {**NASTY, **HARDER} if kind == "bwrap" else NASTY
    wrong, slowest = remains(tmp_path, lines, injector, kind)
    record(
        f"children behind {kind}", injector.name, points=len(lines), of=len(lines), violations=wrong, slowest=slowest
    )
    assert wrong == []


@pytest.mark.parametrize("name", HARDER)
def test_the_pid_namespace_ends_what_no_supervisor_finds(tmp_path: Path, name: str) -> None:
    need("bwrap")
    wrong, _ = remains(tmp_path, {name: HARDER[name]}, ALL_THREE, "bwrap")
    assert wrong == []


LATE = f"""#!{sys.executable} -IS
import ctypes, os, sys, time
words = sys.argv[1:]
if any("{{mark}}" in each for each in words):
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
    words.remove("--die-with-parent")
    open("{{folder}}/late", "w").close()
    while not os.path.exists("{{folder}}/struck"):
        time.sleep(0.01)
os.execv("{{real}}", ["bwrap", *words])
"""
"""A bubblewrap that gets to its death signal only after the strike, and so never has one."""


def test_a_kill_of_all_three_before_the_wall_has_a_death_signal_leaves_nothing(tmp_path: Path) -> None:
    need("bwrap")
    mark, real = f"mark-{uuid.uuid4().hex}", shutil.which("bwrap")
    programs, folder = tmp_path / "programs", tmp_path / "folder"
    programs.mkdir()
    folder.mkdir()
    (programs / "bwrap").write_text(LATE.format(mark=mark, folder=folder, real=real))
    (programs / "bwrap").chmod(0o755)
    key = f"0-{uuid.uuid4().hex}"
    (folder / "commands.json").write_text(json.dumps({key: f"touch ran; exec 9>held; sleep 300 # {mark}"}))
    argv = [sys.executable, str(PROGRAM), "bwrap", str(folder)]
    environ = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL, start_new_session=True, env=environ) as agent:
        try:
            eventually((folder / "late").exists)
            kill_all_three(agent.pid)
            assert left({"it": folder / key}), "the wall is still to come"
            (folder / "struck").touch()
            eventually(lambda: not left({"it": folder / key}), CROWD * slowness())
            assert not (folder / key / "ran").exists()
        finally:
            (folder / "struck").touch()
            agent.kill()
            for pid in left({"it": folder / key}):
                os.kill(pid, signal.SIGKILL)


def test_without_a_wall_the_same_commands_outlive_all_three(tmp_path: Path) -> None:
    name = "empties its environment"
    wrong, _ = remains(tmp_path, {name: HARDER[name]}, ALL_THREE, "kept")
    assert wrong != []
