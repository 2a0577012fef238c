"""The scripted provider without a socket: a transport for `httpx2.AsyncClient`, on whatever event loop runs it.

Its delays are `asyncio.sleep`, so that a loop with a clock of its own plays an hour of silence in no time.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

import httpx2

from holdfast.testing.provider import ScriptedProvider
from holdfast.testing.script import Reset
from holdfast.testing.wires.wire import Head, Incoming


class ScriptedTransport(httpx2.AsyncBaseTransport):
    """Carries every request of a client to `provider`, whatever host it names; the provider needs no `with`."""

    def __init__(self, provider: ScriptedProvider) -> None:
        self._provider = provider

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response once its status line has come; raises `httpx2.ReadError` if a reset comes first."""
        incoming = Incoming(
            method=request.method,
            path=request.url.path,
            headers={name.lower(): value for name, value in request.headers.items()},
            body=await request.aread(),
        )
        events = self._provider.play(incoming)
        first = await anext(events)
        if not isinstance(first, Head):
            await events.aclose()
            raise httpx2.ReadError("Connection was reset.", request=request)
        return httpx2.Response(first.status, headers=list(first.headers), stream=_Body(events, request))


class _Body(httpx2.AsyncByteStream):
    def __init__(self, events: AsyncGenerator[Head | bytes | Reset, None], request: httpx2.Request) -> None:
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
