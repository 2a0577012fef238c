"""One connection to an MCP server: the official SDK, over holdfast's own transport and process.

How it works. The SDK's client lives in one task, from the handshake to the end. Each call runs in another task, so that
nothing that the SDK waits for delays a stop (`server_call`). A connection that has ended is never used again; the next
call makes a new one. When the server reports that its lists have changed, they are requested once the notices pause.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

import httpx2
import msgspec
from mcp.client._transport import TransportStreams
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    ElicitRequestParams,
    ElicitResult,
    Implementation,
    PromptListChangedNotification,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from holdfast import __version__
from holdfast.errors import ToolFailed
from holdfast.system.network_variables import ANY_ADDRESS, network_fault
from holdfast.tools.mcp.call_result import result_output
from holdfast.tools.mcp.sdk.http_bodies import HEADERS, bound_body
from holdfast.tools.mcp.sdk.line_transport import line_transport
from holdfast.tools.mcp.sdk.listing import list_offered, prompt_text, resource, resource_list
from holdfast.tools.mcp.sdk.server_call import LETS_GO, LONGEST_CALL, ServerCall, is_end, reason_of, transport_reason
from holdfast.tools.mcp.sdk.sign_in import SessionSignIn
from holdfast.tools.mcp.sdk.traffic import LARGEST_MESSAGE, Traffic, with_traffic
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.server_process import ServerProcess
from holdfast.tools.mcp.sign_in import SignInStore, needs_sign_in
from holdfast.tools.mcp.stored_tools import ToolList
from holdfast.tools.tool import ToolContext, ToolOutput
from holdfast.typed_data import decode_json

if TYPE_CHECKING:
    from httpx2._client import UseClientDefault
    from httpx2._types import AuthTypes

OPENS_WITHIN = 60.0
"""Seconds that a server may take for the handshake and the list of its tools: some are downloaded first."""

T = TypeVar("T")

_ANSWERS_WITHIN = 60.0  # seconds for a resource or a prompt
_COALESCED = 0.2  # seconds without a further notice of change, after which the lists are asked for
_RELISTS_WITHIN = 30.0

# Without this, the SDK's records reach stderr, which is the user's terminal.
logging.getLogger("mcp").addHandler(logging.NullHandler())
logging.getLogger("mcp").propagate = False


class _Error(msgspec.Struct):
    code: int


class _ErrorAnswer(msgspec.Struct):
    error: _Error


class _Message(msgspec.Struct):
    method: str = ""
    id: int | str | None = None


class ServerConnection:
    """A connection that is open, or was. `listed` is what the server offers."""

    def __init__(
        self,
        server: McpServer,
        process: ServerProcess | None,
        *,
        can_ask_user: bool,
        sign_ins: SignInStore | None,
        changed: Callable[[ToolList], None],
    ) -> None:
        """Create it for a server, with its values, that runs as `process`, or None for one at a URL.

        `can_ask_user`: the server may ask the user. One at a URL uses the user's `sign_ins`; `changed` gets its lists
        when they have changed.
        """
        self._server = server
        self._process = process
        signs = sign_ins is not None and server.url and "authorization" not in map(str.lower, server.headers)
        self._auth = SessionSignIn(server.url, sign_ins) if sign_ins is not None and signs else None
        self._can_ask_user = can_ask_user
        self._changed = changed
        self._client: Client | None = None
        self._over = asyncio.Event()
        self._closed = False  # whether the server's output has ended
        self._traffic = Traffic()
        self._task: asyncio.Task[None] | None = None
        self._call: ServerCall | None = None
        self._lists_changed = asyncio.Event()
        self._session_lost = False  # whether the server no longer knows the session of its address
        self._call_refused = False  # whether it refused the call itself for that, and not a message about it
        self.listed = ToolList()

    @property
    def is_over(self) -> bool:
        """Return whether it accepts no more requests."""
        return self._over.is_set() or self._client is None

    @property
    def skipped(self) -> int:
        """Return how many lines the server printed that are not messages."""
        return self._traffic.skipped

    @property
    def is_calling(self) -> bool:
        """Return whether a call runs."""
        return self._call is not None

    @property
    def log(self) -> str:
        """Return the last lines that the server wrote on stderr, "" if there are none."""
        return "" if self._process is None else self._process.log

    async def why_over(self) -> str:
        """Return why the connection ended, without waiting for more."""
        if self._traffic.fault or self._process is None:
            return await self._end_of_server()
        return await self._process.how_it_ended(0.0)

    async def open(self) -> None:
        """Shake hands and list the tools; raises `ToolFailed` if that fails: then no tool was called."""
        if self._server.url and (why := network_fault(os.environ, self._server.url, *ANY_ADDRESS)):
            raise ToolFailed(why)
        opened = asyncio.Event()
        task = self._task = asyncio.create_task(self._run(opened), name=f"mcp {self._server.name}")
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # raised below, or by a call
        ready = asyncio.ensure_future(opened.wait())
        over = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait({task, ready, over}, timeout=OPENS_WITHIN, return_when=asyncio.FIRST_COMPLETED)
            if opened.is_set():
                return
            await asyncio.wait({task}, timeout=LETS_GO)
            why = f"It did not answer within {OPENS_WITHIN:.0f} s."
            error = task.exception() if task.done() and not task.cancelled() else None
            if self._auth is not None and self._auth.refused:
                why = self._auth.fault or needs_sign_in(self._server.name)
            elif self._traffic.fault:
                why = self._traffic.fault
            elif error is not None and not (self._closed and self._process is not None and is_end(error)):
                why = reason_of(error)
            elif self._over.is_set():
                why = await self._end_of_server()
            raise ToolFailed(why)
        finally:
            ready.cancel()
            over.cancel()

    async def _run(self, opened: asyncio.Event) -> None:
        info = Implementation(name="holdfast", version=__version__)
        elicited = self._on_elicitation if self._can_ask_user else None
        try:
            async with Client(
                self._transport(),
                client_info=info,
                cache=None,
                elicitation_callback=elicited,
                message_handler=self._on_message,
            ) as client:
                self._traffic.cancels_by_closing = bool(self._server.url) and _is_modern(client)
                self._traffic.version = client.protocol_version
                self.listed = await list_offered(client, self._traffic)
                self._client = client
                opened.set()
                watching = [asyncio.create_task(self._relist(client)), asyncio.create_task(self._listen(client))]
                try:
                    await self._over.wait()
                finally:
                    for task in watching:
                        task.cancel()
                    await asyncio.wait(watching, timeout=LETS_GO)
        finally:
            self._over.set()

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification | PromptListChangedNotification):
            self._lists_changed.set()

    async def _listen(self, client: Client) -> None:
        """Subscribe to list changes, which servers of the newer protocol report only to subscribers."""
        tools = client.server_capabilities.tools
        if not _is_modern(client) or tools is None or not tools.list_changed:
            return
        with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, httpx2.HTTPError):
            async with client.listen(tools_list_changed=True, prompts_list_changed=True) as events:
                async for _ in events:
                    self._lists_changed.set()

    async def _relist(self, client: Client) -> None:
        """Ask for the lists again, once after any number of notices that follow each other closely."""
        while True:
            await self._lists_changed.wait()
            while self._lists_changed.is_set():
                self._lists_changed.clear()
                await asyncio.sleep(_COALESCED)
            with suppress(MCPError, httpx2.HTTPError, TimeoutError):  # the next notice, or call, tries again
                now = await asyncio.wait_for(list_offered(client, self._traffic), _RELISTS_WITHIN)
                if now != self.listed:
                    self.listed = now
                    self._changed(now)

    async def _on_elicitation(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        """Answer a server that asks within a call; outside of one, no user is asked."""
        del context
        return ElicitResult(action="cancel") if self._call is None else await self._call.elicit(params)

    @asynccontextmanager
    async def _transport(self) -> AsyncGenerator[TransportStreams]:
        if self._process is not None:
            process = self._process
            async with line_transport(process.reader, process.writer, self._traffic, self._on_closed) as streams:
                yield streams
            return
        timeouts = (self._server.timeout, self._server.idle_timeout)
        timeout = httpx2.Timeout(30.0, read=max(LONGEST_CALL, *(each or 0 for each in timeouts)))
        async with (
            _CallingClient(
                self._traffic,
                headers={**HEADERS, **self._server.headers},
                timeout=timeout,
                auth=self._auth,
                on_response=self._on_response,
            ) as http,
            streamable_http_client(self._server.url, http_client=http, max_sse_event_size=LARGEST_MESSAGE) as streams,
        ):
            yield with_traffic(streams, self._traffic)

    def _on_closed(self) -> None:
        """Note that the server's output has ended, or cannot be used."""
        self._closed = True
        self._over.set()

    def _refuse(self, why: str) -> None:
        """End the connection: what the server sends cannot be read."""
        self._traffic.fault = self._traffic.fault or why
        self._over.set()

    async def _on_response(self, response: httpx2.Response) -> None:
        """Bound the body. Note a refusal because the server does not know the session, as after its restart.

        The specification requires a 404; servers written after its examples answer 400 with this code.
        """
        request = response.request
        number = self._traffic.call if "last-event-id" in request.headers else _request_id(request.content)
        bound_body(
            response,
            self._refuse,
            is_late=lambda: self._traffic.is_given_up(number),
            pace=self._traffic.pace if request.method == "GET" or self._traffic.listens(number) else None,
        )
        if response.is_error and b'"tools/call"' in request.content:
            self._traffic.status = response.status_code
        if request.method == "POST" and "mcp-session-id" in request.headers and response.status_code in (400, 404):
            body = (await response.aread()).decode("utf-8", "replace")
            if response.status_code != 404 and _error_code(body) != CONNECTION_CLOSED:  # noqa: PLR2004 - HTTP
                return
            self._session_lost = True
            self._call_refused |= decode_json(request.content, _Message).method == "tools/call"
            if self._call is None:
                self._over.set()

    async def call(self, tool: str, arguments: Mapping[str, object], context: ToolContext) -> ToolOutput:
        """Call a tool once and return its output, `interrupted` if what it did is unknown; raises `ToolFailed`."""
        call = self._call = ServerCall(
            self._open_client().session,
            server=self._server.name,
            timeout=self._server.timeout,
            idle_timeout=self._server.idle_timeout,
            context=context,
            traffic=self._traffic,
            over=self._over,
            end=self._end_of_server,
        )
        self._call_refused = False
        before = 0 if self._auth is None else self._auth.refused_calls
        try:
            output: ToolOutput | ToolFailed = await call.run(tool, arguments)
        except ToolFailed as failed:
            output = failed
        finally:
            self._call = None
        if self._auth is not None and self._auth.refused_calls > before:
            self._over.set()  # after a sign-in, the next call makes a new connection
            why = self._auth.fault or needs_sign_in(self._server.name)
            raise ToolFailed(f"MCP server {self._server.name!r} refused the call. {why} Nothing was done.")
        if self._session_lost:
            self._over.set()
        if self._call_refused:
            raise ToolFailed(
                f"MCP server {self._server.name!r} no longer knows this session: it was probably started again. "
                "Nothing was done. Call it again: that opens a new session."
            )
        if isinstance(output, ToolFailed):
            raise output
        return output

    async def read(self, uri: str, context: ToolContext) -> ToolOutput:
        """Return a resource, or without a URI the list of them; raises `ToolFailed`."""
        client = self._open_client()
        found = await self._request(resource_list(client) if not uri else resource(client, uri), context.stop)
        return result_output(found)

    async def prompt(self, name: str, arguments: Mapping[str, str], stop: asyncio.Event) -> str:
        """Return the text of a prompt; raises `ToolFailed`."""
        return await self._request(prompt_text(self._open_client(), name, dict(arguments)), stop)

    async def _request(self, request: Coroutine[None, None, T], stop: asyncio.Event) -> T:
        """Return the answer to a request without effects; raises `ToolFailed`, also on a stop."""
        task = asyncio.ensure_future(request)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        waits = [asyncio.ensure_future(stop.wait()), asyncio.ensure_future(self._over.wait())]
        try:
            await asyncio.wait({task, *waits}, timeout=_ANSWERS_WITHIN, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        except (MCPError, httpx2.HTTPError, RuntimeError) as error:
            raise ToolFailed(f"MCP server {self._server.name!r} answered with an error: {reason_of(error)}.") from error
        finally:
            task.cancel()
            for each in waits:
                each.cancel()
        why = "was stopped" if stop.is_set() else "gave no answer"
        raise ToolFailed(f"MCP server {self._server.name!r} {why}. Nothing was read.")

    def _open_client(self) -> Client:
        client = self._client
        if client is None or self._over.is_set():
            raise ToolFailed(f"MCP server {self._server.name!r} is not connected. Nothing was sent.")
        return client

    async def _end_of_server(self) -> str:
        """Return why the connection ended, as a sentence or a phrase that continues one."""
        if self._traffic.fault:
            return self._traffic.fault
        return "the server closed it" if self._process is None else await self._process.how_it_ended(1.0)

    async def close(self, within: float) -> None:
        """Give up the connection and end the server's process, which gets `within` seconds to end by itself."""
        self._over.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=LETS_GO)
            self._task.cancel()
        if self._process is not None:
            await self._process.end(within)


