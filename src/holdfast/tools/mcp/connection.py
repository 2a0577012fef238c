"""One connection to an MCP server: the official SDK speaks, over a transport and a process that are ours.

How it works. The SDK's client lives in one task, from the handshake to the end. Each call runs in another task, so that
nothing that the SDK waits for delays a stop: the stop cancels that task, which tells the server, and goes on. A
connection that has ended is never used again; the next call makes a new one.

What is known of a call is what was sent. Before its request was written, nothing was sent. After that, only an answer
says what happened: a server that ends, does not answer or is asked to stop leaves an unknown effect, `interrupted`. No
request is ever sent twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, Implementation

from holdfast import __version__
from holdfast.errors import ToolFailed
from holdfast.tools.mcp.call_result import result_output
from holdfast.tools.mcp.line_transport import LineTraffic, line_transport
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.server_process import ServerProcess
from holdfast.tools.mcp.stored_tools import ToolList
from holdfast.tools.mcp.tool_names import ListedTool
from holdfast.tools.tool import ToolContext, ToolOutput

MOST_SILENCE = 300.0
"""Seconds without an answer or progress after which a call is given up."""

LONGEST_CALL = 3600.0
"""Seconds after which a call is given up whatever progress it makes."""

OPENS_WITHIN = 60.0
"""Seconds that a server may take for the handshake and the list of its tools: some are downloaded first."""

_LETS_GO = 0.3  # seconds that the SDK may take to tell the server of a stop
_MOST_PAGES = 100
_UNKNOWN = "Whether it acted is unknown: look before you repeat it."

# Without this, the SDK's records reach stderr, which is the user's terminal.
logging.getLogger("mcp").addHandler(logging.NullHandler())
logging.getLogger("mcp").propagate = False


class ServerConnection:
    """A connection that is open, or was. `listed` is what the server said of itself."""

    def __init__(self, server: McpServer, process: ServerProcess | None) -> None:
        """Create it for a server, with its values, that runs as `process`, or None for one at a URL."""
        self._server = server
        self._process = process
        self._client: Client | None = None
        self._over = asyncio.Event()
        self._traffic = LineTraffic()
        self._task: asyncio.Task[None] | None = None
        self.listed = ToolList()

    @property
    def is_over(self) -> bool:
        """Return whether nothing can be asked of it any more."""
        return self._over.is_set() or self._client is None

    @property
    def skipped(self) -> int:
        """Return how many lines the server printed that are no messages."""
        return self._traffic.skipped

    async def open(self) -> None:
        """Shake hands and list the tools; raises `ToolFailed` if that fails: then nothing was asked of a tool."""
        opened = asyncio.Event()
        task = self._task = asyncio.create_task(self._live(opened), name=f"mcp {self._server.name}")
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # told below, or by a call
        ready = asyncio.ensure_future(opened.wait())
        over = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait({task, ready, over}, timeout=OPENS_WITHIN, return_when=asyncio.FIRST_COMPLETED)
            if opened.is_set():
                return
            await asyncio.wait({task}, timeout=_LETS_GO)
            why = f"It did not answer within {OPENS_WITHIN:.0f} s."
            error = task.exception() if task.done() and not task.cancelled() else None
            if error is not None and (self._process is None or (isinstance(error, MCPError) and not _is_end(error))):
                why = _reason(error)
            elif self._over.is_set():
                why = await self._end_of_server()
            raise _not_opened(why)
        finally:
            ready.cancel()
            over.cancel()

    async def _live(self, opened: asyncio.Event) -> None:
        info = Implementation(name="holdfast", version=__version__)
        try:
            async with Client(self._transport(), client_info=info, cache=None) as client:
                self.listed = await _listed(client)
                self._client = client
                opened.set()
                await self._over.wait()
        finally:
            self._over.set()

    @asynccontextmanager
    async def _transport(self) -> AsyncGenerator[TransportStreams]:
        if self._process is not None:
            process = self._process
            async with line_transport(process.reader, process.writer, self._traffic, self._over.set) as streams:
                yield streams
            return
        timeout = httpx2.Timeout(30.0, read=LONGEST_CALL)
        async with (
            httpx2.AsyncClient(headers=dict(self._server.headers), timeout=timeout) as http,
            streamable_http_client(self._server.url, http_client=http) as streams,
        ):
            yield streams

    async def call(self, tool: str, arguments: Mapping[str, object], context: ToolContext) -> ToolOutput:
        """Call a tool once and return its output, `interrupted` if what it did is unknown; raises `ToolFailed`."""
        client = self._client
        if client is None or self._over.is_set():
            raise ToolFailed(f"MCP server {self._server.name!r} is not connected. Nothing was sent.")
        loop = asyncio.get_running_loop()
        since = heard = loop.time()

        async def progress(done: float, total: float | None, message: str | None) -> None:
            nonlocal heard
            heard = loop.time()
            context.emit(f"{_progress(done, total)}{f': {message}' if message else ''}\n")

        task = asyncio.create_task(_asked(client, tool, dict(arguments), progress), name=f"mcp call {context.call}")
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        stopped = asyncio.ensure_future(context.stop.wait())
        over = asyncio.ensure_future(self._over.wait())
        hard = self._server.timeout or LONGEST_CALL
        try:
            while not task.done():
                left = min(since + hard, heard + max(MOST_SILENCE, self._server.timeout or 0)) - loop.time()
                if stopped.done():
                    return await self._given_up(task, f"MCP server {self._server.name!r} was asked to stop.")
                if left <= 0:
                    seconds = round(loop.time() - since)
                    return await self._given_up(
                        task,
                        f"MCP server {self._server.name!r} gave no answer within {seconds} s and was asked to stop.",
                    )
                if over.done():
                    await asyncio.wait({task}, timeout=_LETS_GO)
                    break
                await asyncio.wait({task, stopped, over}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            return await self._outcome(task)
        finally:
            stopped.cancel()
            over.cancel()
            task.cancel()

    async def _outcome(self, task: asyncio.Task[bytes]) -> ToolOutput:
        if not task.done() or task.cancelled():
            return await self._lost("")
        error = task.exception()
        if error is None:
            return result_output(task.result())
        if isinstance(error, MCPError):
            if self._over.is_set() or _is_end(error):
                return await self._lost(_reason(error))
            raise ToolFailed(f"MCP server {self._server.name!r} answered with an error: {_reason(error)}.")
        if isinstance(error, Exception):
            return await self._lost(_reason(error))
        raise error

    async def _given_up(self, task: asyncio.Task[bytes], why: str) -> ToolOutput:
        """Cancel the call, which tells the server; an answer that has just come still counts."""
        task.cancel()
        await asyncio.wait({task}, timeout=_LETS_GO)
        if task.done() and not task.cancelled() and task.exception() is None:
            return result_output(task.result())
        return ToolOutput(text=f"{why} {_UNKNOWN}", interrupted=True)

    async def _lost(self, why: str) -> ToolOutput:
        said = await self._end_of_server() if self._process is not None and self._over.is_set() else why
        text = (
            f"The connection to MCP server {self._server.name!r} ended during this call: {said.rstrip('.')}. {_UNKNOWN}"
        )
        return ToolOutput(text=text, interrupted=True)

    async def _end_of_server(self) -> str:
        """Return why the connection is over, in words that continue a sentence or are one."""
        if self._traffic.fault:
            return self._traffic.fault
        return "the server closed it" if self._process is None else await self._process.how_it_ended(1.0)

    async def close(self, within: float) -> None:
        """Give up the connection and end the server's process, which gets `within` seconds to end by itself."""
        self._over.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=_LETS_GO)
            self._task.cancel()
        if self._process is not None:
            await self._process.end(within)


