"""Starting the keeper: its guard and itself in one program, in a PID namespace if that is wanted and can be had."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
from pathlib import Path

from holdfast.errors import ToolFailed
from holdfast.tools.environment import child_environment

PROGRAM = "import sys; sys.path.append(sys.argv.pop(1)); from holdfast.tools.keeper import main; main()"
PACKAGES = Path(__file__).parents[2]
"""Where the keeper's bare Python finds this package, after everything of its own."""

CONTAINED = ("bwrap", "--dev-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "--die-with-parent", "--")
"""What runs the keeper in a PID namespace, which takes all that is in it along when it ends (decision 0010)."""

LOCK = "keeper.lock"
LOG = "keeper.log"

START = 10.0  # seconds the keeper may take to be ready


async def launched(folder: Path, *, contained: bool) -> tuple[asyncio.subprocess.Process, asyncio.StreamReader, bool]:
    """Return the keeper of the session in `folder`, ready, where it answers, and whether it is in a namespace.

    With `contained` it is, where bubblewrap can make one. Raises `ToolFailed` if it does not become ready.
    """
    for within in (CONTAINED, ()) if contained and shutil.which(CONTAINED[0]) else ((),):
        process = await _spawned(folder, within)
        answers = process.stdout
        assert answers is not None
        with contextlib.suppress(TimeoutError):
            if await asyncio.wait_for(answers.readline(), START):  # it is ready
                return process, answers, bool(within)
        if process.returncode is None:
            process.kill()
        await process.wait()
    raise ToolFailed(f"The process that runs commands did not start. Nothing was run; {folder / LOG} may say why.")


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