class _CallingClient(httpx2.AsyncClient):
    """A client that notes why a call got no answer: the SDK only says that the connection was closed."""

    def __init__(
        self,
        traffic: Traffic,
        *,
        headers: Mapping[str, str],
        timeout: httpx2.Timeout,
        auth: httpx2.Auth | None,
        on_response: Callable[[httpx2.Response], Coroutine[None, None, None]],
    ) -> None:
        super().__init__(headers=headers, timeout=timeout, auth=auth, event_hooks={"response": [on_response]})
        self._traffic = traffic

    async def send(
        self,
        request: httpx2.Request,
        *,
        stream: bool = False,
        auth: AuthTypes | UseClientDefault | None = httpx2.USE_CLIENT_DEFAULT,
        follow_redirects: bool | UseClientDefault = httpx2.USE_CLIENT_DEFAULT,
    ) -> httpx2.Response:
        try:
            return await super().send(request, stream=stream, auth=auth, follow_redirects=follow_redirects)
        except httpx2.TransportError as error:
            if b'"tools/call"' in request.content:
                self._traffic.broken = transport_reason(error)
            raise


def _request_id(body: bytes) -> int | str | None:
    """Return the id of the JSON-RPC request in a body, None if there is none."""
    try:
        return decode_json(body, _Message).id
    except msgspec.MsgspecError:
        return None


def _error_code(body: str) -> int | None:
    """Return the code of a JSON-RPC error, None for anything else."""
    try:
        return decode_json(body, _ErrorAnswer).error.code
    except msgspec.MsgspecError:
        return None


def _is_modern(client: Client) -> bool:
    return client.protocol_version in MODERN_PROTOCOL_VERSIONS
