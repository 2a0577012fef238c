"""The stream transport of MCP over a server's stdin and stdout: one JSON message per line. The SDK speaks through it.

Unlike the SDK's transport, it owns no process, skips lines that are not messages (many servers print banners) and
counts them, and bounds the size of a message: a server cannot take the memory of the agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.client._transport import TransportStreams, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, jsonrpc_message_adapter

if TYPE_CHECKING:
    from typing import Self

LARGEST_MESSAGE = 32 * 1024 * 1024
"""Bytes of one message; a server that sends a larger one is disconnected."""

MOST_SKIPPED = 100
"""Lines in a row that are not messages, after which a server is disconnected."""

_READ = 1 << 16


class LineTraffic:
    """What a connection has carried: how many lines were `skipped` because they are not messages, and any `fault`.

    `call` is the id of the last request that called a tool; with `cancels_by_closing`, closing its stream cancels it.
    """

    def __init__(self) -> None:
        self.skipped = 0
        self.fault = ""
        self.call: str | int | None = None
        self.cancels_by_closing = False

    def note(self, message: SessionMessage) -> None:
        """Note what is sent."""
        if isinstance(message.message, JSONRPCRequest) and message.message.method == "tools/call":
            self.call = message.message.id


class _NotingStream:
    """A stream that notes the calls that are sent on it."""

    def __init__(self, stream: WriteStream[SessionMessage], traffic: LineTraffic) -> None:
        self._stream = stream
        self._traffic = traffic

    async def send(self, item: SessionMessage, /) -> None:
        self._traffic.note(item)
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(exc_type, exc_val, exc_tb)


def note_calls(stream: WriteStream[SessionMessage], traffic: LineTraffic) -> WriteStream[SessionMessage]:
    """Return the stream, which notes in `traffic` the calls that are sent on it."""
    return _NotingStream(stream, traffic)


@asynccontextmanager
async def line_transport(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, traffic: LineTraffic, over: Callable[[], None]
) -> AsyncGenerator[TransportStreams]:
    """Yield the streams for the SDK's client; `over` is called when the server's output has ended or is unusable."""
    deliver, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with deliver:
            try:
                await _read(reader, deliver, traffic)
            except (ConnectionError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the server has ended, or the connection is given up
            finally:
                over()

    async def write() -> None:
        async with to_send:
            async for message in to_send:
                traffic.note(message)
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    writer.write(line.encode() + b"\n")
                    await writer.drain()
                except ConnectionError:  # its output may still have an answer
                    return

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        try:
            yield incoming, outgoing
        finally:
            group.cancel_scope.cancel()
            for stream in (incoming, outgoing, deliver, to_send):
                stream.close()


async def _read(
    reader: asyncio.StreamReader, deliver: MemoryObjectSendStream[SessionMessage | Exception], traffic: LineTraffic
) -> None:
    pieces: list[bytes] = []
    size = in_a_row = 0
    while data := await reader.read(_READ):
        *ended, rest = data.split(b"\n")
        for line in ended:
            full_line = b"".join((*pieces, line))
            pieces, size = [], 0
            if not full_line.strip():
                continue
            message = message_of_line(full_line)
            if message is not None:
                in_a_row = 0
                await deliver.send(message)
                continue
            traffic.skipped += 1
            in_a_row += 1
            if in_a_row >= MOST_SKIPPED:
                traffic.fault = f"it printed {in_a_row} lines on stdout that are no messages"
                return
        pieces.append(rest)
        size += len(rest)
        if size > LARGEST_MESSAGE:
            traffic.fault = f"it sent a message of more than {LARGEST_MESSAGE // 1024**2} MB"
            return


def message_of_line(line: bytes) -> SessionMessage | None:
    """Return the message in a line, None if there is none."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None
