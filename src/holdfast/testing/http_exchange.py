"""The HTTP exchange: a request and a reply in, the response as timed events out. No clock, socket or state.

The provider's HTTP server: its own event loop in its own thread, on 127.0.0.1.

Every request watches its connection, so that a client's disconnect is noticed immediately, whatever the reply is
waiting for.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence

import h11

from holdfast.testing.protocols.anthropic.messages import Messages
from holdfast.testing.protocols.gemini import GeminiWire
from holdfast.testing.protocols.mistral import Mistral
from holdfast.testing.protocols.ollama import Ollama
from holdfast.testing.protocols.openai.chat import Chat
from holdfast.testing.protocols.openai.responses import Responses
from holdfast.testing.protocols.protocol import Incoming, Refusal, ResponseHead, WireEvent, WireProtocol, WireReply
from holdfast.testing.script import (
    Call,
    Cut,
    End,
    Fail,
    Finish,
    Headers,
    Hold,
    Ping,
    Raw,
    ReceivedRequest,
    Reply,
    Reset,
    ResponseAction,
    Say,
    Think,
    Wait,
    check_reply,
)

_CHAT, _MESSAGES, _GEMINI = Chat(), Messages(), GeminiWire()
_AMAZON = Messages("/anthropic/v1/messages")
_WIRES: tuple[WireProtocol, ...] = (_CHAT, Responses(), _MESSAGES, _GEMINI, Mistral(), _AMAZON, Ollama())
_KEYS = ("authorization", "x-api-key", "x-goog-api-key")


def wire_for_path(incoming: Incoming) -> WireProtocol:
    """Return the protocol that serves the path; for an unknown path, the one that the headers suggest."""
    default = _CHAT
    if "anthropic-version" in incoming.headers or "x-api-key" in incoming.headers:
        default = _MESSAGES
    elif "x-goog-api-key" in incoming.headers:
        default = _GEMINI
    return next((wire for wire in _WIRES if wire.serves(incoming.path)), default)


_OWN_PAGES = ("/props", "/api/ps", "/api/show")


def model_listing(incoming: Incoming, models: Sequence[str]) -> tuple[ResponseHead, bytes] | None:
    """Return the response to a request for the list of models, 404 without `models`; None for other requests.

    The pages on which servers of the user's own tell their window are not there either.
    """
    if incoming.path.partition("?")[0].endswith(_OWN_PAGES):
        return ResponseHead(404, (("content-type", "application/json"),)), b"{}"
    if incoming.method != "GET" or not incoming.path.endswith("/models"):
        return None
    body = {"object": "list", "data": [{"id": each} for each in models]}
    body |= {"models": [{"name": f"models/{each}"} for each in models]}  # Gemini's
    return ResponseHead(200 if models else 404, (("content-type", "application/json"),)), json.dumps(body).encode()


def admit_request(wire: WireProtocol, incoming: Incoming, *, key: str | None) -> ReceivedRequest:
    """Return the request. Raise `Refusal`, in the provider's words, if it must be refused.

    A server that needs no key refuses requests with one: it would be the key of another service.
    """
    key = key if wire.requires_key else None
    for header in _KEYS:
        if key is None and header in incoming.headers:
            raise Refusal(f"This server needs no key, but {header} has one.", status=401)
    if not wire.serves(incoming.path) or incoming.method != "POST":
        raise wire.not_found(incoming)
    return wire.admit(incoming, key=key)


def response_events(
    wire: WireProtocol, request: ReceivedRequest, reply: Reply, *, turn: int, number: int
) -> Iterator[WireEvent]:
    """Yield the response; pauses at the start come before the status line. `turn` counts the replies."""
    actions = check_reply(reply)
    while actions and isinstance(actions[0], Wait | Hold):
        yield actions[0]
        actions = actions[1:]
    first = actions[0] if actions else None
    if isinstance(first, Fail):
        failure = wire.failure(first)
        head, body = wire.error_response(failure, number=number)
        in_header = first.retry_after is not None and failure.retry_after is None
        retry_header = (("retry-after", f"{first.retry_after:g}"),) if in_header else ()
        yield ResponseHead(head.status, (*head.headers, *retry_header))
        yield body
        return
    if isinstance(first, Reset):
        yield first
        return
    content = tuple(action for action in actions if not isinstance(action, Fail))
    answer = WireReply(request, _with_finish(content), turn)
    yield from _streaming_events(wire, answer) if request.stream else _non_streaming_events(wire, answer)


def _streaming_events(wire: WireProtocol, answer: WireReply) -> Iterator[WireEvent]:
    first = answer.reply[0]
    yield _head(first if isinstance(first, Headers) else Headers())
    writer = wire.stream_writer(answer)
    for action in answer.reply:
        match action:
            case Say() | Think() | Call():
                yield from writer.write(action)
            case Ping(count, every):
                for _ in range(count):
                    yield from writer.ping()
                    yield Wait(every)
            case Raw():
                yield from _raw(action)
            case Finish(reason):
                yield from writer.finish(reason)
            case End():
                yield writer.end()
            case Wait() | Hold():
                yield action
            case Headers():
                pass
            case Reset():
                yield action
                return
            case Cut():
                return
    if not any(isinstance(action, End) for action in answer.reply):
        yield writer.end()


def _head(headers: Headers) -> ResponseHead:
    packed = (("content-encoding", headers.encoding),) if headers.encoding else ()
    return ResponseHead(
        headers.status, (("content-type", headers.content_type), ("cache-control", "no-cache"), *packed)
    )


def _raw(action: Raw) -> Iterator[WireEvent]:
    for _ in range(action.times):
        yield action.data
        if action.every:
            yield Wait(action.every)


def _non_streaming_events(wire: WireProtocol, answer: WireReply) -> Iterator[WireEvent]:
    """Yield all pauses and keep-alives, then the document; only half of it for a cut or a reset."""
    head = ResponseHead(200, (("content-type", "application/json"),))
    has_head = False
    for action in answer.reply:
        match action:
            case Wait() | Hold():
                yield action
            case Ping(count, every):
                yield Wait(count * every)
            case Headers() | Raw():
                if not has_head:
                    yield _head(action) if isinstance(action, Headers) else head
                    has_head = True
                if isinstance(action, Raw):
                    yield from _raw(action)
            case _:
                pass
    body = wire.non_streaming_body(answer)
    last = answer.reply[-1]
    if not has_head:
        yield head
    yield body[: len(body) // 2] if isinstance(last, Cut | Reset) else body
    if isinstance(last, Reset):
        yield last


def _with_finish(content: tuple[ResponseAction, ...]) -> tuple[ResponseAction, ...]:
    """Return the reply with a Finish, if it has none."""
    if any(isinstance(action, Finish | Cut | Reset) for action in content):
        return content
    end = next((place for place, action in enumerate(content) if isinstance(action, End)), len(content))
    calls = any(isinstance(action, Call) for action in content[:end])
    return (*content[:end], Finish("tool_calls" if calls else "stop"), *content[end:])


# --- http server ---

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
