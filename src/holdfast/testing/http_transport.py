"""The scripted provider without a socket: a transport for `httpx2.AsyncClient`, on any event loop.

Its delays are `asyncio.sleep`, so a loop with a virtual clock plays an hour of silence immediately.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

import httpx2

from holdfast.testing.protocols.protocol import Incoming, ResponseHead
from holdfast.testing.script import Reset
from holdfast.testing.scripted_provider import ScriptedProvider


class ScriptedTransport(httpx2.AsyncBaseTransport):
    """A transport that sends every request to `provider`, whatever the host; the provider needs no `with`."""

    def __init__(self, provider: ScriptedProvider) -> None:
        self._provider = provider

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response once its status line is there. Raise `httpx2.ReadError` for an earlier reset."""
        incoming = Incoming(
            method=request.method,
            path=request.url.path,
            headers={name.lower(): value for name, value in request.headers.items()},
            body=await request.aread(),
        )
        events = self._provider.play(incoming)
        first = await anext(events)
        if not isinstance(first, ResponseHead):
            await events.aclose()
            raise httpx2.ReadError("Connection was reset.", request=request)
        return httpx2.Response(first.status, headers=list(first.headers), stream=_Body(events, request))


class _Body(httpx2.AsyncByteStream):
    def __init__(self, events: AsyncGenerator[ResponseHead | bytes | Reset, None], request: httpx2.Request) -> None:
        self._events = events
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for event in self._events:
            if isinstance(event, bytes):
                yield event
            else:
                raise httpx2.ReadError("Connection was reset.", request=self._request)

    async def aclose(self) -> None:
        await self._events.aclose()
