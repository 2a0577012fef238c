"""The stream transport of MCP over a server's stdin and stdout: one JSON message per line. The SDK speaks through it.

Unlike the SDK's transport, it owns no process, skips lines that are not messages (many servers print banners) and
counts them, and bounds the size of a message: a server cannot take the memory of the agent. Nor its time: while it is
asked nothing it is read slowly, and its pipe fills. An answer that cannot be
read still has an id: the request with that id ends at once, with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from holdfast.tools.mcp.sdk.traffic import (
    UNREADABLE,
    MessageSize,
    Traffic,
    invalid_message_reason,
    with_traffic,
)
from holdfast.tools.message_frame import message_frame

MOST_SKIPPED = 100
"""Lines in a row that are not messages, after which a server is disconnected."""

_READ = 1 << 16


@asynccontextmanager
async def line_transport(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, traffic: Traffic, over: Callable[[], None]
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
            yield with_traffic((incoming, outgoing), traffic)
        finally:
            group.cancel_scope.cancel()
            for stream in (incoming, outgoing, deliver, to_send):
                stream.close()


async def _read(
    reader: asyncio.StreamReader, deliver: MemoryObjectSendStream[SessionMessage | Exception], traffic: Traffic
) -> None:
    pieces: list[bytes] = []
    size, in_a_row = MessageSize(), 0
    while data := await reader.read(_READ):
        *ended, rest = data.split(b"\n")
        for place, piece in enumerate((*ended, rest)):
            if why := size.fault(piece):
                traffic.fault = why
                return
            pieces.append(piece)
            if place == len(ended):
                continue
            line = b"".join(pieces)
            pieces.clear()
            size = MessageSize()
            if not line.strip():
                continue
            message = message_of_line(line)
            del line  # it may be large, and the next one is waited for
            if message is not None:
                in_a_row = 0
                await deliver.send(message)
                del message
                continue
            traffic.skipped += 1
            in_a_row += 1
            if in_a_row >= MOST_SKIPPED:
                traffic.fault = f"it printed {in_a_row} lines on stdout that are no messages"
                return
        await traffic.pace(len(data))


def message_of_line(line: bytes) -> SessionMessage | None:
    """Return the message in a line, or an error in place of an answer that cannot be read, None if there is neither."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        found = message_frame(line)
        if found is None or found.id is None or found.has_method:
            return None
        why = ErrorData(code=PARSE_ERROR, message=f"{UNREADABLE}{_fault(line, error)}")
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=found.id, error=why))


def _fault(line: bytes, error: ValueError) -> str:
    """Return why a line is not a message."""
    try:
        line.decode()
    except UnicodeDecodeError as broken:
        return f"it is not UTF-8 (byte {broken.start})"
    return invalid_message_reason(str(error))
