"""Servers on real sockets for tests of what goes over the wire: they keep each request as its bytes came.

They have no rules: what a provider would refuse, the strict servers of `holdfast.testing` refuse. An answer is bytes,
written as they are, so that it may be split, late, half or of an older HTTP.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from holdfast.testing import http_exchange
from holdfast.testing.protocols.protocol import Incoming, ResponseHead, WireProtocol
from holdfast.testing.script import ReceivedRequest, Reply, Say

PATHS = {
    "OPENAI_BASE_URL": "/v1",
    "ANTHROPIC_BASE_URL": "",
    "GOOGLE_GEMINI_BASE_URL": "",
    "MISTRAL_BASE_URL": "/mistral/v1",
    "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": "/anthropic",
    "OPENROUTER_BASE_URL": "/v1",
    "OLLAMA_BASE_URL": "/ollama/v1",
}
"""Where each provider's variable points, behind the address of a server: the paths that `holdfast.testing` serves."""

KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "MISTRAL_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "OPENROUTER_API_KEY",
)
OK: Reply = (Say("ok"),)
Json = dict[str, object]


def environ(url: str, key: str = "test-key") -> dict[str, str]:
    """Return the variables by which every provider is at this address, with this key."""
    return {**{name: f"{url}{path}" for name, path in PATHS.items()}, **dict.fromkeys(KEYS, key)}


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came: `target` is what its first line names, names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """Return the path of the target, which to a proxy is a whole URL."""
        return urlsplit(self.target).path


async def read_request(reader: asyncio.StreamReader) -> Received | None:
    """Read one request, None if the client has left."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return Received(method, target, headers, body)


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Has one connection, which is closed behind it."""


@asynccontextmanager
async def listening(serve: Serve, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """Give the port at which each connection is served, on the event loop of the test."""
    running: set[asyncio.Task[None]] = set()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError):
                await serve(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running.add(asyncio.create_task(served(reader, writer)))

    server = await asyncio.start_server(accepted, host, 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in running:
            task.cancel()
        ended = await asyncio.gather(*running, return_exceptions=True)
        await server.wait_closed()
    for error in ended:
        if isinstance(error, Exception):
            raise error


def protocol_request(received: Received) -> ReceivedRequest:
    """Return the request for a protocol to answer; no rule is applied to it."""
    body: Json = json.loads(received.body)
    wire = _wire(received)
    stream = body.get("stream") is True or "streamGenerateContent" in received.path
    model = str(body.get("model", "m"))  # Gemini's is in the path, and makes no difference to an answer
    return ReceivedRequest(wire=wire.name, model=model, system=(), messages=(), tools=(), stream=stream, body=body)


def answer(received: Received, reply: Reply = OK, *, number: int = 1) -> tuple[ResponseHead, list[bytes]]:
    """Return the head of the answer with which a provider says the reply, and the bytes of its events."""
    head, *events = http_exchange.response_events(
        _wire(received), protocol_request(received), reply, turn=number, number=number
    )
    assert isinstance(head, ResponseHead)
    return head, [event for event in events if isinstance(event, bytes)]


def _wire(received: Received) -> WireProtocol:
    incoming = Incoming(method="POST", path=received.path, headers=received.headers, body=b"")
    return http_exchange.wire_for_path(incoming)


def head_bytes(head: ResponseHead, *more: str, version: str = "1.1") -> bytes:
    """Return the status line and headers as they are written."""
    lines = [f"HTTP/{version} {head.status} As Told", *(f"{name}: {value}" for name, value in head.headers), *more]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


class Recorder:
    """Serves every protocol: keeps each request, and answers each in the words of the next reply, or of the last."""

    def __init__(self, replies: Sequence[Reply] = (OK,)) -> None:
        self._replies = [*replies]
        self.requests: list[Received] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request; the end of the connection is the end of the answer."""
        received = await read_request(reader)
        if received is None:
            return
        self.requests.append(received)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        head, events = answer(received, reply, number=len(self.requests))
        writer.write(head_bytes(head, "connection: close") + b"".join(events))
        await writer.drain()


class OldServer:
    """Speaks HTTP/1.0: an answer ends where its connection ends, wherever that is."""

    def __init__(self, text: str, *, cut: int | None = None) -> None:
        self.connections = 0
        self._text = text
        self._cut = cut

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, with all events or with so many."""
        self.connections += 1
        received = await read_request(reader)
        assert received is not None
        head, written = answer(received, (Say(self._text),))
        writer.write(head_bytes(head, version="1.0"))
        for event in written[: self._cut]:
            writer.write(event)
            await writer.drain()
            await asyncio.sleep(0)


class Redirects:
    """Points everybody to another place."""

    def __init__(self, place: str, status: int) -> None:
        self._place = place
        self._status = status

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        assert await read_request(reader) is not None
        head = f"HTTP/1.1 {self._status} Away\r\nlocation: {self._place}\r\ncontent-length: 0\r\n\r\n"
        writer.write(head.encode())
        await writer.drain()
