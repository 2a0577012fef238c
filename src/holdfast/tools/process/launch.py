"""Starts the supervisor with its watchdog as one program, in a PID namespace if requested and available."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Annotated

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.confinement.bubblewrap import BUBBLEWRAP, pid_namespace_words
from holdfast.system.trusted_programs import trusted_program
from holdfast.tools.process.environment import child_environment
from holdfast.tools.process.process_table import LINUX, below, by_parent, living
from holdfast.typed_data import decode_json

PROGRAM = "import sys; sys.path.append(sys.argv.pop(1)); from holdfast.tools.process.supervisor import main; main()"
PACKAGES = Path(__file__).parents[3]
"""Where the supervisor's bare Python finds this package, after its own modules."""

CONTAINERS = ("podman", "docker")
"""Names of programs that run the supervisor in a container, with the container's Python."""

SUPERVISOR = "supervisor"
"""The name of a session's first supervisor; further ones are `supervisor-NAME`."""
OLDER_SUPERVISOR = "keeper"
"""What it was called in session folders of before, whose supervisors may still run."""
SUPERVISOR_LOCK = f"{SUPERVISOR}.lock"

LONGEST_ANSWER_LINE = 1 << 20
"""Bytes of a line of the supervisor. The end of a command names up to 100 hosts, and files that were moved."""

START = 10.0  # seconds for the supervisor to become ready
_ALONE = 2.5  # seconds for it or its watchdog to end everything once the other has exited
THAW = 0.02  # seconds between attempts to wake a frozen one


class Launched(msgspec.Struct, frozen=True):
    """A supervisor that is ready: the started process, which is its watchdog, and the pipe with its `answers`.

    `within` is whether both are in a namespace. `pair` are pidfds of watchdog and supervisor, if available: also of
    those in a namespace, whose program is then the process.
    """

    process: asyncio.subprocess.Process
    answers: asyncio.StreamReader
    within: bool
    pair: tuple[int, ...]

    async def both_ended(self) -> None:
        """Return once watchdog and supervisor have exited. When one ends, the other is woken and ended soon."""
        try:
            # Before Python 3.12.4 the process's own `wait` also waits for its pipes, which a frozen supervisor holds
            # (github.com/python/cpython/issues/119710).
            left = await _wait_for_one(self.pair, None if len(self.pair) > 1 else 0)
            until = time.monotonic() + _ALONE
            while left:
                number = signal.SIGCONT if time.monotonic() < until else signal.SIGKILL
                for descriptor in left:
                    with contextlib.suppress(ProcessLookupError):
                        signal.pidfd_send_signal(descriptor, number)
                left = await _wait_for_one(left, THAW)
            await self.process.wait()
        finally:
            for descriptor in self.pair:
                os.close(descriptor)


async def _wait_for_one(processes: tuple[int, ...], seconds: float | None) -> tuple[int, ...]:
    """Wait until one of these processes has ended or the time is up; return those that live."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for descriptor in processes:
        loop.add_reader(descriptor, ended.set)
    try:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), seconds)
    finally:
        for descriptor in processes:
            loop.remove_reader(descriptor)
    return tuple(descriptor for descriptor in processes if not _is_over(descriptor))


def _is_over(descriptor: int) -> bool:
    ended = select.poll()
    ended.register(descriptor, select.POLLIN)
    return bool(ended.poll(0))


class _Ready(msgspec.Struct):
    pid: Annotated[int, msgspec.Meta(gt=0, lt=1 << 31)]


async def launch_supervisor(
    folder: Path,
    *,
    contained: bool,
    name: str = SUPERVISOR,
    wrap: tuple[str, ...] = (),
    workspace: tuple[Path, ...] = (),
) -> Launched:
    """Start the supervisor `name` of the session in `folder`, with `contained` in a namespace if bubblewrap can.

    When a PID namespace ends, all processes in it end (decision 0010).
    Its lock and its log have its name. `wrap` are words before the program: a sandbox, or a container with its own
    `python3`. No program of the `workspace` is used. Raises `ToolFailed` if it does not become ready.
    """
    bubblewrap = trusted_program(BUBBLEWRAP, *workspace) if contained else ""
    choices = (pid_namespace_words(bubblewrap), ()) if bubblewrap else ((),)
    for within in (wrap,) if wrap else choices:
        process = await _spawn(folder / name, within)
        answers = process.stdout
        assert answers is not None
        if (pid := await ready_pid(answers)) is not None:
            pids = _pair_within(process.pid, pid) if within else (process.pid, pid)
            return Launched(process, answers, bool(within), _descriptors(pids))
        if process.returncode is None:
            process.kill()
        await process.wait()
    raise ToolFailed(f"The process that runs commands did not start. Nothing was run; {folder / name}.log may say why.")


async def ready_pid(answers: asyncio.StreamReader) -> int | None:
    """Return the pid in the first line of a supervisor, None if it is late, or if that is no line of a supervisor."""
    with contextlib.suppress(TimeoutError, ValueError):
        if line := await asyncio.wait_for(answers.readline(), START):
            return decode_json(line, _Ready).pid
    return None


def _pair_within(program: int, supervisor: int) -> tuple[int, ...]:
    """Return watchdog and supervisor as this process sees them, when `supervisor` is the pid in a namespace.

    Otherwise a command in there could freeze the one and kill the other, and nothing would wake the one that is left.
    A container's processes are not below its program: then there is no pair, and the time limit of a call must do.
    """
    for each in below(program, by_parent(living())) if LINUX else ():
        with contextlib.suppress(OSError):  # it has exited
            status = Path(f"/proc/{each.pid}/status").read_bytes()
            pids = [line.split()[-1] for line in status.splitlines() if line.startswith(b"NSpid:")]
            if pids and int(pids[0]) == supervisor:
                return each.parent, each.pid
    return ()


def _descriptors(pids: tuple[int, ...]) -> tuple[int, ...]:
    """Return pidfds of child processes, except of those that have exited, or where pidfds do not exist."""
    found: list[int] = []
    for pid in pids if LINUX else ():
        with contextlib.suppress(OSError):
            found.append(os.pidfd_open(pid))
    return tuple(found)


async def _spawn(files: Path, within: tuple[str, ...]) -> asyncio.subprocess.Process:
    python = "python3" if within and Path(within[0]).name in CONTAINERS else sys.executable
    program = (python, "-I", "-S", "-X", "utf8", "-c", PROGRAM, str(PACKAGES), f"{files}.lock")
    try:
        log = os.open(f"{files}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            return await asyncio.create_subprocess_exec(
                *within,
                *program,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                cwd="/",
                env=child_environment(os.environ),
                start_new_session=True,
                limit=LONGEST_ANSWER_LINE,
            )
        finally:
            os.close(log)
    except OSError as error:
        raise ToolFailed(f"The process that runs commands could not start: {error}. Nothing was run.") from error
