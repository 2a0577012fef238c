"""What a client without a token may take of the server: few connections, little memory, little time."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Generator
from pathlib import Path

from launching import World, bash
from page_server import Served

from holdfast.session.journal import entries as e
from holdfast.testing.script import Say
from holdfast.ui.service.page import SAFE_HEADERS
from launcher import PRODUCT
from polling import eventually, expect_within

FEW_DESCRIPTORS = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))\n"
CHUNKED = (
    b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
)


@contextlib.contextmanager
def opened(served: Served, count: int, *, source: str = "127.0.0.1") -> Generator[list[socket.socket]]:
    """Yield so many connections from an address."""
    port = int(served.address.rsplit(":", 1)[1])
    with contextlib.ExitStack() as closing:
        yield [
            closing.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(source, 0)))
            for _ in range(count)
        ]


def answer_of(connection: socket.socket) -> bytes:
    """Return all that a server sends until it closes the connection."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(65_536):
            found += piece
    return found


def memory(pid: int) -> int:
    """Return the resident bytes of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def test_unfinished_bodies_without_a_token_hold_little_memory(one_world: World) -> None:
    served = Served(one_world)
    served.get("/sessions")
    before = memory(served.pid)
    with opened(served, 60) as connections:
        for each in connections:
            with contextlib.suppress(OSError):
                each.sendall(CHUNKED)
                for _ in range(64):  # 4 MB
                    each.sendall(b"10000\r\n" + b" " * 65_536 + b"\r\n")
        assert memory(served.pid) - before < 60 * 1024**2
        assert b" 413 " in answer_of(connections[0])
        with opened(served, 1) as (announced,):
            announced.sendall(b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 70000\r\n\r\n")
            assert b" 413 " in announced.recv(65_536)  # nothing of the body was needed
    with opened(served, 20) as connections:  # and bodies that are cut in the middle
        for each in connections:
            each.sendall(b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n\r\n{")
    served.get("/sessions")
    ran = served.stop()
    assert (ran.code, ran.err) == (0, "")


def test_what_stays_incomplete_is_closed_in_time(one_world: World) -> None:
    served = Served(one_world)
    begun = time.monotonic()
    with opened(served, 4) as (idle, head, body, answered):
        head.sendall(b"GET / HTTP/1.1\r\n")
        body.sendall(CHUNKED + b"1\r\n{\r\n")
        answered.sendall(b"POST /sessions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9999\r\n\r\n")
        assert b" 401 " in answered.recv(65_536)
        answered.settimeout(60)
        for number in range(14):  # a byte from time to time is not progress
            time.sleep(0.5)
            head.sendall(b"x" if number else b"X")
            answered.sendall(b"x")
        assert [answer_of(each) for each in (idle, head)] == [b"", b""]
        assert b"HTTP/1.1" not in answer_of(answered)  # only the rest of its answer, and the end
        assert b" 408 " in answer_of(body)
        expect_within(25, begun)
        assert time.monotonic() - begun > 9
    with opened(served, 1) as (long,):
        long.sendall(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"x" * 20_000)
        assert_safe(answer_of(long), 400)
    ran = served.stop()
    assert (ran.code, ran.err) == (0, "")


def assert_safe(answer: bytes, status: int) -> None:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    headers = dict(line.split(": ", 1) for line in head.decode().lower().split("\r\n")[1:])
    assert {name: headers.get(name) for name in SAFE_HEADERS} == {k: v.lower() for k, v in SAFE_HEADERS.items()}
    assert "error" in json.loads(body)


def test_one_address_and_all_addresses_have_a_limit(one_world: World) -> None:
    served = Served(one_world)
    served.get("/me")
    with contextlib.ExitStack() as closing:
        first = closing.enter_context(opened(served, 65))
        assert_safe(answer_of(first[-1]), 503)
        for number in range(2, 5):
            assert served.get("/me")["name"] == "me"  # an idle connection would be closed
            closing.enter_context(opened(served, 64, source=f"127.0.0.{number}"))
        (one_more,) = closing.enter_context(opened(served, 1, source="127.0.0.9"))
        assert_safe(answer_of(one_more), 503)
        assert served.get("/me")["name"] == "me"  # the connection of a caller with a token goes on
    eventually(lambda: _is_served(served))
    assert served.stop().err == ""


def _is_served(served: Served) -> bool:
    with opened(served, 1) as (connection,):
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
        return b" 200 " in answer_of(connection)


def test_idle_connections_leave_the_descriptors_that_a_command_needs(one_world: World) -> None:
    world = one_world
    world.script((bash("until [ -e go ]; do sleep 0.1; done; echo whole output"),), (Say("Done."),))
    served = Served(world, ("--permission-mode", "yolo", "--allow-yolo"), program=FEW_DESCRIPTORS + PRODUCT)
    served.begin("go")
    eventually(lambda: any(isinstance(entry, e.CallStarted) for entry in world.entries()))
    with contextlib.ExitStack() as closing:
        for number in range(1, 5):
            closing.enter_context(opened(served, 60, source=f"127.0.0.{number}"))
        assert b" 503 " in answer_of(closing.enter_context(opened(served, 1, source="127.0.0.5"))[0])
        assert 60 < len(list(Path(f"/proc/{served.pid}/fd").iterdir())) <= 200 - 32
        (world.folder / "go").touch()
        eventually(lambda: isinstance(world.entries()[-1], e.TurnEnded))
    (ended,) = (entry for entry in world.entries() if isinstance(entry, e.CallEnded))
    assert ended.outcome == "ok"
    assert "whole output" in ended.text
    ran = served.stop()
    assert (ran.code, ran.err) == (0, "")
