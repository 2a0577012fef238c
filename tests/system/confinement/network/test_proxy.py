"""The proxy of level `network`, used from inside a wall: what was named passes, all else is refused and reported."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import walls
from polling import eventually
from walls import Wall

LOOPBACK = ("127.0.0.0/8", "::1/128")


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"page {self.path} for {self.headers['Host']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        del format, args


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return walls.hostile_folder(tmp_path / "net", os.geteuid())


def fetch(url: str) -> str:
    program = f"""
import urllib.request, urllib.error
try:
    print(urllib.request.urlopen({url!r}, timeout=20).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
except urllib.error.URLError as error:
    print(error.reason)
"""
    # The loopback is exempt from the proxy, as everywhere; a name that is no loopback's is not.
    return f"unset NO_PROXY no_proxy; python3 - <<'PROGRAM'\n{program}\nPROGRAM"


TUNNEL = """python3 - <<'PROGRAM'
import os, socket
place = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
s = socket.create_connection((place[0], int(place[1])))
s.sendall(b"CONNECT localhost:{port} HTTP/1.1\\r\\n\\r\\n")
print(s.recv(1000).split(b"\\r\\n")[0])
s.sendall(b"GET /tunnel HTTP/1.0\\r\\nHost: t\\r\\n\\r\\n")
s.shutdown(socket.SHUT_WR)
data = b""
while more := s.recv(1000):
    data += more
print(data)
PROGRAM"""


def test_a_named_host_is_reached_and_another_is_refused_and_reported(folder: Path, port: int) -> None:
    wall = Wall(folder=folder, kind="bwrap", level="network", hosts=(f"localhost:{port}",), networks=LOOPBACK)
    named, other, tunnel = wall.run(
        fetch(f"http://localhost:{port}/a?b"), fetch("http://other.example/x"), TUNNEL.replace("{port}", str(port))
    )
    assert f"page /a?b for localhost:{port}" in named.output
    assert named.refused == []
    assert "403" in other.output
    assert "was not allowed" in other.output
    assert other.refused == [{"host": "other.example", "port": 80, "why": "not named"}]
    assert "200 Connection established" in tunnel.output
    assert "page /tunnel for t" in tunnel.output


def test_a_named_host_that_means_this_machine_is_refused(folder: Path, port: int) -> None:
    wall = Wall(folder=folder, kind="bwrap", level="network", hosts=(f"localhost:{port}",))
    (ran,) = wall.run(fetch(f"http://localhost:{port}/"))
    assert "403" in ran.output
    assert "not a public address" in ran.output
    assert "page" not in ran.output
    assert [each["port"] for each in ran.refused] == [port]


def test_nothing_but_the_proxy_is_reached(folder: Path, port: int) -> None:
    wall = Wall(folder=folder, kind="bwrap", level="network", hosts=("*",), networks=LOOPBACK)
    direct = f"python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}))\""
    listed = "ls /proc/self/fd | wc -l"
    connect, descriptors = wall.run(direct, listed)
    assert "Connection refused" in connect.output
    assert descriptors.output.strip() == "4"


def test_what_is_no_request_is_answered_and_a_long_head_is_not_kept(folder: Path) -> None:
    program = """python3 - <<'PROGRAM'
import os, socket
place = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
for sent in (b"GET / HTTP/1.1\\r\\n\\r\\n", b"x" * 100000):
    s = socket.create_connection((place[0], int(place[1])))
    try:
        s.sendall(sent)
        print(s.recv(1000).split(b"\\r\\n")[0])
    except OSError as error:
        print(error)
PROGRAM"""
    (ran,) = Wall(folder=folder, kind="bwrap", level="network").run(program)
    assert "400 Bad Request" in ran.output
    assert ran.code == 0


def test_the_proxy_ends_with_the_command(folder: Path) -> None:
    Wall(folder=folder, kind="bwrap", level="network").run("true")
    eventually(lambda: not proxies(os.getpid()))


def proxies(parent: int) -> list[int]:
    """Return the proxies among this process's descendants."""
    found: list[int] = []
    for each in Path("/proc").iterdir():
        try:
            words = (each / "cmdline").read_bytes()
            mine = int((each / "stat").read_text().rpartition(")")[2].split()[1]) in (parent, 1)
            if each.name.isdigit() and b"network.proxy import main" in words and mine:
                found.append(int(each.name))
        except (OSError, ValueError, IndexError):  # it has ended, or is no process
            continue
    return found
