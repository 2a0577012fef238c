"""The real processes of the demo: the agent, started and killed from outside, and the project's test."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from holdfast.calls import Outcome
from holdfast.tools.shell import wait_gone
from holdfast.ui.demo.project import TEST

LONGEST = 60.0
"""Seconds an agent may take before it is killed, so that the demo ends whatever happens."""

PATIENCE = 5.0
"""Seconds to wait for a process that should be gone."""


class Line(msgspec.Struct, frozen=True):
    """A line of `--output-format stream-json`, as far as the demo reads it; what a type lacks is empty."""

    type: str
    session_id: str = ""
    role: str = ""
    content: str = ""
    message: str = ""
    delta: bool = False
    id: str = ""
    name: str = ""
    arguments: str = ""
    outcome: Outcome | None = None


def run_agent(
    words: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    log: Path,
    hear: Callable[[Line, int], signal.Signals | None],
) -> int:
    """Run holdfast with `words` and return its exit code, negative if a signal ended it.

    `hear` is given each line with the agent's process id; the signal it returns is sent at once. Standard error goes to
    `log`. Whatever is raised here, the agent does not outlive it.
    """
    command = [sys.executable, "-m", "holdfast", *words, "--output-format", "stream-json"]
    with (
        log.open("wb") as errors,
        subprocess.Popen(  # noqa: S603 - our own program, its arguments a list
            command,
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,  # a Ctrl+C at the terminal is for the demo, which then ends the agent
        ) as process,
    ):
        overdue = threading.Timer(LONGEST, process.kill)
        overdue.daemon = True  # a Ctrl+C may come when it has begun and nobody knows it yet: nobody waits for it
        try:
            overdue.start()
            assert process.stdout is not None
            for line in process.stdout:
                if line.endswith(b"\n"):  # the last may be half a line, if the agent was killed
                    number = hear(msgspec.json.decode(line, type=Line), process.pid)
                    if number is not None:
                        process.send_signal(number)
            return process.wait()
        finally:
            overdue.cancel()
            process.kill()


def run_test(project: Path) -> tuple[bool, str]:
    """Run the project's test and return whether it passed, with the last line it printed."""
    done = subprocess.run(  # noqa: S603 - our own interpreter on our own files
        [sys.executable, "-B", *TEST], cwd=project, capture_output=True, text=True, timeout=LONGEST, check=False
    )
    return done.returncode == 0, (done.stderr.strip().splitlines() or [""])[-1]


def gone_after(pid: int) -> float | None:
    """Return the seconds until the process `pid` is gone, None if it is still there after `PATIENCE`."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < PATIENCE:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return waited
        time.sleep(0.005)
    return None


def tools_gone(session: Path) -> bool:
    """Return whether every process that ran commands for the session in that folder is gone, waiting `PATIENCE`."""
    return asyncio.run(wait_gone(session, PATIENCE))
