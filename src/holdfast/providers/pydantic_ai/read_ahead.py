"""Read a body of server-sent events ahead of the SDK, and merge what has arrived into fewer events.

One rule: events that arrive no faster than the SDK takes them are passed on unchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2

from holdfast.providers.pydantic_ai.event_merge import at_an_end, merge_deltas

FAR = 256 * 1024
"""Maximum bytes to buffer; beyond that, TCP flow control slows the provider down."""


def read_ahead(client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """Make the client read event streams ahead, and return it."""

    async def answered(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = _Ahead(response.stream)

    client.event_hooks["response"].append(answered)
    return client


class _Ahead(httpx2.AsyncByteStream):
    """A body that a background task reads and buffers; a second iteration continues where the first ended."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body
        self._reader: asyncio.Task[None] | None = None
        self._kept = bytearray()
        self._begun = False  # whether part of the next event was taken already
        self._more = asyncio.Event()
        self._room = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._reader is None:
            self._reader = asyncio.get_running_loop().create_task(self._read(), name="read ahead")
            self._reader.add_done_callback(_over)
        reader = self._reader
        try:
            while self._kept or not reader.done():
                await self._more.wait()
                self._more.clear()
                data = bytes(self._kept)
                self._kept.clear()
                self._room.set()
                if data:
                    begun, self._begun = self._begun, not at_an_end(data)
                    yield merge_deltas(data, begun=begun)
            reader.result()
        finally:
            reader.cancel()

    async def aclose(self) -> None:
        try:
            if self._reader is not None:
                self._reader.cancel()
                await asyncio.wait({self._reader})
        finally:
            await self._body.aclose()

    async def _read(self) -> None:
        try:
            async for chunk in self._body:
                self._kept += chunk
                self._more.set()
                while len(self._kept) > FAR:
                    self._room.clear()
                    await self._room.wait()
        finally:
            self._more.set()


def _over(reader: asyncio.Task[None]) -> None:
    if not reader.cancelled():
        reader.exception()  # marks it as retrieved; a reader, if any, raises it
