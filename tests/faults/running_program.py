"""A program that runs the commands of a file, all at once, with the supervisor, behind a wall, or in the naive way.

    python running_program.py KIND FOLDER

KIND is `kept`, `naive`, or a wall: `bwrap` (at level `workspace`) or `landlock` (at level `read`), as a session has it.

SIGUSR1 stops them as the user does; SIGUSR2 cancels the tasks that wait for them. What `FOLDER/commands.json` has under
a key runs in `FOLDER/KEY`, prints to `FOLDER/KEY.out`, and has left `FOLDER/KEY.done` when its runner returned.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.system.confinement.probe import choose_wall, probe_walls
from holdfast.tools.process.supervisor_client import Supervisor
from holdfast.tools.sandbox import ConfinedStart, Sandbox

if TYPE_CHECKING:
    from holdfast.system.confinement.entry import LaunchFields


async def supervised(
    supervisor: Supervisor, command: str, *, cwd: Path, stop: asyncio.Event, wall: LaunchFields | None = None
) -> None:
    """Run a command as holdfast does."""
    await supervisor.run(
        command,
        call=cwd.name,
        cwd=cwd,
        timeout=600.0,
        stop=stop,
        emit=lambda _: None,
        spool=cwd.with_name(f"{cwd.name}.out"),
        wall=wall,
    )


def walled(kind: str, cwd: Path) -> LaunchFields:
    """Return how a command that the user allowed starts behind that wall; the session's folder is beside its own."""
    sandbox = Sandbox(cwd, cwd.with_name(f"{cwd.name}.session"), mode="auto")
    sandbox.wall = choose_wall("auto", tuple(each for each in probe_walls(os.environ) if each.kind == kind))
    level = "workspace" if "workspace" in sandbox.levels else "read"
    start = ConfinedStart(level=level, cwd=cwd, files=(), may_read=lambda _: "all", by_user=True)
    return sandbox.launch_fields(start, call=cwd.name)


async def naive(command: str, *, cwd: Path, stop: asyncio.Event) -> None:
    """Run a command with `asyncio`'s subprocess; kill it when it is stopped, and read what it had to say."""
    process = await asyncio.create_subprocess_exec(
        "/bin/bash",
        "-c",
        command,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )

    async def read() -> None:
        assert process.stdout is not None
        with cwd.with_name(f"{cwd.name}.out").open("wb") as file:
            while data := await process.stdout.read(65_536):
                if file.tell() < 1_000_000:
                    file.write(data)
                    file.flush()

    async def stopped() -> None:
        await stop.wait()
        with contextlib.suppress(ProcessLookupError):
            process.kill()

    killer = asyncio.create_task(stopped())
    try:
        await read()
        await process.wait()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        raise
    finally:
        killer.cancel()


async def main(kind: str, folder: Path) -> None:
    """Run everything until killed."""
    commands: dict[str, str] = json.loads((folder / "commands.json").read_text())
    supervisor = Supervisor(folder)
    stop = asyncio.Event()

    async def run(name: str, command: str) -> None:
        (folder / name).mkdir()
        try:
            if kind == "naive":
                await naive(command, cwd=folder / name, stop=stop)
            else:
                wall = None if kind == "kept" else await asyncio.to_thread(walled, kind, folder / name)
                await supervised(supervisor, command, cwd=folder / name, stop=stop, wall=wall)
        finally:
            (folder / f"{name}.done").touch()

    running = [asyncio.create_task(run(name, command)) for name, command in commands.items()]

    def leave() -> None:
        for task in running:
            task.cancel()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, stop.set)
    loop.add_signal_handler(signal.SIGUSR2, leave)
    await asyncio.sleep(120)


asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
