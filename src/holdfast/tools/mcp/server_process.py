"""The process of an MCP server, run by a supervisor: whatever ends the agent ends the server and its children.

How it works. The agent listens on a socket in the session's folder and has the supervisor run `server_relay`, which
joins the socket, reads what to run, and starts the server. So the server is a supervised command like any other, but
its stdin and stdout are the socket; what the supervisor stores is its stderr, of bounded size.

Why not let the SDK start it? Its client leaves the server and the server's children alive when the agent is killed
(decision 0048).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import socket
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tools.mcp.server_state import STDERR
from holdfast.tools.process import server_relay
from holdfast.tools.process.command_end import CommandFinished, stored_output
from holdfast.tools.process.launch import PACKAGES
from holdfast.tools.process.supervisor_client import Supervisor, forget

if TYPE_CHECKING:
    from holdfast.system.confinement.entry import LaunchFields

JOINS_WITHIN = 20.0
"""Seconds that the relay may take to join: a Python starts, on a busy machine."""

ENDS_WITHIN = 0.5
"""Seconds that a server gets to end by itself once its stdin is closed."""

_LAST_LINES = 20
_LAST_CHARACTERS = 2_000


class ServerCommand(msgspec.Struct, frozen=True, kw_only=True):
    """What to run: a program and its arguments, in the folder `cwd`, with `env` added to the environment.

    With a `wall`, inside it, in its folder and with its environment; it reaches the `hosts`.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    wall: LaunchFields | None = None
    hosts: tuple[str, ...] = ()


class ServerProcess:
    """A running server: it reads what is written to `writer`, and `reader` has what it writes."""

    def __init__(
        self,
        *,
        run: asyncio.Task[CommandFinished],
        stop: asyncio.Event,
        spool: Path,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._run = run
        self._stop = stop
        self._spool = spool
        self.reader, self.writer = streams

    @property
    def log(self) -> str:
        """Return the last lines that it wrote on stderr, "" if there are none."""
        return _last(stored_output(self._spool))

    async def how_it_ended(self, within: float) -> str:
        """Return how the server ended and its last stderr lines; wait up to `within` seconds for its end."""
        await asyncio.wait({self._run}, timeout=within)
        stderr = last_lines(stored_output(self._spool))
        if self._stop.is_set():
            return f"holdfast ended it.{stderr}"
        if not self._run.done():
            return f"It closed its output and still runs.{stderr}"
        if self._run.cancelled() or self._run.exception() is not None:
            return f"How it ended is unknown.{stderr}"
        done = self._run.result()
        if (
            done.code == server_relay.NOT_RUN and self.log and "\n" not in self.log
        ):  # it was not found, or cannot be run
            return f"{self.log.rstrip('.')}."
        return f"{_ending(done)}{stderr}"

    async def end(self, within: float = ENDS_WITHIN) -> None:
        """Close its stdin, give it `within` seconds, then have the supervisor end it with all its processes."""
        with contextlib.suppress(OSError):  # it has ended
            if self.writer.can_write_eof():
                self.writer.write_eof()
        await asyncio.wait({self._run}, timeout=within)
        self._stop.set()
        await asyncio.wait({self._run})
        self.writer.close()
        forget(self._spool)


async def start_server(supervisor: Supervisor, command: ServerCommand, *, call: str, folder: Path) -> ServerProcess:
    """Start a server and return it once it has its socket; raises `ToolFailed` if it was not started.

    `call` marks its processes, `folder` takes the socket and its stderr.
    """
    name = call.replace(":", "-")
    spool, stop = folder / name, asyncio.Event()
    with _listening(folder, f"{name}.socket") as listener:
        loop = asyncio.get_running_loop()
        relay = ("exec", sys.executable, "-I", "-S", "-c", server_relay.RELAY_PROGRAM, str(PACKAGES), f"{name}.socket")
        run = loop.create_task(
            supervisor.run(
                shlex.join(relay), call=call, cwd=folder, timeout=None, stop=stop, emit=lambda _: None, spool=spool
            ),
            name=f"server {call}",
        )
        run.add_done_callback(lambda done: done.cancelled() or done.exception())  # raised where it is awaited
        joined = loop.create_task(loop.sock_accept(listener))
        try:
            await asyncio.wait({run, joined}, timeout=JOINS_WITHIN, return_when=asyncio.FIRST_COMPLETED)
            connection = _accepted(joined, run)
            request = msgspec.json.encode(command)
            await loop.sock_sendall(connection, len(request).to_bytes(8, "big") + request)
            return ServerProcess(
                run=run, stop=stop, spool=spool, streams=await asyncio.open_connection(sock=connection)
            )
        except BaseException:
            joined.cancel()
            stop.set()
            raise


def _accepted(joined: asyncio.Task[tuple[socket.socket, object]], run: asyncio.Task[CommandFinished]) -> socket.socket:
    if not joined.done():
        raise ToolFailed(f"Its process did not start{_why(run)}. Nothing was sent.")
    return joined.result()[0]


@contextlib.contextmanager
def _listening(folder: Path, name: str) -> Generator[socket.socket]:
    """Yield a socket that listens at `name` in the folder, also if the path is too long for a socket."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    path = f"/proc/self/fd/{place}/{name}"
    try:
        listener.setblocking(False)  # noqa: FBT003 - the socket's own interface
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108 - a path of the kernel's
        listener.bind(path)
        listener.listen(1)
        yield listener
    finally:
        listener.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108 - likewise
        os.close(place)


def _why(run: asyncio.Task[CommandFinished]) -> str:
    if not run.done() or run.cancelled():
        return f" within {JOINS_WITHIN:.0f} s"
    error = run.exception()
    return f": {error}" if error is not None else f": {_ending(run.result())}"


def _ending(done: CommandFinished) -> str:
    match done.cause:
        case "exit" if done.signal is not None:
            return f"It was killed by signal {done.signal}."
        case "exit":
            return f"It exited with code {done.code}."
        case "stop" | "timeout":
            return "holdfast ended it."
        case "signalled" | "unguarded" | "lost":
            return "It ended with the process that supervises it."


def last_lines(text: str) -> str:
    """Return the last lines of a server's stderr as a part of a message, "" if there are none."""
    last = _last(text)
    return f" {STDERR}\n{last}" if last else ""


def _last(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-_LAST_LINES:])[-_LAST_CHARACTERS:]
