"""The proxy against a name server that changes its mind: what was judged is what is connected to."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress

from holdfast.system.confinement.network.proxy import Proxy
from polling import HANGS

NAME = "rebinding.example"
JUDGED, INNER = "127.0.0.1", "127.0.0.2"


class Servers:
    """A server at each of two addresses, with the same port; each says where it is."""

    def __init__(self, stack: ExitStack) -> None:
        first = stack.enter_context(socket.create_server((JUDGED, 0)))
        self.port = int(first.getsockname()[1])
        self.asked: list[str] = []
        for place, listener in (
            (JUDGED, first),
            (INNER, stack.enter_context(socket.create_server((INNER, self.port)))),
        ):
            threading.Thread(target=self._serve, args=(place, listener), daemon=True).start()

    def _serve(self, place: str, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # the test is over
            with connection:
                self.asked.append(place)
                connection.recv(1000)
                connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nfrom " + place.encode())


class Names:
    """Answers each look-up with the next of its addresses, and with the last from then on."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = list(answers), 0

    def look_up(self, host: str, port: int) -> list[str]:
        assert (host, port > 0) == (NAME, True)
        self.asked += 1
        return [self.answers[min(self.asked, len(self.answers)) - 1]]


@contextmanager
def proxy(names: Names, port: int) -> Generator[tuple[tuple[str, int], int]]:
    """Yield the address of a proxy that may reach the name, and the descriptor with its reports."""
    reading, writing = os.pipe()
    served = Proxy((f"{NAME}:{port}",), (f"{JUDGED}/32",), writing, look_up=names.look_up)
    with socket.create_server(("127.0.0.1", 0)) as listener, os.fdopen(reading), os.fdopen(writing, "wb"):
        serving = threading.Thread(target=_until_closed, args=(served, listener), daemon=True)
        serving.start()
        yield listener.getsockname(), reading
        listener.shutdown(socket.SHUT_RDWR)
        serving.join()


def _until_closed(served: Proxy, listener: socket.socket) -> None:
    """Serve as the process of a proxy does, whose end is the end of the test."""
    with suppress(OSError):
        served.serve(listener)


def said(place: tuple[str, int], *parts: str) -> str:
    """Return what comes back when these parts are sent, each after an answer to the one before."""
    found = b""
    with socket.create_connection(place, timeout=HANGS) as connection:
        for part in parts:
            connection.sendall(part.encode())
            found += connection.recv(1000)
        while more := connection.recv(1000):
            found += more
    return found.decode()


def test_a_tunnel_and_a_request_lead_to_the_address_that_was_judged() -> None:
    with ExitStack() as stack:
        servers, names = Servers(stack), Names(JUDGED, INNER)
        place, report = stack.enter_context(proxy(names, servers.port))
        tunnel = f"CONNECT {NAME}:{servers.port} HTTP/1.1\r\n\r\n"
        assert "from 127.0.0.1" in said(place, tunnel, "GET / HTTP/1.0\r\n\r\n")
        assert names.asked == 1
        for each in (tunnel, f"GET http://{NAME}:{servers.port}/ HTTP/1.1\r\nHost: x\r\n\r\n"):
            assert "403 Forbidden" in said(place, each)  # from now on it is the inner one that is judged
        assert names.asked == 3
        assert servers.asked == [JUDGED]
        assert json.loads(os.read(report, 1000)) == {
            "host": NAME,
            "port": servers.port,
            "why": f"{INNER} is not a public address",
        }


def test_a_forwarded_request_leads_to_the_address_that_was_judged() -> None:
    with ExitStack() as stack:
        servers, names = Servers(stack), Names(JUDGED, INNER)
        place, _ = stack.enter_context(proxy(names, servers.port))
        assert "from 127.0.0.1" in said(place, f"GET http://{NAME}:{servers.port}/ HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (names.asked, servers.asked) == (1, [JUDGED])


def test_a_name_with_one_inner_address_among_public_ones_is_refused() -> None:
    class Both(Names):
        def look_up(self, host: str, port: int) -> list[str]:
            return [JUDGED, *super().look_up(host, port)]

    with ExitStack() as stack:
        servers, names = Servers(stack), Both(INNER)
        place, _ = stack.enter_context(proxy(names, servers.port))
        assert "403 Forbidden" in said(place, f"CONNECT {NAME}:{servers.port} HTTP/1.1\r\n\r\n")
        assert servers.asked == []
