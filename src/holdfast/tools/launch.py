"""Starting the keeper: its guard and itself in one program, in a PID namespace if that is wanted and can be had."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tools.environment import child_environment
from holdfast.tools.processes import LINUX

PROGRAM = "import sys; sys.path.append(sys.argv.pop(1)); from holdfast.tools.keeper import main; main()"
PACKAGES = Path(__file__).parents[2]
"""Where the keeper's bare Python finds this package, after everything of its own."""

CONTAINED = ("bwrap", "--dev-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "--die-with-parent", "--")
"""What runs the keeper in a PID namespace, which takes all that is in it along when it ends (decision 0010)."""

LOCK = "keeper.lock"
LOG = "keeper.log"

START = 10.0  # seconds the keeper may take to be ready
ALONE = 2.5  # seconds it may take to end everything once its guard is killed
THAW = 0.02  # seconds between two looks at a keeper that somebody may freeze


@dataclass(frozen=True, slots=True)
class Launched:
    """A keeper that is ready: the process that was started, which is its guard, and where it `answers`.

    `within` is whether both are in a namespace, `keeper` else a descriptor of the keeper itself, where there is one.
    """

    process: asyncio.subprocess.Process
    answers: asyncio.StreamReader
    within: bool
    keeper: int | None

    async def gone(self) -> None:
        """Return once guard and keeper are gone; a keeper whose guard was killed is not left frozen, nor for long."""
        ended = select.poll()
        try:
            await self.process.wait()
            if self.keeper is None:
                return
            ended.register(self.keeper, select.POLLIN)
            until = time.monotonic() + ALONE
            while not ended.poll(0):
                number = signal.SIGCONT if time.monotonic() < until else signal.SIGKILL
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self.keeper, number)
                await asyncio.sleep(THAW)
        finally:
            if self.keeper is not None:
                os.close(self.keeper)


class _Ready(msgspec.Struct):
    pid: int


async def launched(folder: Path, *, contained: bool) -> Launched:
    """Return the keeper of the session in `folder`; with `contained` in a namespace, where bubblewrap can make one.

    Raises `ToolFailed` if it does not become ready.
    """
    for within in (CONTAINED, ()) if contained and shutil.which(CONTAINED[0]) else ((),):
        process = await _spawned(folder, within)
        answers = process.stdout
        assert answers is not None
        with contextlib.suppress(TimeoutError):
            if ready := await asyncio.wait_for(answers.readline(), START):
                pid = msgspec.json.decode(ready, type=_Ready).pid
                return Launched(process, answers, bool(within), None if within else _descriptor(pid))
        if process.returncode is None:
            process.kill()
        await process.wait()
    raise ToolFailed(f"The process that runs commands did not start. Nothing was run; {folder / LOG} may say why.")


def _descriptor(pid: int) -> int | None:
    """Return what stands for a process of ours, None if it is gone already or there is no such thing."""
    if LINUX:
        with contextlib.suppress(OSError):
            return os.pidfd_open(pid)
    return None


async def _spawned(folder: Path, within: tuple[str, ...]) -> asyncio.subprocess.Process:
    program = (sys.executable, "-I", "-S", "-X", "utf8", "-c", PROGRAM, str(PACKAGES), str(folder / LOCK))
    try:
        log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
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
            )
        finally:
            os.close(log)
    except OSError as error:
        raise ToolFailed(f"The process that runs commands could not start: {error}. Nothing was run.") from error
