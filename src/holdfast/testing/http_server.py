"""The provider's HTTP server: its own event loop in its own thread, on 127.0.0.1.

Every request watches its connection, so that a client's disconnect is noticed immediately, whatever the reply is
waiting for.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import AsyncGenerator, Callable

import h11

from holdfast.testing.protocols.protocol import Incoming, ResponseHead
from holdfast.testing.script import Reset

Play = Callable[[Incoming], AsyncGenerator[ResponseHead | bytes | Reset, None]]
"""A request in, its response out, at the script's pace."""

_ABORTIVE_CLOSE = struct.pack("ii", 1, 0)
_MOST_READ = 65_536


class Loopback:
    """An HTTP server for `play`, listening once constructed. `start` it once, `stop` it once."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self._socket = socket.create_server(("127.0.0.1", 0))
        host, port = self._socket.getsockname()
        self.url = f"http://{host}:{port}"
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop = self._runner.get_loop()
        self._stopping = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self._failures: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, name="scripted provider", daemon=True)

    @property
    def open_connections(self) -> int:
        """Return how many clients are connected."""
        return len(self._connections)

    def start(self) -> None:
        """Start to answer."""
        self._thread.start()

    def stop(self) -> list[BaseException]:
        """Close every connection and end the thread. Return the exceptions that replies raised."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        return self._failures

    def _run(self) -> None:
        with self._runner as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._accept, sock=self._socket)
        await self._stopping.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(_Connection(reader, writer, self._play).run())
        self._connections.add(task)
        task.add_done_callback(self._on_done)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._connections.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failures.append(error)


class _Connection:
    """One client's connection, which carries requests one after another until either side closes it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, play: Play) -> None:
        self._reader = reader
        self._writer = writer
        self._play = play
        self._http = h11.Connection(h11.SERVER)

    async def run(self) -> None:
        try:
            while (incoming := await self._receive()) is not None and await self._answer(incoming):
                self._http.start_next_cycle()
        except (ConnectionError, h11.RemoteProtocolError):
            pass  # the client disconnected, or does not speak HTTP
        finally:
            self._writer.close()
            with contextlib.suppress(ConnectionError):
                await self._writer.wait_closed()

    async def _receive(self) -> Incoming | None:
        request: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                if self._http.they_are_waiting_for_100_continue:
                    self._write(h11.InformationalResponse(status_code=100, headers=[]))
                self._http.receive_data(await self._reader.read(_MOST_READ))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage) and request is not None:
                return _incoming(request, bytes(body))
            else:
                return None

    async def _answer(self, incoming: Incoming) -> bool:
        """Play the response. Return whether the connection can carry another request."""
        playing = asyncio.ensure_future(self._send(incoming))
        leaving = asyncio.ensure_future(self._wait_for_disconnect())
        try:
            await asyncio.wait({playing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            playing.cancel()
            leaving.cancel()
            await asyncio.gather(playing, leaving, return_exceptions=True)
        if playing.cancelled():
            self._writer.transport.abort()
            return False
        playing.result()
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    async def _send(self, incoming: Incoming) -> None:
        async with contextlib.aclosing(self._play(incoming)) as response:
            async for event in response:
                match event:
                    case ResponseHead(status, headers):
                        self._write(h11.Response(status_code=status, headers=list(headers)))
                    case bytes():
                        self._write(h11.Data(data=event))
                    case Reset():
                        self._reset()
                        return
                await self._writer.drain()
                await asyncio.sleep(0)  # drain does not yield while the buffer is low
        self._write(h11.EndOfMessage())
        await self._writer.drain()

    async def _wait_for_disconnect(self) -> None:
        """Return when the client has disconnected; data that it sends early is kept for its next request."""
        with contextlib.suppress(ConnectionError):
            while data := await self._reader.read(_MOST_READ):
                self._http.receive_data(data)

    def _write(self, event: h11.Event) -> None:
        self._writer.write(self._http.send(event) or b"")

    def _reset(self) -> None:
        self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORTIVE_CLOSE)
        self._writer.transport.abort()


def _incoming(request: h11.Request, body: bytes) -> Incoming:
    headers = {name.decode("ascii"): value.decode("latin-1") for name, value in request.headers}
    path = request.target.decode("ascii").partition("?")[0]
    return Incoming(method=request.method.decode("ascii"), path=path, headers=headers, body=body)
