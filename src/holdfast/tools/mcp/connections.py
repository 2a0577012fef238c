"""The MCP servers of one session: each is started by the first call that needs it, and ends with the session.

A server that cannot be reached fails the calls that need it, and nothing else. A server is not started again while a
call runs, and after three starts within a minute not before a minute has passed. The SDK is imported on a thread when
the first server is needed: it takes more than a second.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.confinement.entry import move_appeared
from holdfast.system.durable_files import make_folder
from holdfast.system.threads import in_daemon
from holdfast.tool_calls import Effect, RemoteCall
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.server_process import ENDS_WITHIN, ServerCommand, ServerProcess, start_server
from holdfast.tools.mcp.server_state import ServerReports, ServerState
from holdfast.tools.mcp.sign_in import SignInStore
from holdfast.tools.mcp.stored_tools import StoredTools, ToolList
from holdfast.tools.mcp.tool_names import ListedTool, names_for_model, server_prefix, server_word
from holdfast.tools.process.launch import SUPERVISOR
from holdfast.tools.process.supervisor_client import Supervisor
from holdfast.tools.tool import ToolContext, ToolOutput

if TYPE_CHECKING:
    from holdfast.system.confinement.entry import LaunchFields
    from holdfast.tools.mcp.sdk.connection import ServerConnection


_SERVERS = f"{SUPERVISOR}-servers"
_STARTS = 3
_STARTS_WITHIN = 60.0


class McpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The servers that may be asked, and the folder with the lists of their tools, which need not exist.

    `can_ask_user`: there is a user whom servers may ask. `sign_ins` stores the user's sign-ins, None if unused.
    `known` has what is known of the servers.
    """

    servers: tuple[McpServer, ...] = ()
    lists: Path
    can_ask_user: bool = False
    sign_ins: SignInStore | None = None
    known: ServerReports = msgspec.field(default_factory=ServerReports)

    @property
    def stored(self) -> StoredTools:
        """Return the lists of tools."""
        return StoredTools(self.lists, can_ask_user=self.can_ask_user)


