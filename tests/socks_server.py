"""A SOCKS5 proxy as its own process: `python socks_server.py MODE`. It prints its port, then each place asked for.

It speaks RFC 1928 and 1929 over real sockets and passes bytes on both ways. `MODE` is what it does: "open", "password"
(of USER and PASSWORD), "refuses", "unreachable", "leaves", "silent", or "http" (what it answers is no SOCKS).
"""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

SocksMode = Literal["open", "password", "refuses", "unreachable", "leaves", "silent", "http"]
USER, PASSWORD = "somebody", "p@ss-word"
_CODES: dict[str, int] = {"refuses": 2, "unreachable": 4}


@dataclass
class SocksProxy:
    """A running proxy: its port, and the places to which connections were asked for."""

    port: int
    process: subprocess.Popen[str]
    places: list[str] = field(default_factory=list[str])


@contextmanager
def socks_proxy(mode: SocksMode = "open") -> Generator[SocksProxy]:
    """Run a proxy; when the block ends it is killed, and `places` is complete."""
    command = [sys.executable, str(Path(__file__)), mode]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        proxy = SocksProxy(int(process.stdout.readline()), process)
        try:
            yield proxy
        finally:
            process.terminate()
            proxy.places += process.stdout.read().split()


def _exactly(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        more = connection.recv(size - len(received))
        if not more:
            raise ConnectionError
        received += more
    return received


def _serve(connection: socket.socket, mode: str) -> None:
    with connection, suppress(OSError):
        if mode == "silent":
            connection.recv(64)
            connection.recv(64)  # until the client leaves
            return
        if mode == "http":
            connection.recv(64)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return
        methods = _exactly(connection, _exactly(connection, 2)[1])
        wanted = 2 if mode == "password" else 0
        connection.sendall(bytes([5, wanted if wanted in methods else 255]))
        if wanted not in methods:
            return
        if wanted:
            user = _exactly(connection, _exactly(connection, 2)[1]).decode()
            password = _exactly(connection, _exactly(connection, 1)[0]).decode()
            accepted = (user, password) == (USER, PASSWORD)
            connection.sendall(bytes([1, 0 if accepted else 1]))
            if not accepted:
                return
        kind = _exactly(connection, 4)[3]
        if kind == 3:  # as RFC 1928 numbers them
            host = _exactly(connection, _exactly(connection, 1)[0]).decode()
        else:
            family, size = (socket.AF_INET, 4) if kind == 1 else (socket.AF_INET6, 16)
            host = socket.inet_ntop(family, _exactly(connection, size))
        port = struct.unpack("!H", _exactly(connection, 2))[0]
        _say(f"{host}:{port}")
        if mode == "leaves":
            return
        there: socket.socket | None = None
        code = _CODES.get(mode, 0)
        if code == 0:
            try:
                there = socket.create_connection((host, port), timeout=5)
            except OSError:
                code = 5
        connection.sendall(bytes([5, code, 0, 1, 0, 0, 0, 0, 0, 0]))
        if there is not None:
            there.settimeout(None)
            with there:
                back = threading.Thread(target=_copy, args=(there, connection), daemon=True)
                back.start()
                _copy(connection, there)
                back.join(5)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        _say(f"{server.getsockname()[1]}")
        while True:
            connection, _ = server.accept()
            threading.Thread(target=_serve, args=(connection, sys.argv[1]), daemon=True).start()


if __name__ == "__main__":
    _main()
