"""A server of the user's own: its list of models, llama.cpp's and Ollama's pages, and a refusal."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Local:
    """A local server: its pages, a refusal of every request, and what was asked."""

    def __init__(
        self, pages: Mapping[str, object], refusal: Mapping[str, object] | None = None, *, answer: bytes = b""
    ) -> None:
        """Create it with its pages; each request gets the refusal, or the `answer` as a stream."""
        self.pages = pages
        self.refusal = refusal
        self.answer = answer
        self.asked: list[str] = []
        self.port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@contextmanager
def serving(local: Local) -> Generator[Local]:
    class Answer(BaseHTTPRequestHandler):
        def _answered(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            local.asked.append(f"{self.command} {self.path}")
            page = local.pages.get(self.path)
            status = 200 if page is not None else 404
            if self.path.endswith("/chat/completions"):
                status, page = (200, local.answer) if local.answer else (400, local.refusal)
            elif self.command == "POST":
                assert json.loads(body) == {"model": "m"}
            raw = page if isinstance(page, bytes) else json.dumps(page if page is not None else {}).encode()
            self.send_response(status)
            streamed = status == 200 and page is local.answer
            self.send_header("content-type", "text/event-stream" if streamed else "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = _answered  # noqa: N815 - the library's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.daemon_threads = True
    local.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield local
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
