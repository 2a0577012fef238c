"""An MCP server over HTTP of the era of sessions, in this process, so that a test can make it forget and fail."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from mcp_server import text, tool

Refusal = Literal["404", "400"]
VERSION = "2025-06-18"


class SessionServer:
    """What it was asked is in `requests`: the method and the headers of each message; `calls` are the tools it ran."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.calls: list[str] = []
        self.refuses: Refusal = "404"
        """How it answers in a session that it does not know: as the specification says, or as its examples do."""
        self.go_on = threading.Event()
        """A call of `slow` goes on once this is set."""
        self._sessions: set[str] = set()
        self._numbers = itertools.count(1)

    def forget(self) -> None:
        """Forget every session, as a server that was started again."""
        self._sessions.clear()

    def opened(self) -> str:
        """Return the name of a new session."""
        name = f"session-{next(self._numbers)}"
        self._sessions.add(name)
        return name

    def knows(self, session: str) -> bool:
        """Return whether it has the session."""
        return session in self._sessions


class SessionRequest(BaseHTTPRequestHandler):
    """A message to the server."""

    served: SessionServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's word
        """Print nothing."""

    def do_GET(self) -> None:
        self._json(405, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "Method not allowed."}})

    def do_DELETE(self) -> None:
        self._json(200, None)

    def do_POST(self) -> None:
        message: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, request_id = str(message.get("method")), message.get("id")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.served.requests.append((method, headers))
        session = headers.get("mcp-session-id", "")
        if method == "initialize":
            info = {"name": "sessions", "version": "1.0"}
            offers: dict[str, Any] = {"tools": {}}
            result: dict[str, Any] = {"protocolVersion": VERSION, "capabilities": offers, "serverInfo": info}
            self._json(200, {"jsonrpc": "2.0", "id": request_id, "result": result}, session=self.served.opened())
        elif not session or (not self.served.knows(session) and self.served.refuses == "400"):
            error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
            self._json(400, {"jsonrpc": "2.0", "id": request_id, "error": error})
        elif not self.served.knows(session):
            self._json(
                404, {"jsonrpc": "2.0", "id": request_id, "error": {"code": -32001, "message": "Session not found"}}
            )
        elif request_id is None:
            self._json(202, None)
        elif method == "tools/list":
            tools = [tool(name, text={"type": "string"}) for name in ("echo", "slow", "cut")]
            self._json(200, {"jsonrpc": "2.0", "id": request_id, "result": {"tools": tools}})
        else:
            self._call(message)

    def _call(self, message: dict[str, Any]) -> None:
        """Answer a call as a stream of events: its progress, then its result."""
        params = message["params"]
        self.served.calls.append(params["name"])
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        progress = {"progressToken": params["_meta"]["progressToken"], "progress": 1, "total": 2, "message": "half"}
        self._event({"method": "notifications/progress", "params": progress})
        if params["name"] == "cut":
            return
        if params["name"] == "slow":
            self.served.go_on.wait(60)
        self._event({"id": message["id"], "result": text(f"{params['name']} {params['arguments'].get('text', '')}")})

    def _event(self, message: dict[str, Any]) -> None:
        self.wfile.write(f"event: message\ndata: {json.dumps({'jsonrpc': '2.0', **message})}\n\n".encode())
        self.wfile.flush()

    def _json(self, status: int, message: dict[str, Any] | None, *, session: str = "") -> None:
        body = b"" if message is None else json.dumps(message).encode()
        self.send_response(status)
        if session:
            self.send_header("Mcp-Session-Id", session)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def session_server() -> Generator[SessionServer]:
    """Serve on a free port."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), SessionRequest)
    served = SessionServer(f"http://127.0.0.1:{http.server_port}/mcp")
    http.RequestHandlerClass = type("ServedRequest", (SessionRequest,), {"served": served})
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.go_on.set()
        http.shutdown()
        http.server_close()
        thread.join()
