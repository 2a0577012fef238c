"""Maps a connection that broke or could not be made to `ProviderFailed`, with the server and the proxy in the message.

The message is in our words where the cause is a known one: the HTTP library's own are "All connection attempts failed"
for most of them. A proxy is named with its variable, because that is what a user can change.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from typing import Literal, cast

from holdfast.errors import ProviderFailed, ProviderFault
from holdfast.system.network_variables import Route

CertificateFault = Literal["certificate", "certificate_host", "certificate_date"]

_NOT_MADE = ("ConnectError", "ConnectTimeout", "ProxyError")
"""The HTTP libraries' errors before there is a connection: theirs are classes of several packages of these names."""

_TEMPORARY = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
_CONNECT_STATUS = re.compile(r"4\d\d\b")
_SOCKS_PASSWORD = re.compile(
    r"invalid username/password|but got (?:username/password|no acceptable methods)", re.IGNORECASE
)
_SOCKS_REFUSED = re.compile(r"not allowed by ruleset|(?:command|address type) not supported", re.IGNORECASE)


def connection_failure(name: str, error: BaseException, route: Route | None = None) -> ProviderFailed:
    """Return the failure for a connection to model `name` over a `route` that broke or could not be made."""
    return ProviderFailed(
        f"Connection to model {name!r} failed: {connection_words(error, route)}.", fault=connection_fault(error)
    )


def connection_words(error: BaseException, route: Route | None) -> str:
    """Return why a connection over a `route` broke or could not be made, as a part of a sentence."""
    why = _words(error)
    if route is not None and any(type(each).__name__ in _NOT_MADE for each in _chain(error)):
        return f"cannot connect to {route.place}{route.through}: {why}"
    return why if route is None else f"{why}{route.through}"


def socks_failure(name: str, route: Route) -> ProviderFailed:
    """Return the failure of a connection through a proxy whose answers are not SOCKS5."""
    return ProviderFailed(
        f"Connection to model {name!r} failed: cannot connect to {route.place}{route.through}: "
        "what it answers is not SOCKS5.",
        fault="unreachable",
    )


def certificate_fault(error: ssl.SSLCertVerificationError) -> CertificateFault:
    """Return what is wrong with a certificate."""
    match error.verify_code:
        case 9 | 10:  # X.509: not yet valid, and expired
            return "certificate_date"
        case 62 | 64:  # for another host name, for another IP address
            return "certificate_host"
        case _:
            return "certificate"


def root_cause(error: BaseException) -> str:
    """Return the innermost exception's text: libraries wrap the useful one."""
    while error.__cause__ is not None:
        error = error.__cause__
    try:
        payload = str(error)
    except TypeError:  # some errors of SDKs hold a body in place of a text
        payload = ""
    return f"{type(error).__name__}: {payload}".rstrip(": .")


def _words(error: BaseException) -> str:
    """Return why there is no connection."""
    for each in _chain(error):
        match each:
            case ssl.SSLCertVerificationError():
                return root_cause(each)
            case ConnectionRefusedError():
                return "connection refused"
            case socket.gaierror():
                return (
                    f"the host name was not found ({each.strerror})" if each.strerror else "the host name was not found"
                )
            case _ if type(each).__name__ == "ConnectTimeout":
                return "no answer within the time limit for connecting"
            case _:
                continue
    return root_cause(error)


def connection_fault(error: BaseException) -> ProviderFault:
    """Return the kind of failure of a connection that broke or could not be made."""
    for each in _chain(error):
        if isinstance(each, ssl.SSLCertVerificationError):
            return certificate_fault(each)
        # HTTP libraries have the status of a CONNECT, or SOCKS' reply, only in the text.
        if type(each).__name__ == "ProxyError":
            return _proxy_fault(str(each))
    return "unreachable"


def _proxy_fault(text: str) -> ProviderFault:
    if _SOCKS_PASSWORD.search(text):
        return "proxy_password"
    if _SOCKS_REFUSED.search(text):
        return "proxy_refused"
    status = _CONNECT_STATUS.match(text)
    if status is None or int(status[0]) in _TEMPORARY:
        return "unreachable"
    return "proxy_password" if int(status[0]) == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED else "proxy_refused"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the exception and its causes, and the first of each group: libraries wrap the most informative one."""
    while error is not None:
        yield error
        error = _inner(error)


def _inner(error: BaseException) -> BaseException | None:
    if isinstance(error, BaseExceptionGroup):
        return cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error.__cause__ or error.__context__
