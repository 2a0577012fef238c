"""Commands, as the agent sees them: the client of the keeper process that runs them.

Two rules. The agent never starts a command itself: the keeper does, so that the end of the agent ends it. What is said
about a command's output is read from its spool file, so that a recovery sees what the model would have seen.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import fcntl
import os
import shlex
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from holdfast.calls import ProcessId
from holdfast.errors import ToolFailed
from holdfast.text import valid_unicode
from holdfast.tools.end_record import end_of, open_alone, read_alone
from holdfast.tools.environment import child_environment
from holdfast.tools.guard import GONE
from holdfast.tools.launch import LOCK, Launched, launched
from holdfast.tools.leftovers import Remains, reap
from holdfast.tools.output import beginning
from holdfast.tools.thread import in_daemon

HEAD = 10_000
TAIL = 20_000
"""Bytes of the beginning and the end of an output that the model reads."""

PATIENCE = 3.0  # seconds beyond its own bounds that the keeper may take to answer
SWEEP = 1.5  # seconds the guard may take to end what a killed keeper left
CAPTURE_MOST = 1_000_000  # bytes; the keeper keeps so much of the beginning
CAPTURE_SECONDS = 30.0


def forget(spool: Path) -> None:
    """Remove what a command left; never raises."""
    for path in (spool, end_of(spool)):
        with contextlib.suppress(OSError):  # gone already; or it cannot be removed, and is tried again on resuming
            path.unlink()


def partial(spool: Path) -> str:
    """Return what was kept of a command's output, capped for the model; "" if there is nothing to read."""
    try:
        return _excerpt(spool, seen=0)
    except OSError:
        return ""  # a command that wrote nothing and one that never came to it look the same, and are


def _excerpt(spool: Path, *, seen: int) -> str:
    """Return the beginning and the end of the file, with how much of the `seen` bytes is missing in between."""
    with open_alone(spool) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if size <= HEAD + TAIL:
            return valid_unicode(file.read().decode(errors="replace"))
        # A character that a cut goes through is left out, not turned into a sign of damage.
        head = beginning(file.read(HEAD))
        file.seek(-TAIL, os.SEEK_END)
        tail = file.read(3).lstrip(bytes(range(0x80, 0xC0))) + file.read()
    cut = max(seen, size) - HEAD - TAIL
    return valid_unicode(f"{head}\n[... {cut} bytes of output were cut here ...]\n{tail.decode(errors='replace')}")


async def wait_gone(folder: Path, seconds: float = 1.0) -> bool:
    """Return whether the keeper of the session in `folder` is gone, with all it kept; waits up to `seconds` for it."""
    try:
        lock = os.open(folder / LOCK, os.O_RDONLY)
    except FileNotFoundError:
        return True
    deadline = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return False
            await asyncio.sleep(0.01)
    finally:
        os.close(lock)


def left_nothing(folder: Path) -> bool:
    """Return whether the last keeper of the session in `folder` is known to have left nothing of what it kept."""
    try:
        return (folder / LOCK).read_bytes() == GONE
    except OSError:
        return False


class _Refused(msgspec.Struct, frozen=True, tag="refused", tag_field="kind"):
    """The command was not started."""

    call: str
    why: str


class _Started(msgspec.Struct, frozen=True, tag="started", tag_field="kind"):
    """The command runs as this process; as in `holdfast.calls.ProcessId`."""

    call: str
    pid: int
    start: int
    boot: str


class _Live(msgspec.Struct, frozen=True, tag="live", tag_field="kind"):
    """Output: `size` bytes follow, after which `dropped` bytes were not sent."""

    call: str
    size: int
    dropped: int


class Ended(msgspec.Struct, frozen=True, tag="ended", tag_field="kind"):
    """The command ended, or was ended by its keeper; `unkept` says why output is missing in the spool."""

    call: str
    cause: Literal["exit", "timeout", "stop", "signalled", "unguarded"]
    status: int | None
    seconds: float
    seen: int
    unkept: str
    leftovers: int
    survivors: int


