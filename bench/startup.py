"""Start-up, measured on real processes: wall time from their spawning, CPU time, and the memory they needed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.script import Hold, WireName
from holdfast.testing.scripted_provider import ScriptedProvider
from pairs import AtMost, Comparison, paired

PYTHON = sys.executable
HOLDFAST = str(Path(PYTHON).with_name("holdfast"))
NOTHING = (PYTHON, "-c", "pass")

IMPORTS: dict[WireName, str] = {
    "openai-chat": "import pydantic_ai; from pydantic_ai.models.openai import OpenAIChatModel",
    "anthropic": "import pydantic_ai; from pydantic_ai.models.anthropic import AnthropicModel",
}
"""The least that anything on pydantic-ai must import before it can send a request to that provider."""

IMPORTS_IN = 0.05
"""Seconds that importing the library may take."""

FACTS_IN = 0.005
"""CPU seconds in which the facts about a model are read, of the provider with the most models."""

SKILLS_IN = 0.03
"""CPU seconds that 100 skills may cost the start of a session."""

MEMORY_IN = 45 * 1024 * 1024
"""Bytes in which a session gets as far as its first request."""

SOON = 60.0
"""Seconds after which a request that did not come is a broken benchmark, not a slow one."""


@dataclass(frozen=True, slots=True)
class Times:
    """What one process took: seconds, of which `cpu` is user and system time of all its threads, and bytes.

    `memory` is the most it had until its moment; None for a process that was left to its end.
    """

    wall: float
    cpu: float
    memory: int | None = None


def version(scratch: Path, *, rounds: int) -> list[Comparison]:
    """Compare `holdfast --version` with a Python that does nothing."""
    return _against_nothing("--version", (HOLDFAST, "--version"), scratch, rounds=rounds, aim=AtMost(ratio=2))


def library(scratch: Path, *, rounds: int) -> list[Comparison]:
    """Compare importing check and repair with importing msgspec, which they stand on."""
    environ = environ_of(scratch)
    ours, theirs = paired(
        lambda: _imported("from holdfast.history import check, repair", environ, scratch),
        lambda: _imported("import msgspec", environ, scratch),
        rounds=rounds,
    )
    what, seconds = "import holdfast.history", f"{IMPORTS_IN:g} s"
    return [
        Comparison(what=f"{what}, CPU", against="import msgspec", ours=ours, theirs=theirs, aim=AtMost(ratio=2.2)),
        Comparison(what=f"{what}, CPU", against=seconds, ours=ours, theirs=[IMPORTS_IN] * rounds, aim=AtMost(ratio=1)),
    ]


def model_facts(scratch: Path, *, rounds: int) -> list[Comparison]:
    """Compare reading the facts about a model that the table does not have, the longest search, with the aim."""
    before = "from holdfast.providers.model_table import facts_of"
    took = [_imported("facts_of('openrouter:m')", environ_of(scratch), scratch, before=before) for _ in range(rounds)]
    aims, seconds = [FACTS_IN] * rounds, f"{FACTS_IN:g} s"
    return [Comparison(what="facts of a model, CPU", against=seconds, ours=took, theirs=aims, aim=AtMost(ratio=1))]


def skills(scratch: Path, *, rounds: int) -> list[Comparison]:
    """Compare what 100 skills cost a session at its start, with the import of what reads them, with the aim."""
    for number in range(100):
        path = scratch / ".claude" / "skills" / f"skill-{number}" / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\nname: skill-{number}\ndescription: Does the {number}th thing.\n---\n{'Do it. ' * 500}\n")
    before = "import os, pathlib, holdfast.tools.toolbox, holdfast.session.journal.entries"
    line = (
        "from holdfast.skills.session_skills import SessionSkills; "
        "assert SessionSkills(pathlib.Path.cwd(), os.environ, '').catalogue()"
    )
    took = [_imported(line, environ_of(scratch), scratch, before=before) for _ in range(rounds)]
    aims, seconds = [SKILLS_IN] * rounds, f"{SKILLS_IN:g} s"
    return [Comparison(what="100 skills, CPU", against=seconds, ours=took, theirs=aims, aim=AtMost(ratio=1))]


def _imported(line: str, environ: Mapping[str, str], scratch: Path, *, before: str = "pass") -> float:
    """Return the CPU seconds that the line takes in a Python that has done nothing else but the one `before`."""
    timed = f"import time; {before}; begun = time.process_time(); {line}; print(time.process_time() - begun)"
    done = subprocess.run((PYTHON, "-c", timed), env=environ, cwd=scratch, capture_output=True, text=True, check=True)
    return float(done.stdout)


def listing(scratch: Path, *, sessions: int, rounds: int) -> list[Comparison]:
    """Compare listing so many sessions with a Python that does nothing."""
    catalog = Catalog(scratch / "sessions")
    for _ in range(sessions):
        session = catalog.new_id()
        opened = SessionOpened(
            session=session, cwd=str(scratch), model="openai-chat:m", system="", tools=(), version="0"
        )
        store = SqliteStore.create(catalog.folder(session))
        store.append([opened, PromptAccepted(turn=1, text="What does this project do?")], expected=0)
        store.close()
    command = (HOLDFAST, "sessions", "list")
    return _against_nothing(
        f"sessions list, {sessions} sessions", command, scratch, rounds=rounds, aim=AtMost(ratio=10)
    )


def first_request(scratch: Path, wire: WireName, *, rounds: int) -> list[Comparison]:
    """Compare the time from spawning `holdfast -p` to its first request with the import of a vendor's library.

    That is what a request waited for before holdfast had its own wires, which took 1.15 times as long.

    Each process is killed at the moment it is measured, so neither pays for its end. One clock measures both, that of
    this machine's event loops. The most memory that holdfast had by then is compared with the aim.
    """
    work = scratch / "work"
    work.mkdir()
    command = (HOLDFAST, "-p", "What does this project do?", "-m", f"{wire}:m", "--yolo")
    floor = (PYTHON, "-c", f"{IMPORTS[wire]}\nprint('imported', flush=True)\nimport signal; signal.pause()")
    with ScriptedProvider(after=(Hold("for ever"),)) as provider:
        environ = environ_of(scratch, provider.environ())

        def arrival(child: subprocess.Popen[bytes]) -> float:
            try:
                provider.wait_requests(len(provider.requests) + 1, timeout=SOON)
            except TimeoutError:
                child.kill()
                raise AssertionError(f"no request came: {_complaint(child)}") from None
            return provider.requests[-1].at

        ours, theirs = paired(
            lambda: until(arrival, command, environ=environ, cwd=work),
            lambda: until(first_line, floor, environ=environ, cwd=work),
            rounds=rounds,
        )
    what = f"first request, {wire}"
    memory = Comparison(
        what=f"{what}, memory",
        against="45 MB",
        ours=[float(times.memory or 0) for times in ours],
        theirs=[float(MEMORY_IN)] * rounds,
        aim=AtMost(ratio=1),
        unit="bytes",
    )
    times = _wall_and_cpu(what, f"import pydantic_ai and the {wire} SDK", ours, theirs, aim=AtMost(ratio=0.25))
    return [*times, memory]


def first_line(child: subprocess.Popen[bytes]) -> float:
    """Return when the child printed its first line."""
    assert child.stdout is not None
    assert child.stdout.readline(), f"the child ended without a word: {_complaint(child)}"
    return time.monotonic()


def until(
    moment: Callable[[subprocess.Popen[bytes]], float],
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: Path,
) -> Times:
    """Return what `command` took from its spawning until `moment`, at which it is killed."""
    begun = time.monotonic()
    with _spawned(command, environ=environ, cwd=cwd) as child:
        try:
            wall = moment(child) - begun
            memory = most_memory(child.pid)
        finally:
            child.kill()
            cpu = _reaped(child)
    return Times(wall, cpu, memory)


def most_memory(pid: int) -> int:
    """Return the most memory that a running process had, in bytes.

    `wait4` does not know it: its `ru_maxrss` begins with what the parent had.
    """
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def to_the_end(command: Sequence[str], *, environ: Mapping[str, str], cwd: Path) -> Times:
    """Return what `command` took from its spawning to its end."""
    begun = time.monotonic()
    with _spawned(command, environ=environ, cwd=cwd) as child:
        cpu = _reaped(child)
        wall = time.monotonic() - begun
        assert child.returncode == 0, f"{command} ended with exit code {child.returncode}: {_complaint(child)}"
    return Times(wall, cpu)


def _against_nothing(what: str, command: Sequence[str], scratch: Path, *, rounds: int, aim: AtMost) -> list[Comparison]:
    environ = environ_of(scratch)
    ours, theirs = paired(
        lambda: to_the_end(command, environ=environ, cwd=scratch),
        lambda: to_the_end(NOTHING, environ=environ, cwd=scratch),
        rounds=rounds,
    )
    return _wall_and_cpu(what, "python -c pass", ours, theirs, aim=aim)


def _wall_and_cpu(
    what: str, against: str, ours: Sequence[Times], theirs: Sequence[Times], *, aim: AtMost
) -> list[Comparison]:
    return [
        Comparison(
            what=f"{what}, wall",
            against=against,
            ours=[times.wall for times in ours],
            theirs=[times.wall for times in theirs],
            aim=aim,
        ),
        Comparison(
            what=f"{what}, CPU",
            against=against,
            ours=[times.cpu for times in ours],
            theirs=[times.cpu for times in theirs],
            aim=aim,
        ),
    ]


def environ_of(scratch: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of both sides: bytecode is cached, as it is wherever a package is installed."""
    environ = {**os.environ, "HOLDFAST_HOME": str(scratch), "PYDANTIC_AI_NO_BANNER": "1", **(more or {})}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    return environ


def _spawned(command: Sequence[str], *, environ: Mapping[str, str], cwd: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, cwd=cwd
    )


def _reaped(child: subprocess.Popen[bytes]) -> float:
    """Return the CPU seconds the child took; it has ended."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def _complaint(child: subprocess.Popen[bytes]) -> str:
    assert child.stderr is not None
    return child.stderr.read().decode(errors="replace")
