"""SOCKS proxies: a tunnel through one, and the client's transport through it.

The library forgets a connection on which the proxy refuses, or on which a stop interrupts the agreement with the proxy:
it would stay open until Python collects it. So the connections are remembered here.

Opens a tunnel through a SOCKS5 proxy on a connected socket, for the check whether a provider can be reached.

Requests go through the HTTP library, which has this protocol too, but opens a connection only to send on it.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterable
from ipaddress import ip_address
from typing import NoReturn
from urllib.parse import SplitResult, unquote
from weakref import WeakSet

import httpcore2
import httpx2
from httpcore2._backends.anyio import AnyIOBackend

_VERSION = b"\x05"
_NO_PASSWORD, _PASSWORD = b"\x00", b"\x02"
_CONNECT = b"\x05\x01\x00"
_LONGEST_TEXT = 255
_IPV4 = 4
_REPLIES = {
    1: "it failed",
    2: "its rules do not allow this connection",
    3: "it cannot reach that network",
    4: "it cannot reach that host",
    5: "the connection was refused",
    6: "the connection took too long",
    7: "it does not connect to servers",
    8: "it does not take host names",
}
_LENGTHS = {1: 4, 4: 16}
"""Bytes of an IPv4 and of an IPv6 address in a reply; a name begins with its length."""


class TunnelRefused(Exception):
    """The proxy does not open the tunnel; the text says why."""


async def open_socks_tunnel(sock: socket.socket, proxy: SplitResult, host: str, port: int) -> None:
    """Open a tunnel to HOST:PORT on a socket that is connected to `proxy`. Raise `TunnelRefused` or `OSError`."""
    loop = asyncio.get_running_loop()
    method = _PASSWORD if proxy.username or proxy.password else _NO_PASSWORD
    await loop.sock_sendall(sock, _VERSION + b"\x01" + method)
    version, chosen = await _read(sock, 2)
    if version != _VERSION[0]:
        _refuse("what it answers is not SOCKS5")
    if chosen != method[0]:
        _refuse("it wants a user and a password" if method == _NO_PASSWORD else "it takes no password")
    if method == _PASSWORD:
        await loop.sock_sendall(
            sock, b"\x01" + _text(unquote(proxy.username or "")) + _text(unquote(proxy.password or ""))
        )
        if (await _read(sock, 2))[1] != 0:
            _refuse("it does not accept the user and password")
    await loop.sock_sendall(sock, _CONNECT + _host(host) + port.to_bytes(2, "big"))
    version, reply, _, kind = await _read(sock, 4)
    if version != _VERSION[0]:
        _refuse("what it answers is not SOCKS5")
    if reply != 0:
        _refuse(_REPLIES.get(reply, f"it answers with code {reply}"))
    length = _LENGTHS[kind] if kind in _LENGTHS else (await _read(sock, 1))[0]
    await _read(sock, length + 2)


def _host(host: str) -> bytes:
    try:
        address = ip_address(host)
    except ValueError:
        return b"\x03" + _text(host)
    return (b"\x01" if address.version == _IPV4 else b"\x04") + address.packed


def _text(text: str) -> bytes:
    raw = text.encode("idna" if not text.isascii() else "ascii")
    if len(raw) > _LONGEST_TEXT:
        _refuse("a name or a password is too long for SOCKS5")
    return bytes([len(raw)]) + raw


async def _read(sock: socket.socket, size: int) -> bytes:
    """Return exactly so many bytes."""
    received = b""
    while len(received) < size:
        more = await asyncio.get_running_loop().sock_recv(sock, size - len(received))
        if not more:
            _refuse("it closed the connection")
        received += more
    return received


def _refuse(why: str) -> NoReturn:
    raise TunnelRefused(why)


# --- socks transport ---


class SocksTransport(httpx2.AsyncHTTPTransport):
    """Connects through the proxy at the URL `proxy`. Raise `ImportError` without the package socksio."""

    def __init__(self, proxy: str, *, verify: ssl.SSLContext) -> None:
        super().__init__(verify=verify, proxy=proxy)
        self._connections = _Connections()
        assert isinstance(self._pool, httpcore2.AsyncSOCKSProxy)
        self._pool._network_backend = self._connections  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - httpx2 passes none on

    async def aclose(self) -> None:
        """Close every connection."""
        await super().aclose()
        await self._connections.aclose()


class _Connections(httpcore2.AsyncNetworkBackend):
    """Makes connections as the library does, and closes those that are still there."""

    def __init__(self) -> None:
        self._library: httpcore2.AsyncNetworkBackend = AnyIOBackend()
        self._streams: WeakSet[httpcore2.AsyncNetworkStream] = WeakSet()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - of the library's interface
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        stream = await self._library.connect_tcp(host, port, timeout, local_address, socket_options)
        self._streams.add(stream)
        return stream

    async def sleep(self, seconds: float) -> None:
        await self._library.sleep(seconds)

    async def aclose(self) -> None:
        for stream in tuple(self._streams):
            await stream.aclose()
