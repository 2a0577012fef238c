"""Starts holdfast as processes of their own, at a fraction of what a start costs: forked from a process that is warm.

What is forked has its own arguments, folder, environment, files and terminal, so its signals, locks and crashes are
real. Shared are the imports (`warm.py`). Tests about starting and leaving start a Python of their own.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Protocol

from polling import HANGS, eventually

PRODUCT = "import sys; from holdfast.ui.main import main; sys.exit(main())"
"""What `python -m holdfast` does."""

COLD = bool(os.environ.get("HOLDFAST_E2E_COLD"))
"""Start every agent with its own Python (slow), which shows what the shared imports of `warm` could hide."""


class Process(Protocol):
    """What a started process is."""

    @property
    def pid(self) -> int:
        """Return the process id."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, negative for a signal."""
        ...


class Launcher:
    """Starts agents: forked from a warm process, or each with its own Python."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.owner = os.getpid()
        self._socket = str(folder / "warm")
        program = Path(__file__).with_name("warm.py")
        self._warm = subprocess.Popen([sys.executable, str(program), self._socket], stdin=subprocess.PIPE, cwd="/")

    def start(
        self,
        program: str,
        arguments: tuple[str, ...],
        *,
        cwd: Path,
        environ: Mapping[str, str],
        files: tuple[int, int, int],
        cold: bool = False,
        terminal: bool = False,
    ) -> Process:
        """Return a process that runs the Python text `program`; with `terminal`, `files` are its own terminal."""
        if (cold or COLD) and not terminal:
            what = ["-m", "holdfast"] if program == PRODUCT else ["-c", program]
            stdin, stdout, stderr = files
            command = [sys.executable, *what, *arguments]
            return subprocess.Popen(
                command, cwd=cwd, env=dict(environ), stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
            )
        connection = socket.socket(socket.AF_UNIX)
        eventually(lambda: connection.connect_ex(self._socket) == 0 or self._ended())
        assert not self._ended(), "The warm process ended: tests/warm.py has said why."
        socket.send_fds(connection, [b"\0"], files)
        request = {
            "program": program,
            "arguments": arguments,
            "cwd": str(cwd),
            "environ": dict(environ),
            "terminal": terminal,
        }
        connection.sendall(json.dumps(request).encode() + b"\n")
        return _Forked(connection)

    def run(
        self, arguments: tuple[str, ...], *, cwd: Path, environ: Mapping[str, str], given: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        """Run holdfast to its end, with `given` on standard input."""
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            stdin.write(given)
            stdin.seek(0)
            files = (stdin.fileno(), out.fileno(), err.fileno())
            code = self.start(PRODUCT, arguments, cwd=cwd, environ=environ, files=files).wait(HANGS)
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read(), err.read())

    def _ended(self) -> bool:
        """Return whether the process that began the warm one knows that it has ended."""
        return os.getpid() == self.owner and self._warm.poll() is not None

    def close(self) -> None:
        """End the warm process."""
        self._warm.communicate(timeout=HANGS)
        shutil.rmtree(self._folder)


@cache
def launcher() -> Launcher:
    """Return the launcher of this process of the tests, and of those that are forked from it later."""
    return Launcher(Path(tempfile.mkdtemp(prefix="holdfast-tests-")))


def close_launcher() -> None:
    """End the warm process, if this process has begun one."""
    if launcher.cache_info().currsize and launcher().owner == os.getpid():
        launcher().close()
        launcher.cache_clear()


class _Forked:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._code: int | None = None
        self.pid = self._number(HANGS)

    def wait(self, timeout: float | None = None) -> int:
        if self._code is None:
            self._code = self._number(timeout)
            self._connection.close()
        return self._code

    def _number(self, timeout: float | None) -> int:
        if not select.select([self._connection], [], [], timeout)[0]:
            raise TimeoutError
        line = b""
        while not line.endswith(b"\n"):
            line += self._connection.recv(1)
        return int(line)
