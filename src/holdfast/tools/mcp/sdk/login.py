"""Signing in at an MCP server: the user opens a page, and their browser brings the answer to a socket of this machine.

Nothing is stored before the tokens have arrived: killing the process at any point leaves the earlier state.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult

from holdfast.errors import ToolFailed
from holdfast.system.network_variables import ANY_ADDRESS, network_fault
from holdfast.system.threads import in_daemon
from holdfast.tools.mcp.sdk.http_bodies import HEADERS, SIGN_IN_WITHIN, bound_body
from holdfast.tools.mcp.sdk.sign_in import TokenStorage, provider_of
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.sign_in import SignIn, SignInStore

LOGIN_WITHIN = 600.0
"""Seconds that the user has for the page."""

_REQUEST_WITHIN = 10.0  # seconds for the first line of a request
_PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n\r\n<p>holdfast: %s"
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "holdfast", "version": "0"},
    },
}


async def sign_in_user(server: McpServer, store: SignInStore, show: Callable[[str], None]) -> bool:
    """Sign in at a server and store the sign-in; `show` gets the page to open. Return False if none is needed.

    Raises `ToolFailed`, `StorageFailed` or `ConfigInvalid`: then nothing was stored.
    """
    sign_ins: list[SignIn] = []

    async def keep(sign_in: SignIn) -> None:
        sign_ins.append(sign_in)

    async def open_page(page: str) -> None:
        show(page)

    if why := network_fault(os.environ, server.url, *ANY_ADDRESS):
        raise ToolFailed(f"Sign-in at MCP server {server.name!r} failed: {why} Nothing was stored.")
    async with _listening() as (redirect, answer):

        async def wait_for_answer() -> AuthorizationCodeResult:
            return await asyncio.wait_for(answer, LOGIN_WITHIN)

        storage = TokenStorage(server.url, keep)
        provider = provider_of(
            storage, server.url, redirect=redirect, open_page=open_page, wait_for_answer=wait_for_answer
        )
        headers = {**HEADERS, **server.headers, "Accept": "application/json, text/event-stream"}
        try:
            async with (
                httpx2.AsyncClient(
                    auth=provider, timeout=SIGN_IN_WITHIN, headers=headers, event_hooks={"response": [_bound]}
                ) as http,
                http.stream("POST", server.url, json=_HELLO) as response,
            ):
                status = response.status_code
        except TimeoutError as error:
            raise ToolFailed(
                f"The page was not answered within {LOGIN_WITHIN / 60:.0f} minutes. Nothing was stored. "
                "Run the command again."
            ) from error
        except (OAuthFlowError, httpx2.HTTPError, ValueError) as error:
            raise ToolFailed(
                f"Sign-in at MCP server {server.name!r} failed: {str(error) or type(error).__name__}. "
                "Nothing was stored. Check its URL, and run the command again."
            ) from error
    if not sign_ins:
        return False
    if status in (401, 403):
        raise ToolFailed(
            f"MCP server {server.name!r} refuses the new sign-in (HTTP {status}). Nothing was stored. "
            "Sign in as a user whom it lets in."
        )
    await in_daemon(lambda: store.write(sign_ins[-1]))
    return True


async def _bound(response: httpx2.Response) -> None:
    bound_body(response)


@asynccontextmanager
async def _listening() -> AsyncGenerator[tuple[str, asyncio.Future[AuthorizationCodeResult]]]:
    """Yield the address to which the browser brings the answer, and a future with the answer."""
    answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            target = (await asyncio.wait_for(reader.readline(), _REQUEST_WITHIN)).decode("latin-1").split(" ")[1:2]
            message = _deliver_answer(target[0] if target else "", answer)
            writer.write(_PAGE % message.encode())
            await writer.drain()
        except (ConnectionError, ValueError, TimeoutError):  # not a browser: go on waiting
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/callback", answer
    finally:
        listener.close()
        answer.cancel()


def _deliver_answer(target: str, answer: asyncio.Future[AuthorizationCodeResult]) -> str:
    """Set `answer` from the address that the browser requested; return the text that the browser shows."""
    parts = urlsplit(target)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    if parts.path != "/callback" or not ("code" in query or "error" in query) or answer.done():
        return "nothing is waited for here."
    if "code" not in query:
        answer.set_exception(OAuthFlowError(f"the page answered {query['error'][:200]!r}"))
        return "you are not signed in. Back to the terminal."
    answer.set_result(AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss")))
    return "signed in. You can close this page."
