"""The user's own command for the status line: it reads JSON, its first line is shown.

Interruption rules. The command only reads: its output is neither journalled nor part of any request. It runs on a
separate thread, one at a time, for at most `COMMAND_LIMIT` seconds; then its process group is killed. Leaving the
screen kills it, and `timeout`, which runs it, ends it even if holdfast was killed.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec
from rich.text import Text

from holdfast import __version__
from holdfast.system.threads import in_daemon
from holdfast.system.trusted_programs import trusted_program
from holdfast.text import literal
from holdfast.tools.process.environment import child_environment
from holdfast.ui.tui.widgets.status_line import Status

COMMAND_LIMIT = 2.0
"""Seconds that the command may take."""

COMMAND_PAUSE = 0.3
"""Seconds between two runs."""

_MOST = 8192
"""Bytes of its output that are read."""

_COLOUR = re.compile(r"(\x1b\[[0-9;:]*m)")


def status_document(status: Status) -> dict[str, object]:
    """Return the document that the command reads, with the names that Claude Code uses."""
    used = 100 * status.context / status.window if status.window else None
    cost = None if status.usage.cost is None else float(status.usage.cost)
    return {
        "hook_event_name": "Status",
        "session_id": status.session,
        "cwd": status.cwd,
        "workspace": {"current_dir": status.cwd, "project_dir": status.cwd},
        "model": {"id": status.model, "display_name": status.model.partition(":")[2] or status.model},
        "version": __version__,
        "cost": {"total_cost_usd": cost},
        "context_window": {
            "used_tokens": status.context,
            "context_window_size": status.window or None,
            "used_percentage": used,
        },
        "total_input_tokens": status.usage.input_tokens,
        "total_output_tokens": status.usage.output_tokens,
        "permission_mode": status.mode,
        "effort": status.effort,
        "git_branch": status.branch,
        "activity": status.doing,
    }


def status_output(output: bytes) -> Text:
    """Return the first line of an output, with its colours; any other control sequence is shown as text."""
    line = output.decode("utf-8", "replace").strip("\r\n").partition("\n")[0].rstrip("\r")
    parts = _COLOUR.split(line)
    safe = "".join(part if _COLOUR.fullmatch(part) else literal(part).replace("\t", " ") for part in parts)
    return Text.from_ansi(safe, no_wrap=True)


class StatusCommand:
    """Runs the command after a change, at most one at a time."""

    def __init__(
        self,
        command: str,
        *,
        environ: Mapping[str, str],
        show: Callable[[Text | None], None],
        notify: Callable[[str], None],
    ) -> None:
        """Create it; `show` gets each line, None when the command failed, `notify` the first failure as a message."""
        self._command = command
        self._environ = child_environment(environ)
        self._show = show
        self._notify = notify
        self._next: Status | None = None
        self._task: asyncio.Task[None] | None = None
        self._failure_shown = False
        self._lock = threading.Lock()
        self._running: subprocess.Popen[bytes] | None = None
        self._closed = False

    def update(self, status: Status) -> None:
        """Run the command with this status, after the current run; of several waiting ones, only the last runs."""
        self._next = status
        if not self._closed and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._run(), name="status line command")

    def close(self) -> None:
        """Kill the command; no other is started."""
        with self._lock:
            self._closed = True
            if self._running is not None:
                _kill(self._running)

    async def _run(self) -> None:
        while (status := self._next) is not None and not self._closed:
            self._next = None
            document = msgspec.json.encode(status_document(status))
            try:
                output = await in_daemon(lambda data=document, cwd=status.cwd: self._output(data, cwd))
            except OSError as error:
                if not self._closed:
                    self._fail(str(error))
            else:
                self._show(status_output(output))
            await asyncio.sleep(COMMAND_PAUSE)

    def _fail(self, why: str) -> None:
        self._show(None)
        if not self._failure_shown:
            self._failure_shown = True
            self._notify(f"Status line command failed: {literal(why)}. Fix `statusline` in config.toml.")

    def _output(self, document: bytes, cwd: str) -> bytes:
        """Return what the command prints. Raise `OSError` if it fails, `TimeoutError` if it takes too long."""
        guard = trusted_program("timeout", *filter(None, (cwd,)), environ=self._environ)
        words = [guard, "--signal=KILL", f"{COMMAND_LIMIT + 1:g}"] if guard else []
        with self._lock:
            if self._closed:
                raise OSError("the screen is closed")
            process = self._running = subprocess.Popen(  # noqa: S603 - the user's own command, from their own config
                [*words, "/bin/sh", "-c", self._command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=cwd or None,
                env=self._environ,
                start_new_session=True,
            )
        try:
            return _read(process, document)
        finally:
            with self._lock:
                _kill(process)
                self._running = None
            process.wait()


def _read(process: subprocess.Popen[bytes], document: bytes) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        with suppress(BrokenPipeError):  # it does not read
            process.stdin.write(document)  # smaller than a pipe: this does not wait
            process.stdin.close()
        until, found = time.monotonic() + COMMAND_LIMIT, b""
        while True:
            left = until - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                raise TimeoutError(f"it took longer than {COMMAND_LIMIT:g} s")
            data = os.read(process.stdout.fileno(), _MOST)
            if not data:
                break
            found = (found + data)[:_MOST]
        try:
            code = process.wait(max(0.05, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"it took longer than {COMMAND_LIMIT:g} s") from None
    if code:
        raise OSError(f"exit code {code}")
    return found


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group of the command."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
