"""The HTTP library's transport through a SOCKS proxy, which closes every connection when it is closed.

The library forgets a connection on which the proxy refuses, or on which a stop interrupts the agreement with the proxy:
it would stay open until Python collects it. So the connections are remembered here.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from weakref import WeakSet

import httpcore2
import httpx2
from httpcore2._backends.anyio import AnyIOBackend


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
