"""The process that owns the children of tools: a program that outlives the agent just long enough to end them.

Two rules. It imports the standard library, `end_record`, `guard` and `processes` only, to start fast on a bare Python,
and it has one thread, so that fork is safe and a child's parent-death signal means the keeper's own death.

Requests come on stdin, one JSON object a line; end of file there, however the agent ended, ends every command and then
the keeper. Answers go to stdout: one JSON object a line, followed by `size` raw bytes if it says so. The lock is held
until nothing is left, which is how a recovering session knows that the effects of the last one are over.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Mapping

from holdfast.tools.end_record import write_end
from holdfast.tools.guard import CLOSING, guarded
from holdfast.tools.processes import (
    LINUX,
    adopt_orphans,
    below,
    boot,
    by_parent,
    call_of,
    end_with,
    keep_secrets,
    living,
    look,
    send,
)

TYPE_CHECKING = False  # as typing has it, without the cost of its import
if TYPE_CHECKING:
    from typing import Literal, NoReturn, TypedDict

    Cause = Literal["exit", "timeout", "stop", "signalled", "unguarded"]

    class Request(TypedDict):
        """A command to run, or (`command` empty) the wish that a running one be stopped."""

        call: str
        command: str
        cwd: str
        env: dict[str, str]
        timeout: float
        spool: str
        seal: str


CHUNK = 65_536
SPOOL_HEAD = 1_000_000
SPOOL_TAIL = 1_000_000  # the file grows to head + twice this, then is cut back to head + this
SPOOL_MARK = b"\n[... output was cut here ...]\n"
LIVE_EVERY = 0.05  # seconds between two live chunks of a command
LIVE_MOST = 32_768  # bytes in one of them; more is kept in the spool only, and counted
OUT_MOST = 262_144  # bytes waiting for a slow agent before live output is held back

SETTLE = 0.2  # what a command left behind may end by itself (`> >(tee log)`)
GRACE = 0.3  # between SIGTERM and SIGKILL
GIVE_UP = 2.0  # of SIGKILL: what lives now is not ours to kill (another user's) or stuck in the kernel
TICK = 0.01

SHELL = "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"
# Python ignores some of these and an agent may have inherited others as ignored; a command starts with the defaults.
DEFAULTED = (*CLOSING, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXFSZ)


class Spool:
    """A file with the beginning and the end of a command's output, bounded however long the command writes."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.size = 0
        self.error = ""

    def keep(self, data: bytes) -> None:
        """Write `data` at the end, giving up the middle when the file is full; after an error nothing more is kept."""
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


class Command:
    """A command from its start until nothing of it is left."""

    def __init__(self, request: Request, *, pid: int, pipe: int, spool: int) -> None:
        self.call = request["call"]
        self.end_file = request["spool"] + ".end"
        self.seal = request["seal"]
        self.pid = pid
        self.pipe = pipe
        self.spool = Spool(spool)
        self.started = time.monotonic()
        self.deadline = self.started + request["timeout"]
        self.phase: Literal["running", "settling", "ending", "killing"] = "running"
        self.until = 0.0
        self.cause: Cause = "exit"
        self.status: int | None = None
        self.leftovers: set[int] = set()
        self.seen = 0
        self.live = bytearray()
        self.live_next = 0.0
        self.dropped = 0

    def end(self, cause: Cause) -> None:
        """Have every process of the command ended at the next turn of the loop, unless that has begun."""
        if self.phase in ("running", "settling"):
            if self.status is None:
                self.cause = cause
            self.phase, self.until = "settling", 0.0

    def take(self, data: bytes) -> None:
        """Keep output that arrived, and as much of it as is bearable for the live view."""
        self.seen += len(data)
        self.spool.keep(data)
        room = LIVE_MOST - len(self.live)
        self.live += data[:room]
        self.dropped += max(0, len(data) - room)


