"""The agent's client of the supervisor process, which runs the commands.

The agent never starts a command itself; the supervisor does, so that the agent's end also ends the command. A command's
output is always read from its spool file, so recovery sees what the model would have seen.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import shlex
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.deletion import delete_tree
from holdfast.system.threads import in_daemon
from holdfast.text import valid_unicode
from holdfast.tool_calls import ProcessId
from holdfast.tools.process.command_end import CommandEnded, CommandFinished, command_result, lost_command, never_begun
from holdfast.tools.process.end_record import read_regular_file
from holdfast.tools.process.environment import child_environment
from holdfast.tools.process.launch import SUPERVISOR, Launched, launch_supervisor
from holdfast.tools.process.orphans import reap
from holdfast.typed_data import json_decoder

if TYPE_CHECKING:
    from holdfast.system.confinement.entry import LaunchFields


_PATIENCE = 3.0  # seconds beyond its own limits that the supervisor may take to answer
SWEEP = 1.5  # seconds for the watchdog to end what a killed supervisor left
CAPTURE_MOST = 1_000_000  # bytes; the supervisor keeps this much of the beginning
CAPTURE_SECONDS = 30.0
MOST_LIVE = 65_536  # bytes of one message with output; the supervisor sends half of it at most


def forget(spool: Path) -> None:
    """Delete a command's files. Never raises."""
    with contextlib.suppress(OSError):  # retried when the session is resumed
        for path in spool.parent.iterdir():
            if path.name.startswith(spool.name):
                remove_entry(path)


def captured_output(spool: Path, program: str) -> bytes:
    """Return the beginning of what a program printed into its live output; raises `ToolFailed` if that is no file."""
    try:
        return read_regular_file(spool, CAPTURE_MOST)
    except OSError as error:
        raise ToolFailed(f"The output of command {program!r} could not be read: {error}. Try again.") from error


def remove_entry(path: Path) -> None:
    """Delete an entry of the folder for live output; a folder in the background, as it may be large. Never raises."""
    try:
        path.unlink()
    except FileNotFoundError:
        pass
    except OSError:  # a folder that a command made there, or not deletable: retried when the session is resumed
        threading.Thread(target=_remove_folder, args=(path,), daemon=True).start()


def _remove_folder(path: Path) -> None:
    with contextlib.suppress(OSError):
        delete_tree(path)


_Number = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _Refused(msgspec.Struct, frozen=True, tag="refused", tag_field="kind"):
    """The command was not started."""

    call: str
    why: str


class _Started(msgspec.Struct, frozen=True, tag="started", tag_field="kind"):
    """The command runs as this process; as in `holdfast.tool_calls.ProcessId`."""

    call: str
    pid: _Number
    start: _Number
    boot: str


class _Live(msgspec.Struct, frozen=True, tag="live", tag_field="kind"):
    """Output: `size` bytes follow, and then `dropped` bytes were not sent."""

    call: str
    size: Annotated[int, msgspec.Meta(ge=0, le=MOST_LIVE)]
    dropped: _Number


_NO_MESSAGE = (
    asyncio.IncompleteReadError,  # it died while writing a message
    asyncio.LimitOverrunError,
    msgspec.DecodeError,
    UnicodeDecodeError,
    RecursionError,
)
"""What reading a message raises when no further one can be read."""
_decoder = json_decoder(_Refused | _Started | _Live | CommandEnded)
Received = tuple[_Live, bytes] | _Refused | _Started | CommandEnded
"""What a running command can receive."""


