"""One connection to a client: lines in, lines out, and the requests to the client that wait for an answer.

A thread reads and a thread writes, so the event loop never waits for the client. All lines out go through one queue, so
an answer never overtakes the updates before it. If the client has closed its end, or reads nothing for
`CLIENT_PATIENCE` seconds, the owner is notified once, and nothing more is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from queue import SimpleQueue

import msgspec

from holdfast.ui.headless.input_reader import LineReader
from holdfast.ui.json_rpc.messages import (
    PARSE_ERROR,
    RequestId,
    RpcAnswer,
    RpcError,
    RpcFault,
    RpcNotification,
    RpcRequest,
    error_line,
    message_of,
    notification_line,
    request_line,
    result_line,
)

LONGEST_MESSAGE = 64 * 1024 * 1024
"""Maximum bytes of a line from the client. A longer one is refused, without its id, because it is not parsed."""

CLIENT_PATIENCE = 30.0
"""Seconds within which a client must read something if there is output for it."""

_PIECE = 4096
"""Bytes that a writable pipe takes at once (PIPE_BUF), so that a write never blocks."""


class LineWriter:
    """Writes lines to a descriptor, in a thread. `on_closed` is called there, once, with the reason."""

    def __init__(self, descriptor: int, on_closed: Callable[[str], None], *, patience: float = CLIENT_PATIENCE) -> None:
        self._descriptor = descriptor
        self._on_closed = on_closed
        self._patience = patience
        self._open = True
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="editor output", daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        """Write the line after everything before it; returns immediately and never raises."""
        self._queue.put(line)

    def close(self, within: float) -> None:
        """Wait until everything is written, or for `within` seconds."""
        self._queue.put(None)
        self._thread.join(within)

    def _run(self) -> None:
        for line in iter(self._queue.get, None):
            if self._open:
                try:
                    self._write(line)
                except OSError as error:
                    self._open = False
                    self._on_closed(error.strerror or str(error))

    def _write(self, line: bytes) -> None:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        rest = memoryview(line)
        waited = time.monotonic()
        while rest:
            if not poll.poll(1000.0):
                if time.monotonic() - waited > self._patience:
                    raise TimeoutError(None, f"the client has read nothing for {self._patience:g} s")
                continue
            with contextlib.suppress(BlockingIOError):  # another process made it non-blocking
                rest = rest[os.write(self._descriptor, rest[:_PIECE]) :]
                waited = time.monotonic()


class ClientRequest(msgspec.Struct, frozen=True):
    """A request to the client, and a future for its answer. A closed client never answers."""

    id: int
    answer: asyncio.Future[RpcAnswer]


class EditorConnection:
    """The messages of one client. Everything but the threads runs on one event loop."""

    def __init__(self, reader: LineReader, writer: LineWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._waiting: dict[int, asyncio.Future[RpcAnswer]] = {}
        self._next = 0

    async def messages(self) -> AsyncIterator[RpcRequest | RpcNotification]:
        """Yield the requests and notifications of the client, in order, until it closes its end."""
        self._reader.start()
        while (line := await self._reader.lines.get()) is not None:
            if line.text is None:
                why = f"The line has more than {LONGEST_MESSAGE // 1024**2} MB. Send less, or the path of a file."
                self.refuse(None, RpcError(PARSE_ERROR, why))
                continue
            for message in self._incoming(line.text):
                yield message

    def notify(self, method: str, params: object) -> None:
        """Send a notification."""
        self._writer.write(notification_line(method, params))

    def answer(self, request: RequestId, result: object) -> None:
        """Answer a request of the client."""
        self._writer.write(result_line(request, result))

    def refuse(self, request: RequestId, error: RpcError) -> None:
        """Answer a request of the client with an error."""
        self._writer.write(error_line(request, error))

    def ask(self, method: str, params: object) -> ClientRequest:
        """Send a request to the client."""
        self._next += 1
        answer: asyncio.Future[RpcAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[self._next] = answer
        self._writer.write(request_line(self._next, method, params))
        return ClientRequest(self._next, answer)

    def withdraw(self, request: ClientRequest) -> None:
        """Tell the client that the answer is no longer wanted. A late one is dropped."""
        if self._waiting.pop(request.id, None) is not None:
            self.notify("$/cancel_request", {"requestId": request.id})

    def _incoming(self, line: bytes) -> Iterator[RpcRequest | RpcNotification]:
        match message_of(line):
            case RpcRequest() | RpcNotification() as message:
                yield message
            case RpcAnswer(id=request_id) as answer:
                waiting = self._waiting.pop(request_id, None) if isinstance(request_id, int) else None
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
            case RpcFault(code=code, why=why, id=request_id):
                self.refuse(request_id, RpcError(code, why))
            case None:
                pass