def _not_opened(why: str) -> ToolFailed:
    return ToolFailed(why)


async def _asked(client: Client, tool: str, arguments: dict[str, object], progress: Callable[..., object]) -> bytes:
    result = await client.call_tool(tool, arguments, progress_callback=progress)  # pyright: ignore[reportArgumentType] - the SDK's protocol has no name for it
    return result.model_dump_json(by_alias=True).encode()


async def _listed(client: Client) -> ToolList:
    tools: list[ListedTool] = []
    cursor: str | None = None
    if client.server_capabilities.tools is not None:
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            tools += (
                ListedTool(name=each.name, description=each.description or "", parameters=dict(each.input_schema))
                for each in page.tools
            )
            cursor = page.next_cursor
            if cursor is None:
                break
    info = client.server_info
    version = "" if info is None else f"{info.name} {info.version}"
    tools.sort(key=lambda each: each.name)
    return ToolList(tools=tuple(tools), version=version, protocol=client.protocol_version)


def _progress(done: float, total: float | None) -> str:
    return f"{done:g}" if total is None else f"{done:g}/{total:g}"


def _is_end(error: MCPError) -> bool:
    """Return whether the SDK says that the connection ended, and not the server something else."""
    return error.error.code == CONNECTION_CLOSED


def _reason(error: BaseException) -> str:
    """Return what went wrong, in words that continue a sentence."""
    if isinstance(error, BaseExceptionGroup):
        return _reason(error.exceptions[0])  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType] - narrowed without its type
    if isinstance(error, MCPError):
        return f"{error.error.message} (code {error.error.code})".rstrip()
    if isinstance(error, httpx2.HTTPStatusError):
        return f"HTTP {error.response.status_code}"
    return f"{type(error).__name__}: {error}".rstrip(": ")
