"""A client that takes nothing of a long answer is cut off, one that takes it slowly is not; a head has a bound."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from holdfast.ui.service.connections import ConnectionGate, ConnectionLimits, limited_protocol
from polling import eventually

STALLED = 0.5
SIZE = 30_000_000


async def stream(request: Request) -> Response:
    async def pieces() -> object:
        while True:
            yield b"x" * 65_536
            await asyncio.sleep(0)

    del request
    return StreamingResponse(pieces())  # pyright: ignore[reportArgumentType] - an endless generator of bytes


async def at_once(request: Request) -> Response:
    del request
    return Response(b"x" * SIZE)


async def short(request: Request) -> Response:
    del request
    return Response(b"short")


@contextmanager
def served() -> Generator[tuple[uvicorn.Server, int]]:
    limits = ConnectionLimits(head_seconds=0.3, stalled_seconds=STALLED)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            Starlette(routes=[Route("/stream", stream), Route("/at-once", at_once), Route("/short", short)]),
            http=limited_protocol(ConnectionGate(limits)),
            log_config=None,
            lifespan="off",
            ws="none",
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
        thread.start()
        try:
            yield server, listening.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            thread.join()


@pytest.mark.parametrize("path", ["/stream", "/at-once"])
def test_a_client_that_takes_nothing_is_cut_off(path: str) -> None:
    with served() as (server, port), socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        eventually(lambda: len(server.server_state.connections) == 1)
        eventually(lambda: not server.server_state.connections, 60)


@pytest.mark.parametrize("kept", ["close", "keep-alive"])
def test_a_client_that_takes_an_answer_slowly_gets_all_of_it(kept: str) -> None:
    with served() as (_, port), socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        client.sendall(f"GET /at-once HTTP/1.1\r\nhost: x\r\nconnection: {kept}\r\n\r\n".encode())
        begun, got = time.monotonic(), 0
        while got <= SIZE and (piece := client.recv(2_000_000)):
            got += len(piece)
            if time.monotonic() - begun < 4 * STALLED:
                time.sleep(0.02)
        assert got > SIZE


def head(size: int, *, ends: bool = True) -> bytes:
    """Return the head of a request of so many bytes; the connection ends behind its answer, if it `ends`."""
    first = b"GET /short HTTP/1.1\r\nhost: x\r\n" + b"connection: close\r\n" * ends
    return first + b"x: " + b"x" * (size - len(first) - 7) + b"\r\n\r\n"


@pytest.mark.parametrize("way", ["in one piece", "in pieces", "in many headers", "behind another request"])
def test_a_head_has_a_bound_however_it_arrives(way: str) -> None:
    most = ConnectionLimits().head_bytes
    with served() as (_, port):
        for size, status in ((most, b"200"), (most + 1, b"400"), (10 * most, b"400")):
            with socket.create_connection(("127.0.0.1", port)) as client:
                whole = head(size)
                match way:
                    case "in pieces":
                        pieces = [whole[:-9], whole[-9:]]
                    case "in many headers":
                        pieces = [whole.replace(b"x" * 60, b"x" * 20 + b"\r\ny:" + b"x" * 36)]
                    case "behind another request":
                        pieces = [head(100, ends=False) + whole]
                    case _:
                        pieces = [whole]
                with suppress(ConnectionError):  # refused before it was sent whole
                    for each in pieces:
                        client.sendall(each)
                answers = received(client).split(b"HTTP/1.1 ")[1:]
                assert answers[-1].startswith(status), (way, size)
                assert len(answers) == (2 if way == "behind another request" else 1)


def received(client: socket.socket) -> bytes:
    """Return all that arrives before the end of the connection."""
    found = b""
    with suppress(ConnectionError):
        while piece := client.recv(65_536):
            found += piece
    return found
