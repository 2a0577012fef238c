"""An authorization server that sends too much: the sign-in fails with the reason, and nothing is stored."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from holdfast.errors import ToolFailed
from holdfast.tools.mcp.sdk import http_bodies
from holdfast.tools.mcp.sdk.sign_in import sign_in_user
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.sign_in import SignIn
from polling import expect_within

MEGABYTE = 1024 * 1024


class NoStore:
    """A store into which nothing may be written."""

    def write(self, sign_in: SignIn) -> None:
        raise AssertionError(sign_in)


class Refusing(BaseHTTPRequestHandler):
    """Refuses each message, and never ends what it says about signing in."""

    kind = ""
    protocol_version = "HTTP/1.0"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's word
        del format, args

    def do_POST(self) -> None:
        self.send_response(401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if self.kind == "events" else "application/json")
        if self.kind == "packed":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        try:
            while True:
                piece = b" " if self.kind == "slow" else b" " * MEGABYTE
                self.wfile.write(packer.compress(piece) if self.kind == "packed" else piece)
                time.sleep(0.02 if self.kind == "slow" else 0)
        except ConnectionError:
            pass


@contextmanager
def refusing(kind: str) -> Generator[str]:
    http = ThreadingHTTPServer(("127.0.0.1", 0), type("Refusing", (Refusing,), {"kind": kind}))
    http.daemon_threads = True
    http.block_on_close = False
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}/mcp"
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.mark.parametrize("kind", ["plain", "packed", "events", "slow"])
async def test_what_has_no_end_is_not_read_to_its_end(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "slow":
        monkeypatch.setattr(http_bodies, "SIGN_IN_WITHIN", 0.5)
    why = "its answer did not end within 0.5 s" if kind == "slow" else "it sent a message of more than 32 MB"
    with refusing(kind) as url:
        server = McpServer(name="srv", url=url)
        began = time.monotonic()
        with pytest.raises(ToolFailed, match=f"failed: {why}. Nothing was stored"):
            await sign_in_user(server, NoStore(), lambda _: None)  # pyright: ignore[reportArgumentType] - all that is used of a store
        expect_within(20, began)
