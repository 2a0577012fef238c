"""Check whether a provider is reachable, which step fails if not, and whether a model answers one tiny request.

No request is sent: a connection is opened and closed. A check ends within a few seconds.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
import time
from collections.abc import Mapping
from typing import Literal
from urllib.parse import SplitResult, urlsplit

import msgspec

from holdfast import __version__
from holdfast.config.settings import Limits
from holdfast.errors import ModelUnusable, ProviderFailed
from holdfast.providers.connect import connect
from holdfast.providers.connection_failures import CertificateFault, certificate_fault
from holdfast.providers.model import StreamFinished
from holdfast.providers.registry import ModelEndpoint, Provider, address_of, overriding_variable, resolve_base_url
from holdfast.providers.socks import TunnelRefused, open_socks_tunnel
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.session.request.normalize import normalize
from holdfast.system import network_variables
from holdfast.system.network_variables import Route, route_to
from holdfast.system.threads import in_daemon

ConnectivityStep = Literal[
    CertificateFault, "reached", "unknown", "address", "environment", "name", "refused", "route", "time", "tls", "proxy"
]
"""The step that failed: none; not checked, because only the SDK knows the base URL; the base URL is unusable; so is a
variable about the network; DNS name; connection refused; no route; timeout; no TLS; the proxy; or what is wrong with
the certificate."""

_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


class ConnectivityResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check: `place` is HOST or HOST:PORT, `proxy` the proxy in use, `detail` the error's message.

    `variable` is the environment variable that overrides the provider's own base URL, `proxy_variable` the one that
    names the proxy. Each is "" if there is none.
    """

    step: ConnectivityStep
    place: str
    proxy: str = ""
    proxy_variable: str = ""
    detail: str = ""
    variable: str = ""


PATIENCE = 5.0
"""Seconds to reach a provider."""


async def check_provider(provider: Provider, environ: Mapping[str, str]) -> ConnectivityResult:
    """Check whether a provider can be reached."""
    try:
        resolve_base_url(provider, environ)
    except ModelUnusable as error:
        return ConnectivityResult(step="address", place="address unknown", detail=str(error))
    address = address_of(provider, environ)
    if not address:
        return ConnectivityResult(step="unknown", place=provider.name)
    result = await check_connectivity(address, environ, patience=PATIENCE)
    return msgspec.structs.replace(result, variable=overriding_variable(provider, environ))


async def check_connectivity(address: str, environ: Mapping[str, str], *, patience: float) -> ConnectivityResult:
    """Check whether the URL `address` can be reached within `patience` seconds."""
    parts = urlsplit(address)
    try:
        route = route_to(address, environ)
    except ValueError as error:
        place = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
        return ConnectivityResult(step="environment", place=place, detail=str(error))
    if parts.scheme == "https" and (why := network_variables.trust_fault(environ)):
        return ConnectivityResult(step="environment", place=route.place, detail=why)
    step, detail = await _try_connection(parts, route, patience)
    return ConnectivityResult(
        step="proxy" if route.proxy and step in _AT_THE_PROXY else step,
        place=route.place,
        proxy=route.shown_proxy,
        proxy_variable=route.variable,
        detail=detail,
    )


_AT_THE_PROXY = ("name", "refused", "route", "time", "tls")


async def _try_connection(parts: SplitResult, route: Route, patience: float) -> tuple[ConnectivityStep, str]:
    """Try what the client does first: connect, by way of a SOCKS proxy to the server itself, and agree on TLS."""
    endpoint = urlsplit(route.proxy) if route.proxy else parts
    port = endpoint.port or _PORTS.get(endpoint.scheme, 80)
    secure = (parts if route.is_socks else endpoint).scheme == "https"
    host = (parts if route.is_socks else endpoint).hostname or ""
    try:
        context = ssl.create_default_context() if secure else None
    except OSError as error:  # Python writes the keys of connections to SSLKEYLOGFILE
        return "environment", f"SSLKEYLOGFILE cannot be used: {error.strerror}. Fix the variable, or unset it."
    try:
        async with asyncio.timeout(patience):
            sock = await _connect(endpoint.hostname or "", port)
            if route.is_socks:
                try:
                    await open_socks_tunnel(sock, endpoint, host, parts.port or _PORTS[parts.scheme])
                except BaseException:
                    sock.close()
                    raise
            if context is not None:
                _, writer = await asyncio.open_connection(sock=sock, ssl=context, server_hostname=host)
                writer.transport.abort()  # some servers never close their side
            else:
                sock.close()
    except TunnelRefused as refused:
        return "proxy", str(refused)
    except UnicodeError as error:  # not a valid host name
        return "name", str(error)
    except OSError as error:
        return _failed_step(error, secure=secure), str(error)
    return "reached", ""


async def _connect(host: str, port: int) -> socket.socket:
    """Connect to the first of the host's addresses that accepts. Raise the error of the last one."""
    loop = asyncio.get_running_loop()
    look_up = functools.partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    last_error: OSError = socket.gaierror(socket.EAI_NONAME, "the name has no address")
    for family, kind, protocol, _, address in await in_daemon(look_up):
        sock = socket.socket(family, kind, protocol)
        sock.settimeout(0)  # asyncio requires it
        try:
            await loop.sock_connect(sock, address)
        except OSError as error:
            sock.close()
            last_error = error
        except asyncio.CancelledError:
            sock.close()
            raise
        else:
            return sock
    raise last_error


def _failed_step(error: OSError, *, secure: bool) -> ConnectivityStep:
    """Return the step that failed with `error`."""
    match error:
        case socket.gaierror():
            return "name"
        case ssl.SSLCertVerificationError():
            return certificate_fault(error)
        case TimeoutError():
            return "time"
        case ssl.SSLError() | ConnectionResetError() | BrokenPipeError() if secure:
            return "tls"
        case _:  # if several addresses refuse, the error has no errno
            refused = isinstance(error, ConnectionRefusedError) or "refused" in str(error).lower()
            return "refused" if refused else "route"


# --- Send one tiny request to a model, to check that it answers before anything depends on it ---

SYSTEM = "This is a connection test. Answer with one word."
PROMPT = "Answer with the word: ready"

_PATIENCE = 60.0
"""Seconds for the whole answer: a reasoning model may think first."""


async def smoke_request(target: ModelEndpoint, limits: Limits) -> float:
    """Return the seconds until the model answered. Raise `ProviderFailed` or `ModelUnusable`."""
    opened = SessionOpened(session="", cwd="/", model=target.name, system=SYSTEM, tools=(), version=__version__)
    conversation = fold([opened, PromptAccepted(turn=1, text=PROMPT)])
    model = await connect(target, limits)
    start = time.monotonic()
    try:
        async with (
            asyncio.timeout(_PATIENCE),
            model.stream(normalize(conversation, target.provider.profile)) as events,
        ):
            async for event in events:
                if isinstance(event, StreamFinished):
                    return time.monotonic() - start
    except TimeoutError as error:
        raise ProviderFailed(f"Model {target.name!r} did not answer within {_PATIENCE:g} s.", fault="silent") from error
    finally:
        await model.aclose()
    raise ProviderFailed(f"Model {target.name!r} did not finish its answer.", fault="cut")
