"""The supervisor of commands: a process that outlives the agent just long enough to end every command.

Why not let the agent run commands itself? After `kill -9`, a crash or the OOM killer it can clean up nothing: a test
server would keep its port, and a half-finished `git rebase` would run on while the resumed session edits the same
files. The supervisor watches its stdin and, on Linux, a pidfd of the agent (its forks may hold stdin open). When the
agent exits, it ends every process of every command (found by parent, session and a mark in the environment, so also
daemons), and exits. `watchdog.py` covers its own death. The lock stays until nothing is left, or both gave up.

Example: `kill -9` hits the agent while `make` runs. The pidfd reports it. `make` and its compilers get SIGTERM at once,
and after 0.3 s (`_GRACE`) SIGKILL, until none is left, at most for 2 s (`_GIVE_UP`). The supervisor writes how `make`
ended next to its output (`write_end`) and exits. The watchdog finds no process, writes "gone" into the lock file and
exits, which frees the lock. The resumed session waits for that, up to a second, and then reads how `make` ended.

Protocol: requests come on stdin, one JSON object per line. Answers go to stdout: one JSON object per line, followed by
`size` raw bytes if it has that field. A request to run `make` is answered by `started`, `live`, `ended`.

It imports only the standard library, `end_record`, `watchdog` and `process_table`, to start fast. It has one thread:
fork is then safe, and a child's parent-death signal means the death of the supervisor itself.
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

from holdfast.tools.process.end_record import write_end
from holdfast.tools.process.process_table import (
    LINUX,
    adopt_orphans,
    below,
    boot,
    by_parent,
    call_of,
    end_with,
    keep_secrets,
    living,
    running_process,
    send,
)
from holdfast.tools.process.supervised_command import ERRORS, Spool, SupervisedCommand
from holdfast.tools.process.watchdog import CLOSING, fork_watchdog

_TYPE_CHECKING = False  # as in typing, without the cost of its import
if _TYPE_CHECKING:
    from typing import NoReturn

    from holdfast.system.confinement.entry import Wall
    from holdfast.system.confinement.network.proxy_process import ProxyProcess
    from holdfast.tools.process.supervised_command import Cause, Request

OUTPUT_CHUNK = 65_536
LIVE_EVERY = 0.05  # seconds between two live chunks of a command
OUT_MOST = 262_144  # bytes queued for a slow agent before live output is dropped

SETTLE = 0.2  # leftover processes may end by themselves (`> >(tee log)`)
LOOK_EVERY = 0.25  # seconds between two looks at what a background command left running
_GRACE = 0.3  # between SIGTERM and SIGKILL
_GIVE_UP = 2.0  # of SIGKILL; what survives belongs to another user or is stuck in the kernel
_TICK = 0.01

SHELL = "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"
# Python ignores some of these, and others may be inherited as ignored; a command starts with the defaults.
DEFAULTED = (*CLOSING, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXFSZ)


class SupervisorLoop:
    """The loop: requests in, output and endings out. It never waits for a single process."""

    def __init__(self, agent: int | None, watchdog: int) -> None:
        """Serve the agent with the pidfd `agent` (if available), as the child of the process `watchdog`."""
        self.pid = os.getpid()
        self.watchdog = watchdog
        self.commands: dict[str, SupervisedCommand] = {}
        self.closing = False
        self.to_close: Cause | None = None
        self.childless = True
        self.given_up: set[int] = set()  # processes that could not be ended and are ignored from then on
        self.requests = b""
        self.out = bytearray()
        self.selector = selectors.DefaultSelector()
        self.agent: dict[int, Callable[[], object]] = {0: self._take_requests}
        if agent is not None:
            self.agent[agent] = self.close
        adopt_orphans()
        for fd, act in self.agent.items():
            self._watch(fd, act)
        wake, wake_end = os.pipe()
        self._watch(wake, lambda: os.read(wake, OUTPUT_CHUNK))
        os.set_blocking(1, False)
        os.set_blocking(wake_end, False)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        for number in (*CLOSING, signal.SIGCHLD, signal.SIGCONT):
            signal.signal(number, self._on_signal)

    def _watch(self, fd: int, act: Callable[[], object]) -> None:
        os.set_blocking(fd, False)
        self.selector.register(fd, selectors.EVENT_READ, act)

    def _on_signal(self, number: int, _frame: object) -> None:
        """Only note why to close: a command that is just being started would not be ended."""
        if number in CLOSING:
            self.to_close = self.to_close or "signalled"
        elif os.getppid() != self.watchdog:
            self.to_close = self.to_close or "unguarded"

    def serve(self) -> None:
        """Run until the agent or the watchdog has exited and every command has ended."""
        if os.getppid() != self.watchdog:  # before the signal could be received
            self.close("unguarded")
        self._answer({"kind": "ready", "pid": self.pid})
        self._flush()
        while self.commands or not self.closing:
            for key, _ in self.selector.select(self._patience()):
                act: Callable[[], object] = key.data
                act()
            if self.to_close:
                self.close(self.to_close)
            self._reap()
            self._advance()
            self._flush()

    def _patience(self) -> float | None:
        if self.out or any(command.phase not in ("running", "staying") for command in self.commands.values()):
            return _TICK
        return LIVE_EVERY if self.commands else None

    def close(self, cause: Cause = "stop") -> None:
        """Accept no more requests and end every command; the loop returns when they have exited."""
        if self.closing:
            return
        self.closing = True
        for fd in self.agent:
            self.selector.unregister(fd)
        for command in self.commands.values():
            command.end(cause)

    def _answer(self, message: Mapping[str, object], payload: bytes = b"") -> None:
        self.out += json.dumps(message).encode() + b"\n" + payload

    def _flush(self) -> None:
        try:
            with contextlib.suppress(BlockingIOError):
                while self.out:
                    del self.out[: os.write(1, self.out[:OUTPUT_CHUNK])]
        except OSError:
            self.out.clear()
            self.close()

    def _take_requests(self) -> None:
        if not (data := os.read(0, OUTPUT_CHUNK)):
            self.close()
            return
        *lines, self.requests = (self.requests + data).split(b"\n")
        for line in lines:
            request: Request = json.loads(line)
            if request["command"]:
                self._start(request)
            elif (command := self.commands.get(request["call"])) and request.get("keep"):
                command.deadline, command.stays = float("inf"), True
            elif command:
                command.end("stop")

    def _start(self, request: Request) -> None:
        fds: list[int] = []
        wall: Wall | None = None
        proxy: ProxyProcess | None = None
        try:
            fds.append(os.open(request["spool"], os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600))
            fds.extend(os.pipe())
            if request.get("split_errors"):
                flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
                fds.append(os.open(request["spool"] + ERRORS, flags, 0o600))
                fds.extend(os.pipe())
            if (fields := request.get("wall")) is not None:
                from holdfast.system.confinement.entry import prepare_wall

                wall = prepare_wall(fields)
                if wall.channel >= 0:  # before the command: without its proxy it is not run
                    from holdfast.system.confinement.network.proxy_process import start_proxy

                    proxy = start_proxy(wall, hosts=request["hosts"])
            pid = os.fork()
        except (OSError, ValueError) as error:
            for fd in fds:
                os.close(fd)
            if proxy is not None:
                from holdfast.system.confinement.network.proxy_process import stop_proxy

                stop_proxy(proxy)
            if wall is not None:
                wall.close()
            self._answer({"kind": "refused", "call": request["call"], "why": str(error)})
            return
        spool, reading, writing, *error_fds = fds
        error_writing = error_fds[2] if error_fds else writing
        if pid == 0:
            self._exec_command(request, writing, error_writing, wall)
        for fd in {writing, error_writing}:
            os.close(fd)
        if wall is not None:
            wall.close_inside()
        self.childless = False
        command = self.commands[request["call"]] = SupervisedCommand(request, pid=pid, pipe=reading, spool=spool)
        command.wall, command.proxy = wall, proxy
        self._watch(reading, lambda: self._read(command))
        if error_fds:
            command.errors, command.error_pipe = Spool(error_fds[0]), error_fds[1]
            self._watch(error_fds[1], lambda: self._read_errors(command))
        if wall is not None and wall.ready >= 0:
            self._watch(wall.ready, lambda: self._let_begin(wall))
        if found := running_process(pid):
            self._answer({"kind": "started", "call": command.call, "pid": pid, "start": found.start, "boot": boot()})

    def _exec_command(self, request: Request, output: int, errors: int, wall: Wall | None) -> NoReturn:
        """Turn this forked process into the command's shell, or write into its output why that failed."""
        try:
            os.setsid()
            if not end_with(self.pid, signal.SIGKILL):
                os._exit(126)
            for number in DEFAULTED:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            stdin = os.open(request.get("stdin") or os.devnull, os.O_RDONLY)
            for fd, source in ((0, stdin), (1, output), (2, errors)):
                os.dup2(source, fd)
            if wall is not None:
                from holdfast.system.confinement.entry import enter_wall

                enter_wall(wall, [SHELL, "-c", request["command"]])
            os.chdir(request["cwd"])
            os.execve(SHELL, [SHELL, "-c", request["command"]], request["env"])  # noqa: S606 - running it is the point
        except (OSError, ValueError) as error:
            os.write(2, f"The command could not be started: {error}.\n".encode(errors="replace"))
        finally:
            os._exit(126)

    def _read(self, command: SupervisedCommand) -> None:
        with contextlib.suppress(BlockingIOError):
            if data := os.read(command.pipe, OUTPUT_CHUNK):
                command.take(data)
            else:
                self._close_pipe(command)

    def _read_errors(self, command: SupervisedCommand) -> None:
        if command.errors is None or command.error_pipe < 0:
            return
        with contextlib.suppress(BlockingIOError):
            if data := os.read(command.error_pipe, OUTPUT_CHUNK):
                command.errors.keep(data)
            else:
                self._close_errors(command)

    def _close_errors(self, command: SupervisedCommand) -> None:
        self.selector.unregister(command.error_pipe)
        os.close(command.error_pipe)
        command.error_pipe = -1

    def _let_begin(self, wall: Wall) -> None:
        from holdfast.system.confinement.entry import let_begin

        ready = wall.ready
        if let_begin(wall):
            self.selector.unregister(ready)

    def _close_pipe(self, command: SupervisedCommand) -> None:
        self.selector.unregister(command.pipe)
        os.close(command.pipe)
        command.pipe = -1

    def _show(self, command: SupervisedCommand) -> None:
        live = {"kind": "live", "call": command.call, "size": len(command.live), "dropped": command.dropped}
        self._answer(live, bytes(command.live))
        command.live.clear()
        command.dropped = 0

    def _reap(self) -> None:
        by_pid = {command.pid: command for command in self.commands.values()}
        try:
            while not self.childless and (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                pid, status = ended
                self.given_up.discard(pid)
                if pid in by_pid:
                    by_pid[pid].status = os.waitstatus_to_exitcode(status)
                elif (proxy := self._proxies().get(pid)) is not None:
                    proxy.pid = 0
        except ChildProcessError:
            self.childless = True

    def _advance(self) -> None:
        now = time.monotonic()
        for command in self.commands.values():
            if command.live and now >= command.live_next and len(self.out) < OUT_MOST:
                self._show(command)
                command.live_next = now + LIVE_EVERY
            if now >= command.deadline:
                command.end("timeout")
            elif command.status is not None and command.phase == "running":
                command.phase, command.until = "settling", now + SETTLE
        ending = [each for each in self.commands.values() if each.phase != "running" and not each.rests(now)]
        members = self._members() if ending else {}
        for command in ending:
            self._press(command, members[command.call], now)

    def _press(self, command: SupervisedCommand, members: list[int], now: float) -> None:
        """End a command step by step: wait briefly, SIGTERM, then SIGKILL until nothing is left."""
        # /proc can miss a process that is just starting. Where it matters, the kernel decides: once the proxy is gone.
        if not members and command.status is not None and command.proxy is not None:
            self._stop_proxy(command)
        none_left = not members and (self.childless or self.given_up or len(self.commands) > 1)
        over = command.status is not None and none_left
        if over or (command.phase == "killing" and now >= command.until):
            self._finish(command, left=members)
        elif command.stays and members and now >= command.until:
            command.stay(len(members), now + LOOK_EVERY)
        elif command.phase == "staying":
            command.phase, command.until = "settling", now + SETTLE
        elif command.phase == "settling" and now >= command.until:
            command.phase, command.until = "ending", now + _GRACE
            self._signal(command, members, signal.SIGTERM, signal.SIGCONT)
        elif command.phase == "ending" and now >= command.until:
            command.phase, command.until = "killing", now + _GIVE_UP
        elif command.phase == "killing":
            signalled = self._signal(command, members, signal.SIGKILL)
            if members and not any(signalled):  # all that are left belong to other users (sudo): report their number
                self._finish(command, left=members)

    def _signal(self, command: SupervisedCommand, members: list[int], *numbers: signal.Signals) -> list[bool]:
        if command.cause == "exit":
            command.leftovers.update(members)
        return [send(pid, *numbers) for pid in members]

    def _finish(self, command: SupervisedCommand, *, left: list[int]) -> None:
        self.given_up.update(left)
        for _ in range(16):  # bounded: a survivor may continue writing
            if command.pipe >= 0:
                self._read(command)
            self._read_errors(command)
        if command.pipe >= 0:
            self._close_pipe(command)
        if command.error_pipe >= 0:
            self._close_errors(command)
        if command.errors is not None:
            os.close(command.errors.fd)
        os.close(command.spool.fd)
        self._show(command)
        ended: dict[str, object] = {
            "kind": "ended",
            "call": command.call,
            "cause": command.cause,
            "status": command.status,
        }
        ended |= {"seconds": time.monotonic() - command.started, "seen": command.seen, "unkept": command.spool.error}
        if command.wall is not None:
            from holdfast.system.confinement.entry import close_wall, move_appeared

            with contextlib.suppress(KeyError, ValueError):  # it waits for nothing, or not any more
                self.selector.unregister(command.wall.ready)
            ended["has_begun"] = close_wall(command.wall)
            ended["wall"] = command.wall.fields["kind"]
            ended["moved"] = move_appeared(command.wall.fields)
        if command.proxy is not None:
            self._stop_proxy(command)
        ended["refused"] = command.refused
        ended |= {"leftovers": len(command.leftovers.difference(left)), "survivors": len(left)}
        write_end(command.end_file, command.seal, json.dumps(ended))  # before reporting it: the agent may have exited
        self._answer(ended)
        del self.commands[command.call]

    def _stop_proxy(self, command: SupervisedCommand) -> None:
        from holdfast.system.confinement.network.proxy_process import stop_proxy

        if command.proxy is not None:
            command.refused = stop_proxy(command.proxy)
            command.proxy = None
        self._reap()

    def _proxies(self) -> dict[int, ProxyProcess]:
        """Return the proxies of commands by their process: they end with their command, and are none of it."""
        return {each.proxy.pid: each.proxy for each in self.commands.values() if each.proxy is not None}

    def _members(self) -> dict[str, list[int]]:
        """Return each command's living processes, parents first. Without /proc (macOS): its group, as negative pid."""
        members: dict[str, list[int]] = {call: [] for call in self.commands}
        if not LINUX:
            for command in self.commands.values():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(-command.pid, 0)
                    members[command.call].append(-command.pid)
        elif not self.childless:
            children = by_parent(living())
            for child in children.get(self.pid, ()):
                others = self.given_up | self._proxies().keys()
                owner = None if child.pid in others else self._owner(child.pid, child.session)
                if owner is not None:
                    members[owner] += [each.pid for each in (child, *below(child.pid, children))]
        return members

    def _owner(self, pid: int, session: int) -> str | None:
        """Return the call that a child process belongs to: the command itself, or an adopted orphan.

        An orphan that left the session and hides its environment may be any command's. It ends with the last one.
        A command that lasts as long as what it started has it first: a database overwrites its environment.
        """
        for command in self.commands.values():
            if command.pid in (pid, session):
                return command.call
        if (call := call_of(pid)) in self.commands:
            return call
        stays = [command.call for command in self.commands.values() if command.stays and command.status is not None]
        running = any(command.phase == "running" for command in self.commands.values())
        return stays[-1] if stays else None if running else next(iter(self.commands))


def main() -> None:
    """Hold the lock named on the command line and serve; exiting releases it."""
    keep_secrets()  # the seals
    lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.ftruncate(lock, 0)
    agent: int | None = None
    with contextlib.suppress(OSError, AttributeError):  # not on Linux
        agent = os.pidfd_open(os.getppid())
    SupervisorLoop(agent, fork_watchdog(lock)).serve()
