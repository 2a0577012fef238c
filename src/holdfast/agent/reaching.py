"""Whether a server can be reached, and if not, at which step it fails: name, connection, certificate, or a proxy.

Two rules. Nothing is asked of the server: a connection is made and closed. Nobody waits longer than they say.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from holdfast.agent.secrets import HIDDEN, bare
from holdfast.tools.thread import in_daemon

Step = Literal["reached", "name", "refused", "route", "time", "date", "untrusted", "tls", "proxy"]
"""Where it ended: nowhere; no such name; nobody listens; no way there; too slow; a certificate of another day, or of
nobody who is trusted here; no TLS at all; the proxy in between."""

_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_OTHER_DAY = (9, 10)  # X.509: not yet valid, and expired


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """How far one came: `place` is HOST or HOST:PORT, `proxy` what stands before it, "" if nothing does."""

    step: Step
    place: str
    proxy: str = ""
    said: str = ""


async def reached(address: str, environ: Mapping[str, str], *, patience: float) -> Reached:
    """Return how far one comes on the way to `address`, which is one, within `patience` seconds."""
    parts = urlsplit(address)
    proxy = proxy_for(parts, environ)
    place = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
    try:
        to = urlsplit(proxy) if proxy else parts
        port = to.port or _PORTS.get(to.scheme, 80)
    except ValueError:  # which quotes what may be a password
        return Reached(step="proxy", place=place, proxy=HIDDEN, said="its address is none")
    step, said = await _step(to, port, patience)
    return Reached(
        step="proxy" if proxy and step != "reached" else step,
        place=place,
        proxy=bare(proxy) if proxy else "",
        said=said,
    )


def proxy_for(parts: SplitResult, environ: Mapping[str, str]) -> str:
    """Return the proxy through which the address is asked, "" if it is asked directly."""
    host, scheme = parts.hostname or "", parts.scheme
    none = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    direct = [each.strip().lstrip(".") for each in none.split(",")]
    if any(each == "*" or (each and f".{host}".endswith(f".{each}")) for each in direct):
        return ""
    names = (f"{scheme}_proxy", "all_proxy")
    found = (environ.get(name) or environ.get(name.upper()) for name in names)
    proxy = next((each for each in found if each), "")
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"  # as the libraries read it


async def _step(parts: SplitResult, port: int, patience: float) -> tuple[Step, str]:
    host, secure = parts.hostname or "", parts.scheme == "https"
    context = ssl.create_default_context() if secure else None
    try:
        async with asyncio.timeout(patience):
            sock = await _connected(host, port)
            if context is not None:
                _, writer = await asyncio.open_connection(sock=sock, ssl=context, server_hostname=host)
                writer.transport.abort()  # not every server answers a polite end
            else:
                sock.close()
    except UnicodeError as error:  # no name has such a part
        return "name", str(error)
    except OSError as error:
        return _ended(error, secure=secure), str(error)
    return "reached", ""


async def _connected(host: str, port: int) -> socket.socket:
    """Return a connection to the first of the host's addresses that takes one; raises what the last of them did."""
    loop = asyncio.get_running_loop()
    named = functools.partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    failed: OSError = socket.gaierror(socket.EAI_NONAME, "it has no address")
    for family, kind, protocol, _, address in await in_daemon(named):
        sock = socket.socket(family, kind, protocol)
        sock.settimeout(0)  # asyncio wants it so
        try:
            await loop.sock_connect(sock, address)
        except OSError as error:
            sock.close()
            failed = error
        except asyncio.CancelledError:
            sock.close()
            raise
        else:
            return sock
    raise failed


def _ended(error: OSError, *, secure: bool) -> Step:
    """Return the step at which a connection ended with `error`."""
    match error:
        case socket.gaierror():
            return "name"
        case ssl.SSLCertVerificationError(verify_code=code):
            return "date" if code in _OTHER_DAY else "untrusted"
        case TimeoutError():
            return "time"
        case ssl.SSLError() | ConnectionResetError() | BrokenPipeError() if secure:
            return "tls"
        case _:  # several addresses that all refuse are one error without a number
            refused = isinstance(error, ConnectionRefusedError) or "refused" in str(error).lower()
            return "refused" if refused else "route"