class Supervisor:
    """The agent's connection to a session's supervisor process, which the first command starts.

    Use it from one event loop. After `close`, the next command starts a new process.
    """

    def __init__(self, folder: Path, name: str = SUPERVISOR) -> None:
        """Connect to none yet; each supervisor of a session has its own `name`."""
        self._folder = folder
        self.name = name
        self._process: asyncio.subprocess.Process | None = None
        self._listener: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[asyncio.subprocess.Process] | None = None
        self._waiting: dict[str, asyncio.Queue[Received | None]] = {}  # None: the supervisor died
        self._overdue: dict[str, asyncio.TimerHandle] = {}
        self._within = False  # it has its own PID namespace
        self.contained = False
        """Whether the next supervisor gets a PID namespace, if available."""
        self.wrap: tuple[str, ...] = ()
        self.workspace: tuple[Path, ...] = ()
        """Where no program is taken from that makes the namespace."""

    async def run(  # noqa: PLR0913 - what a command is made of
        self,
        command: str,
        *,
        call: str,
        cwd: Path,
        timeout: float | None,  # noqa: ASYNC109 - the supervisor's to enforce, so that it holds if this loop is stuck
        stop: asyncio.Event,
        emit: Callable[[str], None],
        spool: Path,
        seal: str = "",
        wall: LaunchFields | None = None,
        hosts: tuple[str, ...] = (),
        stays: bool = False,
        stdin: str = "",
        split_errors: bool = False,
        variables: Mapping[str, str] = MappingProxyType({}),
        on_start: Callable[[ProcessId], None] = lambda _: None,
    ) -> CommandFinished:
        """Run `command` in a shell and return how it ended. Setting `stop` or cancelling ends all its processes.

        It is ended after `timeout` seconds, never if that is None. One that `stays` lasts as long as anything that it
        started, and what another leaves is ended with it. It reads the file `stdin`, has the `variables` too, and with
        `split_errors` its errors are in a file beside the `spool`. `on_start` is called with its process. With a
        `seal`, its end is also recorded on disk. Raises `ToolFailed` if it was not started; never starts a command
        twice.
        """
        process = await self._running()
        since = time.monotonic()
        known: list[ProcessId] = []
        messages = self._waiting[call] = asyncio.Queue()
        env = {**variables, **child_environment(os.environ, call=call)}
        request = {"call": call, "command": command, "cwd": str(cwd), "env": env, "timeout": timeout, "seal": seal}
        more = {"stays": stays, "stdin": stdin, "split_errors": split_errors}
        self._send(process, {**request, "spool": str(spool), "wall": wall, "hosts": hosts, **more})
        stopper = asyncio.create_task(self._stop(process, call, stop))
        # The supervisor limits every ending. If it does not answer (stopped, starved), it is killed, which is an
        # answer.
        if timeout is not None:
            self._overdue[call] = asyncio.get_running_loop().call_later(timeout + _PATIENCE, _end, process)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        ended: CommandEnded | None = None
        try:
            while True:
                match await messages.get():
                    case (_Live(dropped=dropped), data):
                        if text := decoder.decode(data):
                            emit(valid_unicode(text))
                        if dropped:
                            emit(f"\n[... {dropped} bytes are not shown here ...]\n")
                    case _Started(pid=pid, start=start, boot=boot):
                        if not self._within:  # in a namespace the pid is meaningless here, and leftovers are impossible
                            known.append(ProcessId(pid=pid, start=start, boot=boot))
                            on_start(known[0])
                    case _Refused(why=why):
                        raise ToolFailed(f"The command could not be started: {why}. Nothing was run.")
                    case CommandEnded(has_begun=False, cause="exit") as ended:
                        raise ToolFailed(never_begun(ended, spool))
                    case CommandEnded() as ended:
                        return command_result(ended, spool)
                    case None:
                        found = await in_daemon(lambda: reap({call}, known))
                        sure = (self._within or process.returncode == 0) and not found.left
                        return lost_command(time.monotonic() - since, spool, found, sure=sure)
        finally:
            del self._waiting[call]
            self._forget_limit(call)
            stopper.cancel()
            if ended is None:
                self._send(process, {"call": call, "command": "", "keep": False})

    def keep(self, call: str) -> None:
        """Lift the time limit of a running command: it goes on until it ends, is stopped, or the agent ends."""
        self._forget_limit(call)
        if self._process is not None:
            self._send(self._process, {"call": call, "command": "", "keep": True})

    def _forget_limit(self, call: str) -> None:
        if (overdue := self._overdue.pop(call, None)) is not None:
            overdue.cancel()

    @property
    def is_idle(self) -> bool:
        """Return whether no command runs."""
        return not self._waiting

    async def capture(self, argv: Sequence[str], *, call: str, cwd: Path, spool: Path) -> tuple[int, bytes]:
        """Return the exit code and stdout of a read-only program, such as a search.

        It is ended after 1 MB of output or 30 seconds; the code is then negative. Cancelling ends it. Raises
        `ToolFailed` if it could not be completed.
        """
        enough = asyncio.Event()
        shown = 0

        def count(text: str) -> None:
            nonlocal shown
            shown += len(text)
            if shown > CAPTURE_MOST:
                enough.set()

        try:
            done = await self.run(
                f"exec {shlex.join(argv)} 2>/dev/null",
                call=call,
                cwd=cwd,
                timeout=CAPTURE_SECONDS,
                stop=enough,
                emit=count,
                spool=spool,
            )
            if done.cause in ("lost", "signalled", "unguarded"):
                raise ToolFailed(f"Command {argv[0]!r} was interrupted: the process that ran it died. Try again.")
            output = captured_output(spool, argv[0])
        finally:
            forget(spool)
        return done.code if done.code is not None else -(done.signal or 0), output

    async def close(self) -> None:
        """End every command and the supervisor, within a few seconds."""
        if self._starting is not None:
            await asyncio.wait([self._starting])
        process, listener = self._process, self._listener
        if process is not None and process.stdin is not None:
            process.stdin.close()
        if listener is not None:
            _, late = await asyncio.wait([listener], timeout=_PATIENCE)
            if process is not None and late:
                _end(process)
            await listener

    async def _running(self) -> asyncio.subprocess.Process:
        """Return the supervisor, starting it if necessary; raises `ToolFailed` if it does not become ready."""
        if self._process is not None:
            return self._process
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start())
        # Shielded: asyncio can hang forever when cancelled while starting a process (Python 3.11.7).
        return await asyncio.shield(self._starting)

    async def _start(self) -> asyncio.subprocess.Process:
        started = await launch_supervisor(
            self._folder, contained=self.contained, name=self.name, wrap=self.wrap, workspace=self.workspace
        )
        self._process, self._within = started.process, started.within
        self._listener = asyncio.create_task(self._listen(started))
        return started.process

    async def _listen(self, started: Launched) -> None:
        """Pass on the supervisor's messages until it and its watchdog have exited, then notify all waiting commands.

        If root's command writes into the pipe, what follows cannot be told from messages, so that is the end, too.
        """
        exited = asyncio.create_task(started.both_ended())
        while (received := await next_message(started.answers)) is not None:
            call, item = received
            if call in self._waiting:
                self._waiting[call].put_nowait(item)
        self._process = None
        if started.process.stdin is not None:
            started.process.stdin.close()  # ends it if it lives; without a reader it would stay open with this loop
        with contextlib.suppress(TimeoutError):  # frozen by someone else, and left to them
            await asyncio.wait_for(exited, _PATIENCE)
        for queue in self._waiting.values():
            queue.put_nowait(None)

    async def _stop(self, process: asyncio.subprocess.Process, call: str, stop: asyncio.Event) -> None:
        await stop.wait()
        self._send(process, {"call": call, "command": "", "keep": False})
        await asyncio.sleep(_PATIENCE)
        _end(process)

    def _send(self, process: asyncio.subprocess.Process, request: Mapping[str, object]) -> None:
        """Write a request. If the supervisor has exited, the missing answer shows it."""
        if process.stdin is not None and not process.stdin.is_closing():
            process.stdin.write(msgspec.json.encode(request) + b"\n")


async def next_message(answers: asyncio.StreamReader) -> tuple[str, Received] | None:
    """Return the call of the supervisor's next message and the message, None if no further one can be read."""
    with contextlib.suppress(*_NO_MESSAGE):
        message = _decoder.decode(await answers.readuntil(b"\n"))
        live = isinstance(message, _Live)
        return message.call, (message, await answers.readexactly(message.size)) if live else message
    return None


def _end(process: asyncio.subprocess.Process) -> None:
    """Have a supervisor killed that does not answer, and its watchdog too if necessary. Does not wait."""

    def kill() -> None:
        if process.returncode is None and process.stdout is not None:
            process.kill()
            process.stdout.feed_eof()

    if process.returncode is None:
        process.send_signal(signal.SIGQUIT)
        process.send_signal(signal.SIGCONT)  # it may be frozen
        asyncio.get_running_loop().call_later(SWEEP, kill)
