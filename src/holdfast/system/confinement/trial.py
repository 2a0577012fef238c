"""Runs one command in a wall and waits for it, in a separate process: for the probe, `doctor`, tests and benchmarks.

A wall begins with a fork, which only a process with one thread may do. The agent has several, so a bare Python forks.
Sessions do not use this: their commands run under the supervisor, which has one thread.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holdfast.system.confinement.entry import Wall, enter_wall, let_begin, prepare_wall
from holdfast.system.confinement.launch import Launch, launch_fields
from holdfast.system.confinement.network.proxy_process import start_proxy, stop_proxy

if TYPE_CHECKING:
    from holdfast.system.confinement.entry import LaunchFields

OUTPUT_MOST = 1_000_000
LARGEST_RESULT = 8 * 1024 * 1024
"""Bytes of a result: as JSON, its output may take six times as many."""

_CHUNK = 65_536
_PACKAGES = str(Path(__file__).parents[3])
_PROGRAM = "import sys; sys.path.append(sys.argv.pop(1)); from holdfast.system.confinement.trial import main; main()"
_FAILED = 126
_LONGER = 10.0  # seconds that the process may take beside the command


class TrialResult(NamedTuple):
    """How it ended: the exit code (negative: a signal), stdout and stderr together, and whether the command ran.

    `timed_out` says that it was killed for taking too long. `seconds` is what it took and `cpu` what of that it used.
    """

    code: int
    output: str
    did_start: bool
    timed_out: bool
    seconds: float
    cpu: float
    refused: list[dict[str, object]]
    """What the proxy refused."""


def run_trial(
    launch: Launch, words: Sequence[str], *, seconds: float = 60.0, within: tuple[str, ...] = ()
) -> TrialResult:
    """Return how a command ended in its wall; it is killed after so many seconds. Raises `OSError`.

    The wall is made below the words `within`, if there are any: in the namespace in which commands will run.
    """
    request = {"fields": launch_fields(launch), "words": list(words), "seconds": seconds}
    program = (*within, sys.executable, "-I", "-S", "-X", "utf8", "-c", _PROGRAM, _PACKAGES)
    try:
        done = subprocess.run(  # noqa: S603 - this package's own program
            program,
            cwd="/",
            input=json.dumps(request).encode(),
            capture_output=True,
            check=False,
            timeout=seconds + _LONGER,
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"the process that builds the wall did not end within {error.timeout:g} s") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise OSError(lines[-1] if lines else f"the process that builds the wall ended with code {done.returncode}")
    return trial_result(done.stdout)


def trial_result(raw: bytes) -> TrialResult:
    """Return what the process that builds the wall told; raises `OSError` if that is no result."""
    if len(raw) > LARGEST_RESULT:
        raise OSError(f"the process that builds the wall told more than {LARGEST_RESULT:,} bytes")
    try:
        result: object = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise OSError(f"the process that builds the wall told nothing of use ({error})") from error
    match result:
        case {
            "code": int(code),
            "output": str(output),
            "did_start": bool(did_start),
            "timed_out": bool(timed_out),
            "seconds": float(seconds),
            "cpu": float(cpu),
        }:
            return TrialResult(code, output, did_start, timed_out, seconds, cpu, [])
        case _:
            raise OSError("the process that builds the wall told no result")


def main() -> None:
    """Run what stdin describes, and write the result to stdout."""
    request = json.load(sys.stdin)
    try:
        result = run_forked(request["fields"], request["words"], seconds=float(request["seconds"]))
    except OSError as error:
        sys.exit(str(error))
    json.dump(result._asdict(), sys.stdout)


def run_forked(
    fields: LaunchFields,
    words: Sequence[str],
    *,
    seconds: float,
    hosts: Sequence[str] = (),
    networks: Sequence[str] = (),
) -> TrialResult:
    """Do what `run_trial` does in this process, which must have one thread; raises `OSError`.

    At level `network` a proxy lets the command reach `hosts`, also those in `networks` that are not public.
    """
    wall = prepare_wall(fields)
    try:
        proxy = start_proxy(wall, hosts=hosts, networks=networks) if fields["is_proxied"] else None
        result = _run_in(wall, words, seconds)
        return result._replace(refused=stop_proxy(proxy)) if proxy else result
    finally:
        wall.close()


def _run_in(wall: Wall, words: Sequence[str], most: float) -> TrialResult:
    reading, writing = os.pipe()
    begun = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _exec_command(wall, words, writing)
    os.close(writing)
    wall.close_inside()
    output, timed_out = _output(wall, reading, pid, begun + most)
    os.close(reading)
    _, ended, usage = os.wait4(pid, 0)
    seconds = time.monotonic() - begun
    return TrialResult(
        code=os.waitstatus_to_exitcode(ended),
        output=output.decode("utf-8", "replace"),
        did_start=wall.has_begun,
        timed_out=timed_out,
        seconds=seconds,
        cpu=usage.ru_utime + usage.ru_stime,
        refused=[],
    )


def _exec_command(wall: Wall, words: Sequence[str], output: int) -> None:
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        for number, descriptor in ((0, null), (1, output), (2, output)):
            os.dup2(descriptor, number)
        enter_wall(wall, words)
    except OSError as error:
        os.write(2, f"{error}\n".encode())
    finally:
        os._exit(_FAILED)


def _output(wall: Wall, reading: int, pid: int, deadline: float) -> tuple[bytes, bool]:
    """Return what the command wrote until all that hold its output have ended; kill it at the deadline."""
    output = bytearray()
    watched = [reading] if wall.ready < 0 else [reading, wall.ready]
    while (left := deadline - time.monotonic()) > 0:
        readable = select.select(watched, [], [], left)[0]
        if wall.ready in readable and let_begin(wall):
            watched.remove(wall.ready)
        if reading in readable:
            if not (data := os.read(reading, _CHUNK)):
                return bytes(output), False
            output += data[: OUTPUT_MOST - len(output)]
    os.killpg(pid, signal.SIGKILL)
    return bytes(output), True
