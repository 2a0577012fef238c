"""The process that runs one turn of a delegated session: `holdfast -p`, separate from the server.

It is in no process group of the server and has none of its pipes, so the end of the server, of its client or of their
terminal does not reach it. Its tools have their own supervisor, so they end with it however it ends (P5). It is
recognized by its command line, because another server must be able to stop it.
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
"""The interpreter option that marks such a process."""

_HOLDER = re.compile(r"pid (\d+) on ")
_LONGEST_REASON = 4_000
_ENDS_WITHIN = 5.0


class SessionWorker:
    """A worker that this process has started."""

    def __init__(self, process: subprocess.Popen[bytes], stderr: int) -> None:
        self._process = process
        self._stderr = stderr

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def reason(self) -> str:
        """Return the end of its standard error, the reason if it could not start."""
        size = os.fstat(self._stderr).st_size
        text = os.pread(self._stderr, _LONGEST_REASON, max(0, size - _LONGEST_REASON)).decode("utf-8", "replace")
        return printable(text).strip().removeprefix("holdfast: ") or f"exit code {self._process.poll()}"

    def stop(self) -> bool:
        """Signal it to stop. Return False if it has ended."""
        if self.has_ended:
            return False
        self._process.send_signal(signal.SIGINT)
        return True

    def wait(self) -> None:
        """Wait until it has exited, a moment after it released its session."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_WITHIN)

    def forget(self) -> None:
        """Close the file of `reason`. A running worker continues."""
        if self._process.poll() is None:
            Thread(target=self._process.wait, name="worker's end", daemon=True).start()  # so that no zombie is left
        os.close(self._stderr)


def start_worker(options: Sequence[str], prompt: str, *, cwd: Path, environ: Mapping[str, str]) -> SessionWorker:
    """Start a worker with the options of a run. It reads the prompt from a file. Raise `StateError`."""
    words = [sys.executable, "-P", "-X", MARK, "-m", "holdfast", *options, "--output-format", "json", "-p"]
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
        stdin.write(prompt.encode())
        stdin.flush()
        stdin.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - our own program, its arguments a list
                words,
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                cwd=cwd,
                env=dict(environ),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise StateError(f"The work was not started: cannot start its process: {why}. Try again.") from error
        return SessionWorker(process, os.dup(stderr.fileno()))


def stop_worker(holder: str) -> bool:
    """Signal the worker that has a session open to stop. Return False if the `holder` of its lease is not a worker."""
    known = _HOLDER.match(holder)
    if known is None or not LINUX:
        return False
    try:
        process = os.pidfd_open(int(known[1]))
    except (OSError, OverflowError):
        return False
    try:
        # Checked after opening it, so that the signal cannot reach another process with the same ID.
        words = Path("/proc", known[1], "cmdline").read_bytes().split(b"\0")
        if MARK.encode() not in words:
            return False
        signal.pidfd_send_signal(process, signal.SIGINT)
    except OSError:
        return False
    finally:
        os.close(process)
    return True
