"""A key that a provider quotes, or that a redirection would take elsewhere: printed nowhere, journalled nowhere."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx2
import pytest

from holdfast.agent.debug_log.log import Log
from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed
from holdfast.providers.connect import open_model
from holdfast.providers.credentials.redaction import HIDDEN
from holdfast.providers.error_mapping import LONGEST_EXPLANATION
from holdfast.providers.http_client import new_client
from holdfast.providers.registry import PROVIDERS, resolve_endpoint
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from model_failures import failure_of
from polling import HANGS

KEY = "Zq7+plain/of.no-shape=that_is.known"
WIRES = ("openai", "openai-chat", "anthropic", "google", "mistral")
QUOTED = f"Wrong credentials: Authorization: Bearer {KEY}, x-api-key: {KEY}."
Answer = Callable[[httpx2.Request], httpx2.Response]


async def failed(wire: str, answer: Answer, *, non_streaming: bool = False, log: Log | None = None) -> ProviderFailed:
    provider = PROVIDERS[wire]
    environ = {str(provider.key_variable): KEY, str(provider.address_variable): "http://provider.test/v1"}
    transport = httpx2.MockTransport(answer)
    model = open_model(
        resolve_endpoint(f"{wire}:m", environ),
        http=lambda: httpx2.AsyncClient(transport=transport, follow_redirects=True),
        log=log,
    )
    opened = SessionOpened(session="s", cwd="/", model=model.name, system="SYSTEM", tools=(), version="0")
    conversation = fold([opened, PromptAccepted(turn=1, text="hello")])
    return await failure_of(model, conversation, non_streaming=non_streaming)


@pytest.mark.parametrize("how", ["streamed", "whole"])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_refusal_that_quotes_the_key_is_shown_without_it(wire: str, how: str) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        assert any(KEY in value for value in request.headers.values())
        return httpx2.Response(401, json={"error": {"message": QUOTED, "code": 401, "status": "UNAUTHENTICATED"}})

    failure = await failed(wire, answer, non_streaming=how == "whole")
    assert failure.fault == "credentials"
    assert "Wrong credentials" in str(failure)
    assert HIDDEN in str(failure)
    assert KEY not in str(failure)


async def test_a_debug_log_that_began_without_the_key_learns_it() -> None:
    lines: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        del request
        return httpx2.Response(401, content=body())

    async def body() -> AsyncIterator[bytes]:
        yield f'{{"error": {{"message": "{QUOTED}"}}}}'.encode()

    await failed("openai-chat", answer, log=Log(lines.append, session="s"))
    assert any("Wrong credentials" in line for line in lines)
    assert not any(KEY in line for line in lines)


async def test_a_key_at_the_end_of_what_is_kept_is_not_cut_in_two() -> None:
    long = f"{'x ' * (LONGEST_EXPLANATION // 2 - 8)}{KEY}"

    def answer(request: httpx2.Request) -> httpx2.Response:
        del request
        return httpx2.Response(401, json={"error": {"message": long}})

    said = str(await failed("openai-chat", answer))
    assert "x x x" in said
    assert KEY[:8] not in said


@pytest.mark.parametrize(
    ("wire", "event"),
    [
        ("openai-chat", 'data: {"error": {"message": "%s"}}\n\n'),
        ("openai", 'event: error\ndata: {"type": "error", "code": "x", "message": "%s", "sequence_number": 0}\n\n'),
        ("anthropic", 'event: error\ndata: {"type": "error", "error": {"type": "api_error", "message": "%s"}}\n\n'),
        ("openai-chat", 'data: {"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": "%s"}]}\n\n'),
    ],
)
async def test_so_is_an_error_in_a_stream(wire: str, event: str) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        del request
        body = (event % QUOTED).encode()
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    message = str(await failed(wire, answer))
    assert HIDDEN in message, message
    assert KEY not in message


@pytest.mark.parametrize("how", ["streamed", "whole"])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_server_that_points_elsewhere_is_not_followed(wire: str, how: str) -> None:
    hosts: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        hosts.append(request.url.host)
        return httpx2.Response(307, headers={"location": f"http://u:{KEY}@elsewhere.test/v1?key={KEY}"})

    failure = await failed(wire, answer, non_streaming=how == "whole")
    assert hosts == ["provider.test"]
    assert (failure.fault, failure.retryable) == ("redirected", False)
    assert "elsewhere.test/v1'" in str(failure)
    assert KEY not in str(failure)


def test_our_own_client_follows_no_redirect() -> None:
    assert new_client(Limits(), "http://127.0.0.1:1").follow_redirects is False


class _Quoting(BaseHTTPRequestHandler):
    """Refuses, and quotes all that it was sent."""

    def do_POST(self) -> None:
        body = f'{{"error": {{"message": "Denied: {self.headers["authorization"]}"}}}}'.encode()
        self.send_response(401)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library names it
        """Say nothing."""


@pytest.fixture
def quoting() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Quoting) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def test_a_run_leaves_it_neither_in_the_terminal_nor_on_the_disk(tmp_path: Path, quoting: str) -> None:
    environ = {
        **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
        "HOLDFAST_HOME": str(tmp_path / "home"),
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": quoting,
    }
    command = [sys.executable, "-m", "holdfast", "--debug", "-m", "openai-chat:m", "-p", "hi"]
    ran = subprocess.run(
        command, cwd=tmp_path, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=HANGS, check=False
    )
    assert b"Denied: " in ran.stderr, ran.stderr
    assert KEY.encode() not in ran.stdout + ran.stderr
    stored = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert any(b"Denied: " in path.read_bytes() for path in stored)
    assert not [path for path in stored if KEY.encode() in path.read_bytes()]