_decoder = msgspec.json.Decoder(_Refused | _Started | _Live | Ended)
_Heard = tuple[_Live, bytes] | _Refused | _Started | Ended | None
"""What a waiting command may hear; None says that the keeper died."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended.

    `cause` says by what: itself, its deadline, a stop, or what befell the keeper: a signal told it to end
    (`signalled`), its guard died (`unguarded`), or it died itself (`lost`). One of `code` and `signal` is set unless it
    is lost. `leftovers` counts processes it left behind that were ended, `survivors` those of it that could not be;
    None if that is not known. `unkept` is "" or why output is missing from `text`.
    """

    cause: Literal["exit", "timeout", "stop", "signalled", "unguarded", "lost"]
    code: int | None
    signal: int | None
    seconds: float
    text: str
    bytes_seen: int
    leftovers: int = 0
    survivors: int | None = 0
    unkept: str = ""


class Keeper:
    """The agent's end of the keeper process of a session, which is started by the first command.

    Use it from one event loop. After `close` the next command would start a new process.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self._listener: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[asyncio.subprocess.Process] | None = None
        self._waiting: dict[str, asyncio.Queue[_Heard]] = {}
        self._within = False  # a namespace of its own
        self.contained = False
        """Whether a keeper that is started from now on gets a PID namespace, where there is one to be had."""

    async def run(  # noqa: PLR0913 - what a command is made of
        self,
        command: str,
        *,
        call: str,
        cwd: Path,
        timeout: float,  # noqa: ASYNC109 - the keeper's to enforce, so that it holds if this loop is stuck
        stop: asyncio.Event,
        emit: Callable[[str], None],
        spool: Path,
        seal: str = "",
        began: Callable[[ProcessId], None] = lambda _: None,
    ) -> Finished:
        """Run `command` in a shell and return how it ended; setting `stop` or cancelling ends it and all it started.

        `began` is told its process as soon as there is one. With a `seal` its end is written down too. Raises
        `ToolFailed` if it was not started. Never starts a command twice.
        """
        process = await self._running()
        since = time.monotonic()
        known: list[ProcessId] = []
        heard = self._waiting[call] = asyncio.Queue()
        env = child_environment(os.environ, call=call)
        request = {"call": call, "command": command, "cwd": str(cwd), "env": env, "timeout": timeout, "seal": seal}
        self._send(process, {**request, "spool": str(spool)})
        stopper = asyncio.create_task(self._stop(process, call, stop))
        # The keeper bounds every ending; one that does not answer (stopped, starved) is killed, which is an answer.
        overdue = asyncio.get_running_loop().call_later(timeout + PATIENCE, _end, process)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        ended: Ended | None = None
        try:
            while True:
                match await heard.get():
                    case (_Live(dropped=dropped), data):
                        if text := decoder.decode(data):
                            emit(valid_unicode(text))
                        if dropped:
                            emit(f"\n[... {dropped} bytes are not shown here ...]\n")
                    case _Started(pid=pid, start=start, boot=boot):
                        if not self._within:  # else its pid means something in there only, and it needs no finding
                            known.append(ProcessId(pid=pid, start=start, boot=boot))
                            began(known[0])
                    case _Refused(why=why):
                        raise ToolFailed(f"The command could not be started: {why}. Nothing was run.")
                    case Ended() as ended:
                        return finished(ended, spool)
                    case None:
                        found = await in_daemon(lambda: reap({call}, known))
                        sure = (self._within or process.returncode == 0) and not found.left
                        return _lost(time.monotonic() - since, spool, found, sure=sure)
        finally:
            del self._waiting[call]
            overdue.cancel()
            stopper.cancel()
            if ended is None:
                self._send(process, {"call": call, "command": ""})

    async def capture(self, argv: Sequence[str], *, call: str, cwd: Path, spool: Path) -> tuple[int, bytes]:
        """Return the exit code and the stdout of a program that only looks for a call, such as a search.

        The output is cut after a megabyte and the program ended, as after 30 seconds; the code is then negative.
        Cancelling ends it. Raises `ToolFailed` if it could not be run to an end.
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
            output = read_alone(spool, CAPTURE_MOST)
        finally:
            forget(spool)
        if done.cause in ("lost", "signalled", "unguarded"):
            raise ToolFailed(
                f"Command {argv[0]!r} was ended when the process that ran it died, its own end was expected. Try again."
            )
        return done.code if done.code is not None else -(done.signal or 0), output

    async def close(self) -> None:
        """End every command and the keeper; returns within a few seconds whatever they do."""
        if self._starting is not None:
            await asyncio.wait([self._starting])
        process, listener = self._process, self._listener
        if process is not None and process.stdin is not None:
            process.stdin.close()
        if listener is not None:
            _, late = await asyncio.wait([listener], timeout=PATIENCE)
            if process is not None and late:
                _end(process)
            await listener

    async def _running(self) -> asyncio.subprocess.Process:
        """Return the keeper, started if there is none; raises `ToolFailed` if it does not become ready."""
        if self._process is not None:
            return self._process
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start())
        # Shielded, because asyncio can hang for ever when it is cancelled while it starts a process (Python 3.11.7).
        return await asyncio.shield(self._starting)

    async def _start(self) -> asyncio.subprocess.Process:
        started = await launched(self._folder, contained=self.contained)
        self._process, self._within = started.process, started.within
        self._listener = asyncio.create_task(self._listen(started))
        return started.process

    async def _listen(self, started: Launched) -> None:
        """Pass on what the keeper says until it and its guard are gone, then say so to whoever still waits."""
        answers, gone = started.answers, asyncio.create_task(started.gone())
        with contextlib.suppress(asyncio.IncompleteReadError):  # it died in the middle of a sentence
            while True:
                message = _decoder.decode(await answers.readuntil(b"\n"))
                heard = (message, await answers.readexactly(message.size)) if isinstance(message, _Live) else message
                if message.call in self._waiting:
                    self._waiting[message.call].put_nowait(heard)
        self._process = None
        if started.process.stdin is not None:
            started.process.stdin.close()  # nobody reads it, and it would stay open for as long as this loop
        with contextlib.suppress(TimeoutError):  # frozen, and left to whoever froze it
            await asyncio.wait_for(gone, PATIENCE)
        for queue in self._waiting.values():
            queue.put_nowait(None)

    async def _stop(self, process: asyncio.subprocess.Process, call: str, stop: asyncio.Event) -> None:
        await stop.wait()
        self._send(process, {"call": call, "command": ""})
        await asyncio.sleep(PATIENCE)
        _end(process)

    def _send(self, process: asyncio.subprocess.Process, request: Mapping[str, object]) -> None:
        """Write a request; that the keeper is gone is learned from its silence, not here."""
        if process.stdin is not None and not process.stdin.is_closing():
            process.stdin.write(msgspec.json.encode(request) + b"\n")


