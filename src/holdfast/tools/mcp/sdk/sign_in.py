"""The sign-in of a session: its token is sent with each request, and renewed without a user, or not at all.

How it works. The SDK's provider renews tokens, and would then ask a user to sign in: here no user is asked, a server
that still refuses is reported as one that needs sign-in. A token that a server refuses before its time is renewed too.
Only one process renews at a time, and looks first whether another has: a server may accept each refresh token only
once. The new tokens are stored before they are used.

Signing in at an MCP server: the user opens a page, and their browser brings the answer to a socket of this machine.

Nothing is stored before the tokens have arrived: killing the process at any point leaves the earlier state.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel

from holdfast import __version__
from holdfast.errors import ConfigInvalid, StorageFailed, ToolFailed
from holdfast.system.network_variables import ANY_ADDRESS, network_fault
from holdfast.system.threads import in_daemon
from holdfast.tools.mcp.sdk.http_bodies import HEADERS, SIGN_IN_WITHIN, bound_body
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.sign_in import SignIn, SignInStore

_EARLY = 30.0  # seconds before its end at which a token is renewed
_UNAUTHORIZED = 401


class TokenStorage:
    """The storage of the SDK's provider; `save` gets the complete sign-in when it has changed."""

    def __init__(self, url: str, save: Callable[[SignIn], Awaitable[None]]) -> None:
        self._url = url
        self._save = save
        self._tokens: OAuthToken | None = None
        self._client: OAuthClientInformationFull | None = None
        self.provider: OAuthClientProvider | None = None

    def load(self, sign_in: SignIn) -> None:
        """Load a stored sign-in."""
        self._tokens = OAuthToken.model_validate(sign_in.tokens)
        self._client = OAuthClientInformationFull.model_validate(sign_in.client)
        if self.provider is None:
            return
        context = self.provider.context
        context.current_tokens, context.client_info = self._tokens, self._client
        context.token_expiry_time = sign_in.expires
        context.oauth_metadata = None if sign_in.issuer is None else OAuthMetadata.model_validate(sign_in.issuer)
        resource = sign_in.resource
        context.protected_resource_metadata = (
            None if resource is None else ProtectedResourceMetadata.model_validate(resource)
        )

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store new tokens, with all that belongs to them."""
        self._tokens = tokens
        assert self._client is not None
        assert self.provider is not None
        context = self.provider.context
        await self._save(
            SignIn(
                url=self._url,
                tokens=_json(tokens) or {},
                client=_json(self._client) or {},
                expires=None if tokens.expires_in is None else time.time() + tokens.expires_in,
                issuer=_json(context.oauth_metadata),
                resource=_json(context.protected_resource_metadata),
            )
        )

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the registration of this client."""
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the registration until there are tokens."""
        self._client = client_info


def provider_of(
    storage: TokenStorage,
    url: str,
    *,
    redirect: str,
    open_page: Callable[[str], Awaitable[None]],
    wait_for_answer: Callable[[], Awaitable[AuthorizationCodeResult]],
) -> OAuthClientProvider:
    """Return the SDK's provider that uses `storage`."""
    provider = OAuthClientProvider(
        url,
        OAuthClientMetadata(
            client_name="holdfast",
            software_version=__version__,
            redirect_uris=[AnyUrl(redirect)],
            token_endpoint_auth_method="none",  # noqa: S106 - no password: this client has none
        ),
        storage,
        redirect_handler=open_page,
        callback_handler=wait_for_answer,
    )
    storage.provider = provider
    return provider


class SessionSignIn(httpx2.Auth):
    """The sign-in at one server, for the requests of a session. `refused` is whether the server wants another one."""

    def __init__(self, url: str, store: SignInStore) -> None:
        self._url = url
        self._store = store
        self._sign_in: SignIn | None = None
        self._loaded = False
        self._renewing = asyncio.Lock()
        self._storage = TokenStorage(url, self._keep)
        self._provider = provider_of(
            self._storage, url, redirect="http://127.0.0.1/callback", open_page=_no_page, wait_for_answer=_no_answer
        )
        self.refused = False
        self.refused_calls = 0
        """How many tool calls the server refused, and did not run, because the user is not signed in."""
        self.fault = ""
        """Why the stored sign-in cannot be used, "" if it can."""

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Yield the request with the token, and again with a new one if the server refuses it."""
        if not self._loaded:
            await self._load()
        used = self._sign_in
        if used is None or not _is_over(used):
            if used is not None:
                request.headers["Authorization"] = f"Bearer {used.tokens.get('access_token', '')}"
            response = yield request
            if response.status_code != _UNAUTHORIZED:
                return
            if used is None:
                self._note(request)
                return
            await response.aread()
        async with self._renewing:
            guard = self._store.locked(self._url)
            try:
                await in_daemon(guard.__enter__)
            except StorageFailed as error:
                self.fault = str(error)
                self._note(request)
                raise OAuthFlowError(str(error)) from error
            try:
                await self._load()
                now = self._sign_in
                if now is None:
                    self._note(request)
                    raise OAuthFlowError("signed out")
                if now.tokens == used.tokens or _is_over(now):  # no other process has renewed them
                    self._provider.context.token_expiry_time = 1.0
                flow = self._provider.async_auth_flow(request)
                try:
                    outgoing = await anext(flow)
                    while outgoing is not request:
                        outgoing = await flow.asend((yield outgoing))
                finally:
                    await flow.aclose()
            finally:
                guard.__exit__(None, None, None)
        response = yield request
        if response.status_code == _UNAUTHORIZED:
            self._note(request)

    def _note(self, request: httpx2.Request) -> None:
        """Note that a request is refused."""
        self.refused = True
        self.refused_calls += b'"tools/call"' in request.content

    async def _load(self) -> None:
        try:
            self._sign_in = await in_daemon(lambda: self._store.read(self._url))
        except ConfigInvalid as error:
            self.fault, self._sign_in = str(error), None
        self._loaded = True
        if self._sign_in is not None:
            self._storage.load(self._sign_in)

    async def _keep(self, sign_in: SignIn) -> None:
        self._sign_in = sign_in
        await in_daemon(lambda: self._store.write(sign_in))


def _is_over(sign_in: SignIn) -> bool:
    return sign_in.expires is not None and sign_in.expires - _EARLY < time.time()


def _json(model: BaseModel | None) -> dict[str, object] | None:
    return None if model is None else model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def _no_page(page: str) -> None:
    del page
    raise OAuthFlowError("no user is asked to sign in during a turn")


async def _no_answer() -> AuthorizationCodeResult:
    raise OAuthFlowError("no user is asked to sign in during a turn")


# --- login ---

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