class McpConnections:
    """The connections of one session. Use it from one event loop."""

    def __init__(self, settings: McpSettings, *, folder: Path, spool: Path, root: Path) -> None:
        """Connect to none yet. `folder` is the session's, `spool` takes sockets and stderr, `root` is the workspace."""
        self.servers: Mapping[str, McpServer] = {each.name: each for each in settings.servers}
        self._stored, self._can_ask_user = settings.stored, settings.can_ask_user
        self._sign_ins, self._reports = settings.sign_ins, settings.known
        self._folder, self._spool, self._root = folder, spool, root
        self._supervisor = Supervisor(folder, _SERVERS)
        self._opening: dict[str, asyncio.Task[ServerConnection]] = {}
        self._starts: dict[str, list[float]] = {}
        self._logs: dict[str, str] = {}  # of servers that were ended
        self._walls: dict[str, LaunchFields] = {}  # of those that are confined
        self._turns: dict[str, asyncio.Lock] = {}
        self._number = 0

    def contain(self) -> None:
        """Run servers in a PID namespace, as commands are."""
        self._supervisor.contained = True

    async def listed(self, server: str, stop: asyncio.Event) -> ToolList:
        """Return what a server lists now; raises `ToolFailed` if it cannot be reached or `stop` was set."""
        return (await self._connected(server, stop)).listed

    async def call(
        self,
        server: str,
        name: str,
        arguments: Mapping[str, object],
        context: ToolContext,
        *,
        effect: Effect = "remote",
    ) -> ToolOutput:
        """Call the tool that models call `name` and return its output; raises `ToolFailed`.

        `effect` is the approved effect: with "read", the call is sent only if the server still marks the tool as
        read-only.
        """
        async with self._turn(server, context.stop):
            connection = await self._connected(server, context.stop)
            tools = names_for_model(server, connection.listed.tools)
            if (tool := tools.get(name)) is None:
                raise ToolFailed(
                    f"MCP server {server!r} does not offer {name!r} (it offers {_some(tools)}). Nothing was sent."
                )
            if effect == "read" and not tool.reads:
                raise ToolFailed(
                    f"MCP server {server!r} no longer says that {name!r} only reads. Nothing was sent. "
                    "Call it again: then it needs approval."
                )
            return await self._settled(server, connection.call(tool.name, arguments, context))

    async def _settled(self, server: str, running: Awaitable[ToolOutput]) -> ToolOutput:
        """Return the output of a call, when what a confined server put where git would obey it has been moved away."""
        moved: list[str] = []
        try:
            output = await running
        finally:
            if (wall := self._walls.get(server)) is not None:
                moved = await in_daemon(lambda: move_appeared(wall))
        lines = (f"[{path!r} appeared: git would take its settings from there. It was moved away.]" for path in moved)
        return msgspec.structs.replace(output, text="\n".join((output.text, *lines))) if moved else output

    @asynccontextmanager
    async def _turn(self, server: str, stop: asyncio.Event) -> AsyncGenerator[None]:
        """Run one call of a server at a time, so that its questions belong to a call. Raises `ToolFailed` on a stop."""
        turn = self._turns.setdefault(server, asyncio.Lock())
        acquired, stopped = asyncio.ensure_future(turn.acquire()), asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({acquired, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not acquired.done():
                raise ToolFailed(f"Stopped before MCP server {server!r} was asked. Nothing was sent.")
            yield
        finally:
            stopped.cancel()
            if acquired.done() and not acquired.cancelled():
                turn.release()
            acquired.cancel()

    def effect(self, server: str, name: str) -> Effect:
        """Return `read` if the user trusts the server's hints and it marks the tool as read-only, else `remote`."""
        configured = self.servers[server]
        listed = self._stored.get(configured) if configured.trust_hints else None
        tool = names_for_model(server, () if listed is None else listed.tools).get(name)
        return "read" if tool is not None and tool.reads else "remote"

    def remote_call(self, server: str, name: str) -> RemoteCall:
        """Return the tool that models call `name`, by the server's name for it if known."""
        listed = self._stored.get(self.servers[server])
        tool = names_for_model(server, () if listed is None else listed.tools).get(name)
        tool_name = name.removeprefix(server_prefix(server)) if tool is None else tool.name
        return RemoteCall(server=server, tool=tool_name, protocol="" if listed is None else listed.protocol)

    async def read(self, server: str, uri: str, context: ToolContext) -> ToolOutput:
        """Return a resource of a server, or without a URI what it has; raises `ToolFailed`."""
        connection = await self._connected(server, context.stop)
        return await self._settled(server, connection.read(uri, context))

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str], stop: asyncio.Event) -> str:
        """Return the text of a server's prompt; raises `ToolFailed`."""
        return await (await self._connected(server, stop)).prompt(name, arguments, stop)

    def known(self) -> Mapping[str, Sequence[ListedTool]]:
        """Return the stored tools of each server that has some. Asks none."""
        lists = {name: self._stored.get(server) for name, server in self.servers.items()}
        return {name: listed.tools for name, listed in lists.items() if listed is not None}

    async def states(self) -> tuple[ServerState, ...]:
        """Return the state of each server. Starts none."""
        return tuple([await self._state(each) for each in self.servers])

    async def _state(self, server: str) -> ServerState:
        opening, log = self._opening.get(server), self._logs.get(server, "")
        if opening is None or opening.cancelled():
            return ServerState(server=server)
        if not opening.done():
            return ServerState(server=server, state="starting", log=log)
        if (error := opening.exception()) is not None:
            return ServerState(server=server, state="failed", why=str(error), log=log)
        connection = opening.result()
        return ServerState(
            server=server,
            state="ended" if connection.is_over else "connected",
            why=await connection.why_over() if connection.is_over else "",
            version=connection.listed.version,
            tools=len(connection.listed.tools),
            unusable=connection.listed.unusable,
            skipped=connection.skipped,
            log=connection.log,
        )

    async def restart(self, server: str, stop: asyncio.Event) -> None:
        """End a server and start it again, however often it has ended; raises `ToolFailed`, also during a call."""
        opening = self._opening.get(server)
        connection = None if opening is None or not opening.done() or _failed(opening) else opening.result()
        if connection is not None and connection.is_calling:
            raise ToolFailed(f"MCP server {server!r} was not restarted: a call of it runs. Press Esc first, or wait.")
        if opening is not None and not opening.done():
            opening.cancel()
            await asyncio.wait({opening})
        if connection is not None:
            await connection.close(ENDS_WITHIN)
        self._opening.pop(server, None)
        self._starts.pop(server, None)
        await self._connected(server, stop)

    async def _connected(self, server: str, stop: asyncio.Event) -> ServerConnection:
        """Return an open connection, waiting for it until `stop` is set; raises `ToolFailed`."""
        opening = self._opening.get(server)
        if opening is None or (opening.done() and _is_over(opening)):
            self._count_start(server)
            opening = self._opening[server] = asyncio.create_task(
                self._open(self.servers[server], opening), name=f"mcp open {server}"
            )
            opening.add_done_callback(lambda done: done.cancelled() or done.exception())  # each call raises it
        stopped = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({opening, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
        if not opening.done():
            raise ToolFailed(f"Stopped while MCP server {server!r} was starting. Nothing was sent.")
        if opening.cancelled():
            raise ToolFailed(f"MCP server {server!r} was not started: the session ends. Nothing was sent.")
        return opening.result()

    def _count_start(self, server: str) -> None:
        now = time.monotonic()
        starts = [each for each in self._starts.get(server, ()) if now - each < _STARTS_WITHIN]
        if len(starts) >= _STARTS:
            raise ToolFailed(
                f"MCP server {server!r} ended {_STARTS} times within {_STARTS_WITHIN:.0f} s and is not started again "
                f"yet. Nothing was sent. Continue without it, or look at what it says: holdfast mcp test {server}."
            )
        self._starts[server] = [*starts, now]

    async def _open(self, server: McpServer, before: asyncio.Task[ServerConnection] | None) -> ServerConnection:
        if before is not None and not before.cancelled() and before.exception() is None:
            await before.result().close(0.0)
        process: ServerProcess | None = None
        try:
            expanded = server.expanded(os.environ)
            connect = await in_daemon(_connection_type)
            if not expanded.url:
                process = await self._start(expanded)
            connection = connect(
                expanded,
                process,
                can_ask_user=self._can_ask_user,
                sign_ins=self._sign_ins,
                changed=lambda listed: self._stored.put(server, listed),
            )
            await connection.open()
        except ToolFailed as failed:
            if process is not None:
                self._logs[server.name] = process.log
                await process.end(0.0)
            why = _as_sentence(str(failed).removeprefix(f"MCP server {server.name!r} cannot be used: "))
            self._reports.failed(server.name, why)
            raise ToolFailed(f"MCP server {server.name!r} cannot be reached: {why} Nothing was sent.") from failed
        except BaseException:
            if process is not None:
                await process.end(0.0)
            raise
        self._stored.put(server, connection.listed)
        self._reports.works(server.name)
        return connection

    async def _start(self, server: McpServer) -> ServerProcess:
        self._number += 1
        word, cwd = server_word(server.name), self._root / server.cwd
        call = f"mcp-{self._folder.name}-{word}-{self._number}"
        command = ServerCommand(argv=(server.command, *server.args), env=server.env, cwd=str(cwd))
        if server.sandbox:
            from holdfast.tools.server_sandbox import ServerSandbox, ServerStart

            sandbox = ServerSandbox(self._root, self._folder, contained=self._supervisor.contained)
            start = ServerStart(word=word, cwd=cwd, variables=server.env, hosts=server.network)
            wall = await in_daemon(lambda: sandbox.launch_fields(start, call=call))
            command = msgspec.structs.replace(command, wall=wall, hosts=server.network)
            self._walls[server.name] = wall
        return await start_server(self._supervisor, command, call=call, folder=self._spool)

    async def close(self) -> None:
        """End all connections and every server, within a second or a little more."""
        openings = tuple(self._opening.values())
        for opening in openings:
            opening.cancel()
        if openings:
            await asyncio.wait(openings, timeout=ENDS_WITHIN)
        open_ = [each.result() for each in openings if each.done() and not each.cancelled() and not each.exception()]
        await asyncio.gather(*(each.close(ENDS_WITHIN) for each in open_))
        await self._supervisor.close()


def _connection_type() -> type[ServerConnection]:
    """Return the class, whose import loads the SDK; raises `ToolFailed` if it is not installed."""
    try:
        from holdfast.tools.mcp.sdk.connection import ServerConnection  # more than a second, when a server is needed
    except ImportError as error:
        raise ToolFailed(
            "MCP servers need the package 'mcp', which is not installed. Install it: pip install 'holdfast[mcp]'. "
            "Nothing was sent."
        ) from error
    return ServerConnection


def _is_over(opening: asyncio.Task[ServerConnection]) -> bool:
    return _failed(opening) or opening.result().is_over


def _failed(opening: asyncio.Task[ServerConnection]) -> bool:
    return opening.cancelled() or opening.exception() is not None


def _some(names: Mapping[str, object]) -> str:
    shown = ", ".join(list(names)[:10])
    return (shown + (f" and {len(names) - 10} more" if len(names) > 10 else "")) or "no tools"  # noqa: PLR2004 - as shown


def _as_sentence(sentence: str) -> str:
    text = sentence.removesuffix(" Nothing was sent.")
    return text if text.endswith((".", "\n")) else f"{text}."


# --- Asks MCP servers for their tools outside a session, so that the next session can declare them ---


async def ask_servers(settings: McpSettings, *, cwd: Path, within: float) -> Mapping[str, ToolList | str]:
    """Start each server, store its list of tools and end it again; return the lists, or why there is none.

    Takes up to `within` seconds. Raises `OSError` if no folder for it can be made.
    """
    make_folder(settings.lists)
    with tempfile.TemporaryDirectory(prefix="ask-", dir=settings.lists, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        connections = McpConnections(settings, folder=folder, spool=folder, root=cwd)
        stop = asyncio.Event()
        timer = asyncio.get_running_loop().call_later(within, stop.set)

        async def ask(server: str) -> ToolList | str:
            try:
                return await connections.listed(server, stop)
            except ToolFailed as failed:
                if stop.is_set():
                    settings.known.failed(server, f"It did not answer within {within:g} s.")
                return str(failed)

        try:
            answers = await asyncio.gather(*(ask(each.name) for each in settings.servers))
            return {server.name: answer for server, answer in zip(settings.servers, answers, strict=True)}
        finally:
            timer.cancel()
            await connections.close()


def unknown_servers(settings: McpSettings) -> McpSettings:
    """Return the settings with only those servers whose tools are not known yet."""
    servers = tuple(each for each in settings.servers if settings.stored.get(each) is None)
    return msgspec.structs.replace(settings, servers=servers)