def _end(process: asyncio.subprocess.Process) -> None:
    """Have a keeper killed that does not answer; if its guard does not either, that too, and wait for nobody."""

    def kill() -> None:
        if process.returncode is None and process.stdout is not None:
            process.kill()
            process.stdout.feed_eof()

    if process.returncode is None:
        process.send_signal(signal.SIGQUIT)
        process.send_signal(signal.SIGCONT)  # it may be frozen
        asyncio.get_running_loop().call_later(SWEEP, kill)


def finished(ended: Ended, spool: Path) -> Finished:
    """Return how a command ended in the keeper's words, with what the model reads of its output."""
    unkept = ended.unkept
    try:
        text = _excerpt(spool, seen=ended.seen)
    except OSError as error:  # the command may have removed the file itself
        text, unkept = "", str(error)
    own = ended.status is not None and ended.status >= 0
    return Finished(
        cause=ended.cause,
        code=ended.status if own else None,
        signal=-ended.status if ended.status is not None and not own else None,
        seconds=ended.seconds,
        text=text,
        bytes_seen=ended.seen,
        leftovers=ended.leftovers,
        survivors=ended.survivors,
        unkept=unkept,
    )


def _lost(seconds: float, spool: Path, found: Remains, *, sure: bool) -> Finished:
    text = partial(spool)
    return Finished(
        cause="lost",
        code=None,
        signal=None,
        seconds=seconds,
        text=text,
        bytes_seen=spool.stat().st_size if text else 0,
        leftovers=len(found.ended),
        survivors=0 if sure else len(found.left) or None,
    )
