"""A command of the supervisor, from its start to its end, and its output on disk, of bounded size."""

from __future__ import annotations

import os
import time

_TYPE_CHECKING = False  # as in typing, without the cost of its import
if _TYPE_CHECKING:
    from typing import Literal, TypedDict

    from holdfast.system.confinement.entry import LaunchFields, Wall
    from holdfast.system.confinement.network.proxy_process import ProxyProcess

    Cause = Literal["exit", "timeout", "stop", "signalled", "unguarded"]

    class Request(TypedDict):
        """A command to run, or without a `command` a request: to stop a running one, or with `keep` never to end it.

        One that `stays` lasts as long as anything that it started. `stdin` is a file to read, "" for none. With
        `split_errors`, its errors go to a spool of their own, beside the other.
        """

        call: str
        command: str
        keep: bool
        stays: bool
        cwd: str
        env: dict[str, str]
        timeout: float | None
        spool: str
        seal: str
        wall: LaunchFields | None
        hosts: list[str]
        stdin: str
        split_errors: bool


LIVE_MOST = 32_768  # bytes per chunk; more goes to the spool only, and is counted

ERRORS = ".errors"  # what the spool of a command's errors ends with, if they are apart

SPOOL_HEAD = 1_000_000
SPOOL_TAIL = 1_000_000  # the file grows to head + twice this, then is cut to head + this
SPOOL_MARK = b"\n[... output was cut here ...]\n"


class Spool:
    """A file with the beginning and the end of a command's output, of bounded size."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.size = 0
        self.error = ""

    def keep(self, data: bytes) -> None:
        """Append `data`, dropping the middle when the file is full. After an error nothing more is stored."""
        try:
            if self.size > SPOOL_HEAD + 2 * SPOOL_TAIL and not self.error:
                data = SPOOL_MARK + os.pread(self.fd, SPOOL_TAIL, self.size - SPOOL_TAIL) + data
                self.size = SPOOL_HEAD
                os.ftruncate(self.fd, self.size)
            while data and not self.error:
                written = os.pwrite(self.fd, data, self.size)
                self.size += written
                data = data[written:]
        except OSError as error:
            self.error = str(error)


class SupervisedCommand:
    """A command from its start until all its processes have exited."""

    def __init__(self, request: Request, *, pid: int, pipe: int, spool: int) -> None:
        self.call = request["call"]
        self.end_file = request["spool"] + ".end"
        self.seal = request["seal"]
        self.pid = pid
        self.pipe = pipe
        self.spool = Spool(spool)
        self.error_pipe = -1
        self.errors: Spool | None = None
        self.started = time.monotonic()
        self.deadline = self.started + float(request["timeout"] or "inf")
        self.stays = bool(request.get("stays"))
        self.phase: Literal["running", "settling", "staying", "ending", "killing"] = "running"
        self.until = 0.0
        self.cause: Cause = "exit"
        self.status: int | None = None
        self.has_stayed = False
        self.leftovers: set[int] = set()
        self.seen = 0
        self.live = bytearray()
        self.live_next = 0.0
        self.dropped = 0
        self.wall: Wall | None = None
        self.proxy: ProxyProcess | None = None
        self.refused: list[dict[str, object]] = []

    def end(self, cause: Cause) -> None:
        """Begin to end every process of the command, unless that has begun."""
        if self.phase in ("running", "settling", "staying"):
            if self.status is None or self.phase == "staying":
                self.cause = cause
            self.phase, self.until, self.stays = "settling", 0.0, False

    def rests(self, now: float) -> bool:
        """Return whether only what it started runs, and it is too early to look at that again."""
        return self.phase == "staying" and now < self.until

    def stay(self, count: int, until: float) -> None:
        """Keep the command for `count` processes that it left, and look again at `until`. Its output says so once."""
        if not self.has_stayed:
            what = "1 process" if count == 1 else f"{count} processes"
            code = f"exit code {self.status}" if self.status is not None and self.status >= 0 else "a signal"
            self.take(f"[The command itself has ended ({code}). It started {what}, still running.]\n".encode())
        self.phase, self.until, self.has_stayed = "staying", until, True

    def take(self, data: bytes) -> None:
        """Store output, and queue as much of it for the live view as fits."""
        self.seen += len(data)
        self.spool.keep(data)
        room = LIVE_MOST - len(self.live)
        self.live += data[:room]
        self.dropped += max(0, len(data) - room)
