"""The process that runs one turn of a handed session: `holdfast -p`, apart from the server.

It is in no process group of the server and has none of its pipes, so the end of the server, of its client or of their
terminal does not reach it. Its tools have their own supervisor, so they end with it however it ends (P5). It is
known by its command line, because another server must be able to stop it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from holdfast.errors import StateError
from holdfast.text import printable
from holdfast.tools.process.process_table import LINUX

MARK = "holdfast_handed_work"
"""The interpreter option by which such a process is known."""

_HOLDER = re.compile(r"pid (\d+) on ")
_LONGEST_REASON = 4_000
_ENDS_WITHIN = 5.0


class SessionWorker:
    """A worker that this process has started."""

    def __init__(self, process: subprocess.Popen[bytes], said: int) -> None:
        self._process = process
        self._said = said

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def reason(self) -> str:
        """Return what it wrote on standard error, for a worker that could not begin."""
        size = os.fstat(self._said).st_size
        text = os.pread(self._said, _LONGEST_REASON, max(0, size - _LONGEST_REASON)).decode("utf-8", "replace")
        return printable(text).strip().removeprefix("holdfast: ") or f"exit code {self._process.poll()}"

    def stop(self) -> bool:
        """Ask it to stop; return False if it has ended."""
        if self.has_ended:
            return False
        self._process.send_signal(signal.SIGINT)
        return True

    def wait(self) -> None:
        """Wait until it has ended: once it has released its session, that takes a moment."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_WITHIN)

    def forget(self) -> None:
        """Close what is kept for `reason`. A worker that runs goes on."""
        if self._process.poll() is None:
            Thread(target=self._process.wait, name="worker's end", daemon=True).start()  # so that no zombie is left
        os.close(self._said)


def start_worker(options: Sequence[str], prompt: str, *, cwd: Path, environ: Mapping[str, str]) -> SessionWorker:
    """Start a worker with the options of a run. The prompt is whole before it starts. Raise `StateError`."""
    words = [sys.executable, "-P", "-X", MARK, "-m", "holdfast", *options, "--output-format", "json", "-p"]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(prompt.encode())
        given.flush()
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - our own program, its arguments a list
                words,
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=said,
                cwd=cwd,
                env=dict(environ),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise StateError(f"The work was not begun: its process could not be started: {why}. Try again.") from error
        return SessionWorker(process, os.dup(said.fileno()))


def stop_worker(holder: str) -> bool:
    """Ask the worker that holds a session to stop; return False if the `holder` of its lease is no worker."""
    known = _HOLDER.match(holder)
    if known is None or not LINUX:
        return False
    try:
        process = os.pidfd_open(int(known[1]))
    except (OSError, OverflowError):
        return False
    try:
        # Looked at after it is open, so that the signal cannot reach another process of the same number.
        words = Path("/proc", known[1], "cmdline").read_bytes().split(b"\0")
        if MARK.encode() not in words:
            return False
        signal.pidfd_send_signal(process, signal.SIGINT)
    except OSError:
        return False
    finally:
        os.close(process)
    return True