class Keeper:
    """The loop: requests in, output and endings out, and never a wait for any single process."""

    def __init__(self, agent: int | None, guard: int) -> None:
        """Serve the agent whose process the descriptor `agent` stands for, if there is such a thing, below a guard."""
        self.pid = os.getpid()
        self.guard = guard
        self.commands: dict[str, Command] = {}
        self.closing = False
        self.childless = True
        self.given_up: set[int] = set()  # what could not be ended, and is nobody's any more
        self.requests = b""
        self.out = bytearray()
        self.selector = selectors.DefaultSelector()
        self.agent: dict[int, Callable[[], object]] = {0: self._take_requests}
        if agent is not None:
            # A process the agent forked may hold the control pipe open; the agent's own end still counts.
            self.agent[agent] = self.close
        adopt_orphans()
        for fd, act in self.agent.items():
            self._watch(fd, act)
        wake, wake_end = os.pipe()
        self._watch(wake, lambda: os.read(wake, CHUNK))
        for fd in (1, wake_end):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        for number in (*CLOSING, signal.SIGCHLD, signal.SIGCONT):
            signal.signal(number, self._on_signal)

    def _watch(self, fd: int, act: Callable[[], object]) -> None:
        os.set_blocking(fd, False)
        self.selector.register(fd, selectors.EVENT_READ, act)

    def _on_signal(self, number: int, _frame: object) -> None:
        if number in CLOSING:
            self.close("signalled")
        elif os.getppid() != self.guard:
            self.close("unguarded")

    def serve(self) -> None:
        """Run until the agent or the guard is gone and every command has ended."""
        if os.getppid() != self.guard:  # before it could be heard
            self.close("unguarded")
        self._tell({"kind": "ready", "pid": self.pid})
        self._flush()
        while self.commands or not self.closing:
            for key, _ in self.selector.select(self._patience()):
                act: Callable[[], object] = key.data
                act()
            self._reap()
            self._advance()
            self._flush()

    def _patience(self) -> float | None:
        """Return the seconds to wait for something to happen, None for ever."""
        if self.out or any(command.phase != "running" for command in self.commands.values()):
            return TICK
        return LIVE_EVERY if self.commands else None

    def close(self, cause: Cause = "stop") -> None:
        """Take no more requests and end every command because of `cause`; the loop returns when they are gone."""
        if self.closing:
            return
        self.closing = True
        for fd in self.agent:
            self.selector.unregister(fd)
        for command in self.commands.values():
            command.end(cause)

    def _tell(self, message: Mapping[str, object], payload: bytes = b"") -> None:
        self.out += json.dumps(message).encode() + b"\n" + payload

    def _flush(self) -> None:
        """Write what the agent will take now; if it can take no more, ever, it is gone."""
        try:
            while self.out:
                del self.out[: os.write(1, self.out[:CHUNK])]
        except BlockingIOError:
            pass
        except OSError:
            self.out.clear()
            self.close()

    def _take_requests(self) -> None:
        data = os.read(0, CHUNK)
        if not data:
            self.close()
            return
        *lines, self.requests = (self.requests + data).split(b"\n")
        for line in lines:
            request: Request = json.loads(line)
            if request["command"]:
                self._start(request)
            elif request["call"] in self.commands:
                self.commands[request["call"]].end("stop")

    def _start(self, request: Request) -> None:
        fds: list[int] = []
        try:
            fds.append(os.open(request["spool"], os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600))
            fds.extend(os.pipe())
            pid = os.fork()
        except (OSError, ValueError) as error:
            for fd in fds:
                os.close(fd)
            self._tell({"kind": "refused", "call": request["call"], "why": str(error)})
            return
        spool, reading, writing = fds
        if pid == 0:
            self._become(request, writing)
        os.close(writing)
        self.childless = False
        command = self.commands[request["call"]] = Command(request, pid=pid, pipe=reading, spool=spool)
        self._watch(reading, lambda: self._read(command))
        if found := look(pid):
            self._tell({"kind": "started", "call": command.call, "pid": pid, "start": found.start, "boot": boot()})

    def _become(self, request: Request, output: int) -> NoReturn:
        """Turn this forked process into the shell that runs the command, or say in its output why it cannot be."""
        try:
            os.setsid()
            if not end_with(self.pid, signal.SIGKILL):
                os._exit(126)
            for number in DEFAULTED:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            for fd, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, output), (2, output)):
                os.dup2(source, fd)
            os.chdir(request["cwd"])
            os.execve(SHELL, [SHELL, "-c", request["command"]], request["env"])  # noqa: S606 - running it is the point
        except (OSError, ValueError) as error:
            os.write(2, f"The command could not be started: {error}.\n".encode(errors="replace"))
        finally:
            os._exit(126)

    def _read(self, command: Command) -> None:
        with contextlib.suppress(BlockingIOError):
            if data := os.read(command.pipe, CHUNK):
                command.take(data)
            else:
                self._close_pipe(command)

    def _close_pipe(self, command: Command) -> None:
        self.selector.unregister(command.pipe)
        os.close(command.pipe)
        command.pipe = -1

    def _show(self, command: Command) -> None:
        size, dropped = len(command.live), command.dropped
        self._tell({"kind": "live", "call": command.call, "size": size, "dropped": dropped}, bytes(command.live))
        command.live.clear()
        command.dropped = 0

    def _reap(self) -> None:
        """Collect every child that ended, our own and the orphans that came to us."""
        by_pid = {command.pid: command for command in self.commands.values()}
        try:
            while not self.childless and (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                pid, status = ended
                self.given_up.discard(pid)
                if pid in by_pid:
                    by_pid[pid].status = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            self.childless = True

    def _advance(self) -> None:
        """Move every command on as far as it can go now."""
        now = time.monotonic()
        for command in self.commands.values():
            if command.live and now >= command.live_next and len(self.out) < OUT_MOST:
                self._show(command)
                command.live_next = now + LIVE_EVERY
            if now >= command.deadline:
                command.end("timeout")
            elif command.status is not None and command.phase == "running":
                command.phase, command.until = "settling", now + SETTLE
        ending = [command for command in self.commands.values() if command.phase != "running"]
        members = self._members() if ending else {}
        for command in ending:
            self._press(command, members[command.call], now)

    def _press(self, command: Command, members: list[int], now: float) -> None:
        """Bring a command nearer its end: wait a little, then SIGTERM, then SIGKILL until nothing is left."""
        # A look at /proc can miss a process that is just being started. Where it counts, the kernel's word does.
        nobody = not members and (self.childless or self.given_up or len(self.commands) > 1)
        over = command.status is not None and nobody
        if over or (command.phase == "killing" and now >= command.until):
            self._finish(command, left=members)
        elif command.phase == "settling" and now >= command.until:
            command.phase, command.until = "ending", now + GRACE
            self._signal(command, members, signal.SIGTERM, signal.SIGCONT)
        elif command.phase == "ending" and now >= command.until:
            command.phase, command.until = "killing", now + GIVE_UP
        elif command.phase == "killing":
            taken = self._signal(command, members, signal.SIGKILL)
            if members and not any(taken):  # another user's (sudo), all that are left: they are counted and said
                self._finish(command, left=members)

    def _signal(self, command: Command, members: list[int], *numbers: signal.Signals) -> list[bool]:
        if command.cause == "exit":
            command.leftovers.update(members)
        return [send(pid, *numbers) for pid in members]

    def _finish(self, command: Command, *, left: list[int]) -> None:
        self.given_up.update(left)
        for _ in range(16):  # chunks, not for ever: a survivor may go on writing
            if command.pipe >= 0:
                self._read(command)
        if command.pipe >= 0:
            self._close_pipe(command)
        os.close(command.spool.fd)
        self._show(command)
        ended = {"kind": "ended", "call": command.call, "cause": command.cause, "status": command.status}
        ended |= {"seconds": time.monotonic() - command.started, "seen": command.seen, "unkept": command.spool.error}
        ended |= {"leftovers": len(command.leftovers.difference(left)), "survivors": len(left)}
        write_end(command.end_file, command.seal, json.dumps(ended))  # before it is told: the agent may be gone
        self._tell(ended)
        del self.commands[command.call]

    def _members(self) -> dict[str, list[int]]:
        """Return the living processes of every command, parents before children.

        Without /proc (macOS) that is its process group, as the negative number that `kill` takes for one.
        """
        members: dict[str, list[int]] = {call: [] for call in self.commands}
        if not LINUX:
            for command in self.commands.values():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(-command.pid, 0)
                    members[command.call].append(-command.pid)
        elif not self.childless:
            children = by_parent(living())
            for child in children.get(self.pid, ()):
                owner = None if child.pid in self.given_up else self._owner(child.pid, child.session)
                if owner is not None:
                    members[owner] += [each.pid for each in (child, *below(child.pid, children))]
        return members

    def _owner(self, pid: int, session: int) -> str | None:
        """Return the call that a child of ours belongs to: the command itself, or an orphan that came back.

        An orphan that left the session, and whose environment does not say whose it was, may be that of any command: it
        is ended with the last that runs.
        """
        for command in self.commands.values():
            if command.pid in (pid, session):
                return command.call
        if (call := call_of(pid)) in self.commands:
            return call
        running = any(command.phase == "running" for command in self.commands.values())
        return None if running else next(iter(self.commands))


def main() -> None:
    """Hold the lock named on the command line, serve, and let go of it by ending."""
    keep_secrets()  # the seals
    lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.ftruncate(lock, 0)
    agent: int | None = None
    if LINUX:
        with contextlib.suppress(OSError):
            agent = os.pidfd_open(os.getppid())
    guard = guarded(lock)
    Keeper(agent, guard).serve()
