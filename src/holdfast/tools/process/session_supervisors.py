"""The supervisors of one session: for foreground commands, background tasks, and commands moved to the background.

Why more than one? A supervisor that does not answer is killed, and everything it runs ends with it: a server in the
background must not end because a later command froze its supervisor. And an orphan whose command is unknown ends with
the last command of its supervisor; next to a server it would never end.

Why is a moved command not handed over? Linux lets no process adopt another's living children. So the supervisor changes
its role instead: it keeps the moved command for as long as that runs, and the next foreground command starts a new one.
The process lives on undisturbed, and whatever ends the agent ends it as before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from holdfast.tool_calls import ProcessId
from holdfast.tools.process.command_end import CommandFinished
from holdfast.tools.process.launch import SUPERVISOR
from holdfast.tools.process.supervisor_client import Supervisor

if TYPE_CHECKING:
    from holdfast.system.confinement.entry import LaunchFields

_TASKS = f"{SUPERVISOR}-tasks"


class CommandRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A command to run in a shell in `cwd`.

    It is ended after `timeout` seconds, None: never. `spool` gets its output, `seal` marks the record of its end. In
    the `background` it runs next to the foreground commands, as long as anything that it started. `wall` is the one to
    start it in, None for none, and `hosts` are what it may reach from there. It reads the file `stdin`; with
    `split_errors`, its errors are in a file beside `spool`. `variables` are more of its environment.
    """

    command: str
    call: str
    cwd: Path
    timeout: float | None
    spool: Path
    seal: str = ""
    background: bool = False
    wall: LaunchFields | None = None
    hosts: tuple[str, ...] = ()
    stdin: str = ""
    split_errors: bool = False
    variables: Mapping[str, str] = MappingProxyType({})


class Supervisors:
    """The agent's connections to the supervisors of a session; each is started by its first command.

    Use it from one event loop.
    """

    def __init__(
        self, folder: Path, *, contained: bool = False, wrap: tuple[str, ...] = (), workspace: Path | None = None
    ) -> None:
        """Start none yet; with `contained`, each gets its own PID namespace, if available. `wrap` comes before it.

        No program of the `workspace` makes that namespace.
        """
        self._folder = folder
        self._workspace = () if workspace is None else (workspace,)
        self._contained = contained
        self._wrap = wrap
        self._first = self._new(SUPERVISOR)
        self._tasks: Supervisor | None = None
        self._moved: list[Supervisor] = []
        self._of: dict[str, Supervisor] = {}  # running commands

    def _new(self, name: str) -> Supervisor:
        supervisor = Supervisor(self._folder, name)
        supervisor.contained = self._contained
        supervisor.wrap = self._wrap
        supervisor.workspace = self._workspace
        return supervisor

    async def run(
        self,
        request: CommandRequest,
        *,
        stop: asyncio.Event,
        emit: Callable[[str], None],
        on_start: Callable[[ProcessId], None] = lambda _: None,
    ) -> CommandFinished:
        """Run the command and return how it ended, as `Supervisor.run` does."""
        supervisor = self._first
        if request.background:
            supervisor = self._tasks = self._tasks or self._new(_TASKS)
        self._of[request.call] = supervisor
        try:
            return await supervisor.run(
                request.command,
                call=request.call,
                cwd=request.cwd,
                timeout=request.timeout,
                stop=stop,
                emit=emit,
                on_start=on_start,
                spool=request.spool,
                seal=request.seal,
                wall=request.wall,
                hosts=request.hosts,
                stays=request.background,
                stdin=request.stdin,
                split_errors=request.split_errors,
                variables=request.variables,
            )
        finally:
            del self._of[request.call]
            if supervisor in self._moved and supervisor.is_idle:
                self._moved.remove(supervisor)
                await supervisor.close()

    def keep(self, call: str) -> None:
        """Let a running command go on in the background, without a time limit."""
        supervisor = self._of.get(call)
        if supervisor is None:
            return
        supervisor.keep(call)
        if supervisor is self._first:
            self._moved.append(supervisor)
            names = {each.name for each in self._moved}
            numbered = (f"{SUPERVISOR}-{number}" for number in count(2))
            self._first = self._new(next(name for name in numbered if name not in names))

    async def capture(self, argv: Sequence[str], *, call: str, cwd: Path, spool: Path) -> tuple[int, bytes]:
        """Return the exit code and stdout of a read-only program, as `Supervisor.capture` does."""
        return await self._first.capture(argv, call=call, cwd=cwd, spool=spool)

    async def close(self) -> None:
        """End every command and all supervisors, within a few seconds. What closing one raises comes after the rest."""
        tasks = [self._tasks] if self._tasks is not None else []
        every = (self._first, *tasks, *self._moved)
        for raised in await asyncio.gather(*(each.close() for each in every), return_exceptions=True):
            if raised is not None:
                raise raised
