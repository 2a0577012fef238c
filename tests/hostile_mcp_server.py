"""An MCP server that answers a call in a hostile way, over stdio or HTTP: `python hostile_mcp_server.py MARK [PORT]`.

The name of the tool is the way. Everything but calls is answered as it should be. When such a call has arrived, there
is a file MARK: until then a stop comes before the call, and not into its answer.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Pieces = Iterator[bytes]
MEGABYTE = 1024 * 1024


def head(request_id: Any) -> bytes:
    return b'{"jsonrpc":"2.0","id":%s,' % json.dumps(request_id).encode()


def text_result(request_id: Any, raw: bytes) -> bytes:
    return head(request_id) + b'"result":{"content":[{"type":"text","text":' + raw + b"}]}}"


BROKEN: dict[str, Callable[[Any], bytes]] = {
    "surrogate": lambda number: text_result(number, b'"\\ud83d"'),
    "not_utf8": lambda number: text_result(number, b'"\xff"'),
    "large_number": lambda number: text_result(number, b"1e400"),
    "many_digits": lambda number: text_result(number, b"9" * 5000),
    "deep": lambda number: text_result(number, b"[" * 100_000 + b"]" * 100_000),
    "error_text": lambda number: head(number) + b'"error":"str"}',
    "no_result": lambda number: head(number) + b'"result":null}',
    "cut": lambda number: text_result(number, b'"without an end'),
    "id_last": lambda number: b'{"jsonrpc":"2.0","result":{"id":7,"x":"\\ud83d"},"id":%d}' % number,
}
"""Answers that cannot be read, by the name of the tool."""


def forever(piece: bytes) -> Pieces:
    while True:
        yield piece


def values(number: Any) -> Pieces:
    yield head(number) + b'"result":{"content":[],"structuredContent":{"a":['
    for _ in range(400):
        yield b"{}," * 10_000
    yield b"0]}}}"


def large(number: Any, size: int) -> Pieces:
    yield head(number) + b'"result":{"content":[{"type":"text","text":"'
    for _ in range(size // MEGABYTE):
        yield b"x" * MEGABYTE
    yield b'"}]}}'


def note(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()


def lines(name: str, number: Any, token: Any) -> Pieces:
    """Yield what a call gets over stdio."""
    if name in BROKEN:
        yield BROKEN[name](number) + b"\n"
    elif name == "ends":
        yield head(number) + b'"error":{"code":-32000,"message":"quota is used up"}}\n'
    elif name == "no_id":
        yield b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}\n'
    elif name == "shot":
        yield from large(number, 3 * MEGABYTE)
        yield b"\n"
    elif name == "wide":
        yield head(number) + '"result":{"content":[{"type":"text","text":"\U0001f600'.encode()
        yield from (b"x" * MEGABYTE for _ in range(13))
        yield b'"}]}}\n'
    elif name == "values":
        yield from values(number)
        yield b"\n"
    elif name == "large":
        yield from large(number, 200 * MEGABYTE)
        yield b"\n"
    elif name == "endless":
        yield from forever(b"x" * 65_536)
    elif name == "logs":
        yield from forever((note("notifications/message", {"level": "info", "data": "x" * 100}) + b"\n") * 100)
    elif name == "progress":
        yield from forever(
            (note("notifications/progress", {"progressToken": token, "progress": 1, "message": "x" * 100}) + b"\n")
            * 100
        )


def events(name: str, number: Any, token: Any) -> Pieces:
    """Yield what a call gets as a stream of events over HTTP."""
    if name == "comments":
        yield from forever(b": x\n" * 1000)
    yield b"data: "
    for piece in lines(name, number, token):
        yield piece.replace(b"\n", b"\n\ndata: ")


def packed(pieces: Pieces) -> Pieces:
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def slowly(piece: bytes) -> Pieces:
    while True:
        yield piece
        time.sleep(0.02)


def endless(name: str, number: Any) -> Pieces:
    """Yield what stands behind the line of the status, and never ends."""
    kind = b"Content-Type: application/json\r\n"
    packed_kind = kind + b"Content-Encoding: gzip\r\n\r\n"
    match name:
        case "no_head":
            time.sleep(3600)
        case "slow_head":
            yield from slowly(b"X-More: more\r\n")
        case "endless_head":
            yield from forever(b"X-More: more\r\n" * 100)
        case "hints":
            yield from forever(b"Link: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\n")
        case "slow_json":
            yield kind + b"\r\n" + head(number)
            yield from slowly(b" ")
        case "slow_events":
            yield b"Content-Type: text/event-stream\r\n\r\n"
            yield from slowly(b": x\n\n")
        case "comment_events":
            yield b"Content-Type: text/event-stream\r\n\r\n"
            yield from forever(b": x\n\n" * 1000)
        case "comments_with_ids":
            yield b"Content-Type: text/event-stream\r\n\r\nid: 1\ndata:\n\n"
            yield from forever(b": x\n\n" * 1000)
        case "slow_bomb":
            yield packed_kind
            yield from (each for each in packed(slowly(b" " * 10_000)) if each)
        case "empty_bomb":
            yield packed_kind + b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
            yield from forever(b"\x00\x00\x00\xff\xff" * 10_000)
        case "behind_gzip":
            yield packed_kind + gzip.compress(b" ")
            yield from forever(b"x" * 65_536)
        case _:
            raise AssertionError(name)


ENDLESS = (
    "no_head",
    "slow_head",
    "endless_head",
    "hints",
    "slow_json",
    "slow_events",
    "comment_events",
    "comments_with_ids",
    "slow_bomb",
    "empty_bomb",
    "behind_gzip",
)
"""Answers over HTTP that never end, by the name of the tool."""

ENDING = ("endless_head", "empty_bomb", "behind_gzip")
"""Those of them that are refused, so that no stop is needed."""

TOOLS = (
    *BROKEN,
    *ENDLESS,
    "ends",
    "no_id",
    "shot",
    "wide",
    "values",
    "large",
    "endless",
    "logs",
    "progress",
    "comments",
    "bomb",
    "events_bomb",
    "gzip",
    "brotli",
    "gateway",
    "refused",
    "html",
    "echo",
    "shot_event",
    "broken_event",
)


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request, None if it is not known."""
    if method == "initialize":
        info = {"name": "hostile", "version": "1.0"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": each, "description": each, "inputSchema": {"type": "object"}} for each in TOOLS]}
    if method == "tools/call" and params["name"] == "echo":
        return {"content": [{"type": "text", "text": "echo"}]}
    return None


def reply(message: dict[str, Any]) -> bytes:
    found = answer(str(message.get("method")), message.get("params") or {})
    error = {"error": {"code": -32601, "message": "Method not found"}}
    return json.dumps(
        {"jsonrpc": "2.0", "id": message["id"], **({"result": found} if found is not None else error)}
    ).encode()


def is_hostile(message: dict[str, Any]) -> bool:
    """Return whether the answer is hostile; then the mark is there."""
    found = message.get("method") == "tools/call" and message["params"]["name"] != "echo"
    if found:
        Path(sys.argv[1]).touch()
    return found


def stdio() -> None:
    for line in sys.stdin:
        message: dict[str, Any] = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        if is_hostile(message):
            params: dict[str, Any] = message["params"]
            meta: dict[str, Any] = params.get("_meta") or {}
            pieces = lines(params["name"], message["id"], meta.get("progressToken"))
        else:
            pieces = iter([reply(message) + b"\n"])
        for piece in pieces:
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's word
        """Print nothing."""

    def do_GET(self) -> None:
        if self.headers["Last-Event-ID"]:
            return self.send(200, "text/event-stream", forever(b": x\n\n" * 1000))
        return self.send(405, "text/plain", iter([b""]))

    def do_DELETE(self) -> None:
        self.send(200, "text/plain", iter([b""]))

    def do_POST(self) -> None:
        message: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message or "method" not in message:
            return self.send(202, "text/plain", iter([b""]))
        if not is_hostile(message):
            return self.send(200, "application/json", iter([reply(message)]))
        params: dict[str, Any] = message["params"]
        meta: dict[str, Any] = params.get("_meta") or {}
        name, number, token = params["name"], message["id"], meta.get("progressToken")
        match name:
            case "large" | "shot" | "wide" | "values" | "ends" | "no_id":
                self.send(200, "application/json", (each.rstrip(b"\n") for each in lines(name, number, token)))
            case "bomb":
                self.send(200, "application/json", packed(large(number, 1800 * MEGABYTE)), encoding="gzip")
            case "events_bomb":
                self.send(
                    200, "text/event-stream", packed(chain(b"data: ", large(number, 1800 * MEGABYTE))), encoding="gzip"
                )
            case "gzip":
                body = gzip.compress(text_result(number, b'"packed"'))
                self.send(200, "application/json", iter([body]), encoding="gzip")
            case "brotli":
                self.send(200, "application/json", iter([b"\x0b\x02\x80hello\x03"]), encoding="br")
            case "gateway":
                self.send(502, "text/html", iter([b"<h1>Bad gateway</h1>"]))
            case "refused":
                self.send(403, "text/html", iter([b"<h1>Forbidden</h1>"]))
            case "html":
                self.send(200, "text/html", iter([b"<h1>Welcome</h1>"]))
            case "shot_event":
                self.send(200, "text/event-stream", chain(b"data: ", large(number, 3 * MEGABYTE), b"\n\n"))
            case "broken_event":
                self.send(200, "text/event-stream", iter([b"data: " + BROKEN["surrogate"](number) + b"\n\n"]))
            case "endless" | "logs" | "progress" | "comments":
                self.send(200, "text/event-stream", events(name, number, token))
            case _ if name in ENDLESS:
                status = b"HTTP/1.1 103 Early Hints\r\n" if name == "hints" else b"HTTP/1.1 200 OK\r\n"
                self.write(chain(status, endless(name, number)))
            case _:
                self.send(200, "application/json", iter([BROKEN[name](number)]))
        return None

    def send(self, status: int, kind: str, pieces: Pieces, *, encoding: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.end_headers()
        self.write(pieces)

    def write(self, pieces: Pieces) -> None:
        try:
            for piece in pieces:
                self.wfile.write(piece)
        except ConnectionError:
            pass
        self.close_connection = True


def chain(first: bytes, pieces: Pieces, last: bytes = b"") -> Pieces:
    yield first
    yield from pieces
    yield last


def over_stdio(mark: Path) -> list[str]:
    """Return the command of a server over stdio."""
    return [sys.executable, __file__, str(mark)]


@contextmanager
def over_http(mark: Path) -> Generator[str]:
    """Yield the URL of a server."""
    server = subprocess.Popen([*over_stdio(mark), "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Request)
        sys.stdout.write(f"{server.server_port}\n")
        sys.stdout.flush()
        server.serve_forever()
    else:
        stdio()
