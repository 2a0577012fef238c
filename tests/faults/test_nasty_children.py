"""Nasty commands, stopped, stopped twice, with agent, supervisor or watchdog killed: nothing of them is left.

Two rules. What is left is looked for in /proc, by the folder that each command began in: the supervisor is not asked. A
runner that is known to be bad goes through the same, and must be found out.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from report import record

from holdfast.tools.process.command_end import stored_output
from polling import eventually, slowness
from process_leaks import linux_only
from stubborn_commands import NASTY
from tiers import DEEP, sampled

PROGRAM = Path(__file__).with_name("running_program.py")
LIMIT = 1.0
"""Seconds in which everything of a command must be gone."""
CROWD = 2.0
"""The same where all the commands run at once, and some of them take all there is of two processors."""

pytestmark = linux_only


def left(folders: Mapping[str, Path]) -> dict[int, str]:
    """Return the processes that began in one of the folders, by pid: the name of the folder's command."""
    found: dict[int, str] = {}
    marks = {str(folder).encode(): name for name, folder in folders.items()}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        descriptions = b"\n".join(_descriptions(process))
        found |= {int(process.name): name for mark, name in marks.items() if mark in descriptions}
    return found


def _descriptions(process: Path) -> Iterator[bytes]:
    """Yield what a process says of itself, through any of its threads that runs: the first may have ended."""
    with contextlib.suppress(OSError):
        for thread in (process / "task").iterdir():
            with contextlib.suppress(OSError):
                if (thread / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] in "ZX":
                    continue
                yield (thread / "cmdline").read_bytes()
                yield (thread / "environ").read_bytes()
                for link in (thread / "cwd", *(thread / "fd").iterdir()):
                    with contextlib.suppress(OSError):
                        yield os.fsencode(link.readlink())


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def watchdog(agent: int) -> int:
    (found,) = children(agent)
    return found


def supervisor(agent: int) -> int:
    (found,) = children(watchdog(agent))
    return found


def stop(agent: int) -> None:
    os.kill(agent, signal.SIGUSR1)


def stop_twice(agent: int) -> None:
    stop(agent)
    time.sleep(0.05)
    os.kill(agent, signal.SIGUSR2)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Injector:
    """A way to end what an agent runs; the agent outlives it or not."""

    name: str
    strike: Callable[[int], None]
    agent_lives: bool = True


ON_ANY_AGENT = (
    Injector("stop", stop),
    Injector("stop twice", stop_twice),
    Injector("agent killed", kill, agent_lives=False),
)
INJECTORS = (
    *ON_ANY_AGENT,
    Injector("supervisor killed", lambda agent: kill(supervisor(agent))),
    Injector("watchdog killed", lambda agent: kill(watchdog(agent))),
)


@contextmanager
def running(
    root: Path, names: Sequence[str], kind: str, lines: Mapping[str, str] = NASTY
) -> Generator[tuple[int, dict[str, Path]]]:
    """Run the commands, and wait until each has said that it is ready; give the agent, and the folder of each."""
    folder = root / uuid.uuid4().hex
    folder.mkdir()
    keys = {name: f"{number}-{uuid.uuid4().hex}" for number, name in enumerate(names)}
    folders = {name: folder / key for name, key in keys.items()}
    (folder / "commands.json").write_text(json.dumps({keys[name]: lines[name] for name in names}))
    argv = [sys.executable, str(PROGRAM), kind, str(folder)]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL, start_new_session=True) as agent:
        try:
            eventually(lambda: all("ready" in stored_output(folder / f"{key}.out") for key in keys.values()))
            yield agent.pid, folders
        finally:
            agent.kill()
            agent.wait()
            for at in folders.values():
                (at / "ended").touch()
            while remains := left(folders):
                for pid in remains:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)


def complaints(root: Path, names: Sequence[str], injector: Injector, kind: str) -> tuple[list[str], float]:
    """Return what was left of which command, or waited for in vain, and in how many seconds the rest was gone."""
    limit = (LIMIT if len(names) == 1 else CROWD) * slowness()
    with running(root, names, kind) as (agent, folders):
        assert {name for name in names if "leaves something" not in name} <= set(left(folders).values())
        began = time.monotonic()
        injector.strike(agent)
        while (remains := left(folders)) and time.monotonic() < began + limit:
            time.sleep(0.01)
        seconds = time.monotonic() - began
        found = [f"{name}: {list(remains.values()).count(name)} left alive" for name in dict.fromkeys(remains.values())]
        if injector.agent_lives:
            with contextlib.suppress(AssertionError):
                eventually(lambda: all(done(folder) for folder in folders.values()), limit)
            found += [f"{name}: still waited for" for name, folder in folders.items() if not done(folder)]
    return [f"{injector.name}: {complaint}" for complaint in found], seconds


def done(folder: Path) -> bool:
    return folder.with_name(f"{folder.name}.done").exists()


def tried(root: Path, injector: Injector, kind: str) -> list[str]:
    """Return what was left by any of the commands: all at once, and each on its own if there is time for that."""
    found, slowest = complaints(root, list(NASTY), injector, kind)
    alone = list(NASTY) if kind == "kept" else []
    for name in alone if DEEP else ():
        more, seconds = complaints(root, [name], injector, kind)
        found += more
        slowest = max(slowest, seconds)
    record(
        "children" if kind == "kept" else "children of a naive subprocess",
        injector.name,
        points=len(NASTY) + (len(alone) if DEEP else 0),
        of=len(NASTY) + len(alone),
        violations=found,
        slowest=slowest,
        known_bad=kind != "kept",
    )
    return found


@pytest.mark.parametrize("injector", INJECTORS, ids=lambda injector: injector.name)
def test_nothing_is_left_of_nasty_commands(tmp_path: Path, injector: Injector) -> None:
    assert tried(tmp_path, injector, "kept") == []


@pytest.mark.parametrize("injector", sampled(ON_ANY_AGENT, 1), ids=lambda injector: injector.name)
def test_a_naive_runner_is_found_out(tmp_path: Path, injector: Injector) -> None:
    found = tried(tmp_path, injector, "naive")
    for name in ("has a child in another session", "has a daemon without an environment", "has a daemon elsewhere"):
        assert any(f": {name}: " in complaint and "left alive" in complaint for complaint in found), name
    assert len(found) > 8
