"""The HTTP client of a model: its timeouts, and which responses are not read.

Nothing compressed is read: one kilobyte could unpack to a gigabyte. Redirects are not followed: key and conversation
would go to an address that only the server chose.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncIterator

import httpx2

from holdfast.config.settings import Limits
from holdfast.errors import ModelUnusable, ProviderFailed
from holdfast.providers.credentials.redaction import strip_credentials
from holdfast.providers.model import HttpObserver
from holdfast.system.network_variables import Route, route_to, trust_fault

# --- http client ---

LAST_BYTES = 0.3
"""Seconds for a body to end after its terminal event; after that the connection is closed."""

LAST_EVENT = 2.0
"""Seconds to wait for more events after the one with the finish reason."""

_REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "cf-ray")
_LONGEST_ADDRESS = 200  # characters of an address to show


def new_client(limits: Limits, address: str) -> httpx2.AsyncClient:
    """Return a client with pooled connections to the server at a URL, through its proxy if the environment has one.

    Raise `ModelUnusable` with the variable that cannot be used.
    """
    try:
        httpx2.URL(address)
    except httpx2.InvalidURL as error:
        raise ModelUnusable(
            f"{address_words(address)} is not an address that can be asked: {error}. Fix the provider's base URL."
        ) from None
    route = route_of(address)
    timeout = httpx2.Timeout(None, connect=limits.connect, write=limits.write, pool=limits.pool)
    try:
        transport = _transport(route, _trusted(address, route))
    except (ValueError, httpx2.InvalidURL):  # its message may quote a password
        raise ModelUnusable(
            f"{route.variable} is not the URL of a proxy (expected http://HOST:PORT or socks5://HOST:PORT). "
            "Fix the variable, or unset it."
        ) from None
    except ImportError:  # a distribution may leave it out
        raise ModelUnusable(
            f"{route.variable} is a SOCKS proxy, which needs the package socksio. Install it: pip install socksio."
        ) from None
    return httpx2.AsyncClient(timeout=timeout, follow_redirects=False, transport=transport)


def _transport(route: Route, trusted: ssl.SSLContext) -> httpx2.AsyncHTTPTransport:
    if not route.is_socks:
        return httpx2.AsyncHTTPTransport(verify=trusted, proxy=route.proxy or None)
    from holdfast.providers.socks import SocksTransport

    return SocksTransport(route.proxy, verify=trusted)


def route_of(address: str) -> Route:
    """Return how this process reaches a URL. Raise `ModelUnusable` with the variable that cannot be used."""
    try:
        return route_to(address, os.environ)
    except ValueError as error:
        raise ModelUnusable(f"{address_words(address)} cannot be reached. {error}") from None


def _trusted(address: str, route: Route) -> ssl.SSLContext:
    """Return what decides whom to trust; for a connection without TLS nothing is read, and so nothing can fail."""
    if not address.startswith("https:") and not route.proxy.startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if why := trust_fault(os.environ):
        raise ModelUnusable(f"{address_words(address)} cannot be reached. {why}")
    return httpx2.create_ssl_context()


def address_words(address: str) -> str:
    """Return the beginning of a URL for a message: scheme, host and port."""
    scheme, _, rest = strip_credentials(address).partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"[:_LONGEST_ADDRESS]


def content_encodings(response: httpx2.Response) -> str:
    """Return the content encodings of the body, "" if there are none."""
    named = response.headers.get_list("content-encoding", split_commas=True)
    return ", ".join(encoding for each in named if (encoding := each.strip().lower()) not in ("", "identity"))


def compression_failure(name: str, encodings: str) -> ProviderFailed:
    """Return the failure of a compressed response."""
    return ProviderFailed(
        f"Model {name!r} sent a compressed response ({encodings[:_LONGEST_ADDRESS]}). It was not read, "
        "because unpacked it may be of any size. holdfast requests no compression: a proxy may have added it.",
        fault="malformed",
    )


def redirect_failure(name: str, response: httpx2.Response) -> ProviderFailed:
    """Return the failure of a response that points elsewhere."""
    location = response.headers.get("location", "").partition("?")[0][:_LONGEST_ADDRESS]
    return ProviderFailed(
        f"Model {name!r} at {strip_credentials(str(response.request.url))} redirects to {location!r}. "
        "The redirect was not followed.",
        fault="redirected",
        status=response.status_code,
    )


def with_observer(client: httpx2.AsyncClient, log: HttpObserver) -> httpx2.AsyncClient:
    """Make the client log its requests and responses, and return it."""

    async def on_request(request: httpx2.Request) -> None:
        log.request_sent(request.method, str(request.url), int(request.headers.get("content-length", 0)))

    async def on_response(response: httpx2.Response) -> None:
        named = (response.headers[name] for name in _REQUEST_IDS if name in response.headers)
        log.response_started(response.status_code, next(named, ""))
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _ObservedBody(response.stream, log)

    client.event_hooks["request"].append(on_request)
    client.event_hooks["response"].append(on_response)
    return client


class _ObservedBody(httpx2.AsyncByteStream):
    """A body whose bytes are counted."""

    def __init__(self, body: httpx2.AsyncByteStream, log: HttpObserver) -> None:
        self._body = body
        self._log = log

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._body:
            self._log.data_received(chunk)
            yield chunk

    async def aclose(self) -> None:
        self._log.response_closed()
        await self._body.aclose()
