"""Why there is no connection to a server at a URL, in words for people: the HTTP library has one sentence for most."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from typing import cast

import httpx2

_TOO_LONG = "Receive buffer too long"
"""What the HTTP library says of a head of more than 100 KB."""


def transport_reason(error: httpx2.TransportError) -> str:
    """Return a phrase about a connection that was not made, broke or did not answer in time."""
    url = error.request.url
    place = f"{url.host}:{url.port or (443 if url.scheme == 'https' else 80)}"
    match error:
        case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.ProxyError():
            return f"cannot connect to {place}: {_cause(error)}"
        case httpx2.TimeoutException():
            return f"{place} did not answer in time"
        case httpx2.RemoteProtocolError() if str(error) == _TOO_LONG:
            return f"{place} sent headers that do not end"
        case _:
            return f"the connection to {place} broke: {_cause(error)}"


def _cause(error: BaseException) -> str:
    for each in _chain(error):
        match each:
            case ssl.SSLCertVerificationError():
                return f"its certificate is not valid ({each.verify_message})"
            case ConnectionRefusedError():
                return "connection refused"
            case socket.gaierror():
                return "the host name was not found"
            case httpx2.ConnectTimeout():
                return "no answer within the time limit for connecting"
            case _:
                continue
    return str(error).rstrip(".") or type(error).__name__


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the exception and its causes, and the first of each group."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
        else:
            error = error.__cause__ or error.__context__
