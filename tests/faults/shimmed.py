"""A program run with a fault at its k-th file operation: the shim, and a server that forks a child for each run.

Two rules. What a child says goes through a pipe at once, so that it outlives the child. The server has imported
everything: a run costs a fork.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from beginnings import BEGINNINGS, begin
from store_plans import SCENARIOS, perform

_HERE = Path(__file__).parent
_FAULTS = ("nothing", "before", "after", "torn", "once", "from", "short")
_HEAD = struct.Struct("<IIIIq")  # kind, lengths of path, other and data; offset
_LONGEST = 20  # seconds of a run: then it hangs
_ALLOCATES = "wcmrls"  # what asks for space; a delayed allocation fails in the sync


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at the operation number `at`, from 1: its name in `_FAULTS`, and for errors which, on what kinds."""

    how: str = "nothing"
    at: int = 0
    error: int = 0
    kinds: str = ""


def kill(how: str, at: int) -> Fault:
    return Fault(how, at)


def broken(at: int) -> Fault:
    """Return an I/O error, once."""
    return Fault("once", at, errno.EIO, "wsctruml")


def full(how: str, at: int) -> Fault:
    """Return a full disk, for one operation ("once") or for all that follow ("from")."""
    return Fault(how, at, errno.ENOSPC, _ALLOCATES)


def unsynced(how: str, at: int) -> Fault:
    """Return a sync that fails: once, or always."""
    return Fault(how, at, errno.EIO, "s")


@dataclass(frozen=True, slots=True)
class Operation:
    """One file operation, or a note ("n") of what the program said; a failed one is "x", its kind the offset."""

    kind: str
    path: str
    other: str
    offset: int
    data: bytes


def operations(log: Path) -> Iterator[Operation]:
    """Yield what the shim logged."""
    data, start = log.read_bytes(), 0
    while start < len(data):
        kind, *sizes, offset = _HEAD.unpack_from(data, start)
        start += _HEAD.size
        texts: list[bytes] = []
        for size in sizes:
            texts.append(data[start : start + size])
            start += size
        yield Operation(chr(kind), texts[0].decode(), texts[1].decode(), offset, texts[2])


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: 0, an exit status, or a negative signal; and every line it said."""

    status: int
    lines: tuple[str, ...]


def _compiler() -> str | None:
    return shutil.which("cc") or shutil.which(sysconfig.get_config_var("CC") or "cc")


def compiled(into: Path) -> Path:
    """Return the shim as a library."""
    library = into / "shim.so"
    command = [_compiler() or "cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, _HERE / "shim/shim.c"]
    subprocess.run(command, check=True)
    return library


class Forks:
    """A process with the shim that forks a child for each run."""

    def __init__(self, library: Path) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-c", "import shimmed; shimmed.serve()"],
            env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": str(_HERE)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._server.communicate()

    def run(self, scenario: str, root: Path, fault: Fault | None = None, *, log: Path | None = None) -> Ended:
        """Return how the scenario ended in the folder `root`, struck by the fault."""
        fault = fault or Fault()
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        words = [scenario, str(root), _FAULTS.index(fault.how), fault.at, fault.error, fault.kinds, str(log or "")]
        self._server.stdin.write(json.dumps(words) + "\n")
        self._server.stdin.flush()
        status, lines = json.loads(self._server.stdout.readline())
        return Ended(status, tuple(lines))


def serve() -> None:
    """Answer each line of the standard input, a run, with how it ended."""
    for line in sys.stdin:
        readable, writable = os.pipe()
        child = os.fork()
        if not child:
            _child(writable, json.loads(line))
        os.close(writable)
        with os.fdopen(readable) as pipe:
            lines = pipe.read().split("\n")[:-1]
        _, status = os.waitpid(child, 0)
        sys.stdout.write(json.dumps([os.waitstatus_to_exitcode(status), lines]) + "\n")
        sys.stdout.flush()


def _child(pipe: int, words: tuple[str, str, int, int, int, str, str]) -> None:
    name, root, how, at, error, kinds, log = words
    status = 1
    try:
        signal.alarm(_LONGEST)
        shim = ctypes.CDLL(None)
        shim.arm.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
        shim.note.argtypes = [ctypes.c_char_p]

        def report(*words: object) -> None:
            text = json.dumps(words)
            os.write(pipe, f"{text}\n".encode())
            shim.note(text.encode())

        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) if log else -1
        shim.arm(root.encode(), how, at, error, kinds.encode(), descriptor)
        if name in BEGINNINGS:
            begin(name, Path(root), report)
        else:
            perform(SCENARIOS[name], Path(root), report, shim.calm)
        status = 0
    finally:
        if status:
            os.write(pipe, (json.dumps(["wrong", traceback.format_exc()]) + "\n").encode())
        os._exit(status)
