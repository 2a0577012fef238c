"""The only way out of a confined command at level `network`: HTTP to hosts that were named, and nothing else.

A small process beside the command. It accepts connections on the listener that the command's side handed out, reads one
head, and opens a tunnel (CONNECT) or forwards a request. A host that was not named gets 403 and is reported, so that
the command's result can list it. Nothing is asked while a command runs.

A name must lead to public addresses, as for `fetch`: else a named host could be made to mean this machine. The address
that was judged is the one connected to. Heads, connections and waiting are bounded. It ends with its parent.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

from holdfast.system.address_policy import may_ask
from holdfast.system.confinement.network.request_head import HEAD_MOST, ProxyRequest, is_named, read_head
from holdfast.system.host_addresses import addresses_of

CONNECTIONS = 64
"""At the same time; a further one waits."""

_HEAD_SECONDS = 10.0
_CONNECT_SECONDS = 10.0
_IDLE_SECONDS = 300.0
_REPORTS = 100
_CHUNK = 65_536
_TRIED = 4
_PARENT_DEATH = 1

_TUNNEL = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Proxy:
    """Serves one command. `report` is a descriptor that gets a JSON line for each request that was refused.

    `look_up` returns the addresses of a host. It is asked once for each request: what it answered is judged, and then
    connected to.
    """

    def __init__(
        self,
        hosts: tuple[str, ...],
        networks: tuple[str, ...],
        report: int,
        *,
        look_up: Callable[[str, int], list[str]] = addresses_of,
    ) -> None:
        self._look_up = look_up
        self._hosts, self._networks, self._report = hosts, networks, report
        self._reported: set[tuple[str, int]] = set()
        self._lock = threading.Lock()
        self._free = threading.Semaphore(CONNECTIONS)

    def serve(self, listener: socket.socket) -> None:
        """Accept connections until the process ends."""
        while True:
            self._free.acquire()
            connection, _ = listener.accept()
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            with connection, contextlib.suppress(OSError):  # either side may close at any time
                self._handle(connection)
        finally:
            self._free.release()

    def _handle(self, connection: socket.socket) -> None:
        head, rest = received_head(connection)
        request = read_head(head) if head else None
        if request is None:
            connection.sendall(_refusal(400, "This proxy knows CONNECT and absolute http:// requests only."))
            return
        if not is_named(request, self._hosts):
            self._report_refusal(request, "not named")
            text = f"{request.host}:{request.port} was not allowed: it is not named in `network`."
            connection.sendall(_refusal(403, text))
            return
        addresses, why = self._addresses(request)
        if why:
            self._report_refusal(request, why)
            connection.sendall(_refusal(403, f"{request.host}: {why}."))
            return
        server = _connected(addresses, request.port)
        if server is None:
            connection.sendall(_refusal(502, f"{request.host}:{request.port} cannot be reached."))
            return
        with server:
            if request.head is None:
                connection.sendall(_TUNNEL)
            else:
                server.sendall(request.head)
            server.sendall(rest)
            _relay(connection, server)

    def _addresses(self, request: ProxyRequest) -> tuple[list[str], str]:
        """Return the host's addresses and "", or why it may not be asked."""
        try:
            addresses = self._look_up(request.host, request.port)
        except (OSError, UnicodeError):
            return [], "its name cannot be resolved"
        inner = [each for each in addresses if not may_ask(each.partition("%")[0], self._networks)]
        return addresses, f"{inner[0]} is not a public address" if inner else ""

    def _report_refusal(self, request: ProxyRequest, why: str) -> None:
        place = (request.host, request.port)
        with self._lock:
            if place not in self._reported and len(self._reported) < _REPORTS:
                self._reported.add(place)
                line = {"host": request.host, "port": request.port, "why": why}
                os.write(self._report, json.dumps(line).encode() + b"\n")


def received_head(connection: socket.socket) -> tuple[bytes, bytes]:
    """Return a head and what came behind it; both empty if none came in time and size."""
    data, deadline = b"", time.monotonic() + _HEAD_SECONDS
    while b"\r\n\r\n" not in data:
        left = deadline - time.monotonic()
        if left <= 0 or len(data) > HEAD_MOST or not select.select([connection], [], [], left)[0]:
            return b"", b""
        if not (more := connection.recv(_CHUNK)):
            return b"", b""
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    return (head, rest) if len(head) <= HEAD_MOST else (b"", b"")


def _refusal(code: int, text: str) -> bytes:
    reason = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway"}[code]
    body = f"holdfast: {text}\n".encode("utf-8", "replace")
    head = f"HTTP/1.1 {code} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body


def _connected(addresses: list[str], port: int) -> socket.socket | None:
    for address in addresses[:_TRIED]:
        with contextlib.suppress(OSError):
            return socket.create_connection((address, port), timeout=_CONNECT_SECONDS)
    return None


def _relay(one: socket.socket, other: socket.socket) -> None:
    """Hand bytes on in both directions until both ends have closed or nothing comes for long."""
    toward = {one: other, other: one}
    for each in (one, other):
        each.settimeout(_IDLE_SECONDS)
    while toward:
        ready = select.select(list(toward), [], [], _IDLE_SECONDS)[0]
        if not ready:
            return
        for each in ready:
            if data := each.recv(_CHUNK):
                toward[each].sendall(data)
            else:
                with contextlib.suppress(OSError):
                    toward[each].shutdown(socket.SHUT_WR)
                del toward[each]


def receive_listener(channel: int) -> socket.socket | None:
    """Return the listening socket that the command's side opened, None if it ended before. Blocks until then."""
    with socket.socket(fileno=channel) as ours:
        fds = array.array("i")
        _, ancillary, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(fds.itemsize))
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(data[: fds.itemsize])
                return socket.socket(fileno=fds[0])
    return None


def main() -> None:
    """Serve what the arguments say: parent's pid, channel, report descriptor, hosts and networks as JSON."""
    parent, channel, report, hosts, networks = sys.argv[1:]
    ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(parent):
        return
    listener = receive_listener(int(channel))
    if listener is not None:
        Proxy(tuple(json.loads(hosts)), tuple(json.loads(networks)), int(report)).serve(listener)
