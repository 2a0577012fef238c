"""The lines of standard input and output as the streams of the SDK's server.

Unlike the SDK's streams, they bound a line, and answer each request: one that cannot be read gets an error with its id.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from holdfast.text import valid_unicode
from holdfast.tools.message_frame import MOST_VALUES, MessageFrame, is_too_complex, message_frame
from holdfast.typed_data import decode_fault
from holdfast.ui.headless.input_reader import LineReader
from holdfast.ui.json_rpc.connection import LONGEST_MESSAGE, LineWriter
from holdfast.ui.json_rpc.messages import PARSE_ERROR, RpcError, error_line

WRITES_WITHIN = 1.0
"""Seconds in which the last lines must be written after the end."""

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def line_streams(lines_in: int, lines_out: int) -> AsyncGenerator[Streams]:
    """Yield the streams over two descriptors. The first ends when the client closes its end, or reads nothing."""
    loop = asyncio.get_running_loop()
    reader = LineReader(lines_in, loop, longest=LONGEST_MESSAGE)

    def on_closed(why: str) -> None:
        del why
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(reader.stop)

    writer = LineWriter(lines_out, on_closed)
    deliver, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with deliver:
            while (line := await reader.lines.get()) is not None:
                match _too_long() if line.text is None else client_message(line.text):
                    case SessionMessage() as message:
                        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                            await deliver.send(message)
                    case bytes() as refusal:
                        writer.write(refusal)
                    case None:
                        pass

    async def write() -> None:
        async with to_send:
            async for message in to_send:
                writer.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    reader.start()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            group.start_soon(write)
            try:
                yield incoming, outgoing
            finally:
                group.cancel_scope.cancel()
                for stream in (incoming, outgoing, deliver, to_send):
                    stream.close()
    finally:
        writer.close(WRITES_WITHIN)


def client_message(line: bytes) -> SessionMessage | bytes | None:
    """Return the message in a line, the line that refuses it, or None if nothing is to be answered. Never raises."""
    if not line.strip():
        return None
    if is_too_complex(line):
        return _refusal(message_frame(line), f"The line has more than {MOST_VALUES} values. Send less.")
    text = line.decode("utf-8", "replace")
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError:
        pass
    try:
        # Half of a surrogate pair, which JavaScript writes and the SDK refuses: the work must not be lost for it.
        repaired = valid_unicode(json.dumps(json.loads(text), ensure_ascii=False))
        return SessionMessage(jsonrpc_message_adapter.validate_json(repaired, by_name=False))
    except (ValueError, RecursionError) as error:
        found = message_frame(line)
        if found is not None and not found.has_method:
            return None  # an answer, to a request of this server: it sends none
        why = " ".join(decode_fault(error).split())[:300]
        return _refusal(found, f"The line is no JSON-RPC 2.0 message: {why}. Nothing was done.")


def _refusal(frame: MessageFrame | None, why: str) -> bytes:
    return error_line(None if frame is None else frame.id, RpcError(PARSE_ERROR, why))


def _too_long() -> bytes:
    why = f"The line has more than {LONGEST_MESSAGE // 1024**2} MB. Send less, or the path of a file."
    return error_line(None, RpcError(PARSE_ERROR, why))
