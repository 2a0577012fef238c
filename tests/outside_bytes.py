"""Every reader of bytes that come from a wire or a pipe, with its bound: a table of `test_outside_readers.py`.

Each reads as the program does, over a real socket or pipe where it has one. `docs/reference/limits.md` has the same
rows.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import httpx2
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from holdfast.config.model_servers import Server
from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed, ToolFailed
from holdfast.providers.error_mapping import http_failure, redact_failure
from holdfast.providers.event_stream import LONGEST_BODY_TEXT, expect_json
from holdfast.providers.http_model import LONGEST_ERROR
from holdfast.providers.learned_windows import forget_windows
from holdfast.providers.model_list import MOST_BYTES, fetch_models
from holdfast.providers.registry import known_providers, resolve_endpoint
from holdfast.providers.window_question import LARGEST_PAGE, ask_window
from holdfast.session.transfer.transfer import LIMIT, import_document
from holdfast.system.confinement.network.proxy import received_head
from holdfast.system.confinement.network.proxy_process import REPORT_MOST, refusals
from holdfast.system.confinement.network.request_head import HEAD_MOST, read_head
from holdfast.system.confinement.trial import LARGEST_RESULT, trial_result
from holdfast.tools.mcp.sdk.http_bodies import bound_body
from holdfast.tools.mcp.sdk.line_transport import line_transport
from holdfast.tools.mcp.sdk.traffic import LARGEST_MESSAGE, Traffic
from holdfast.tools.process.launch import LONGEST_ANSWER_LINE, ready_pid
from holdfast.tools.process.supervisor_client import next_message
from holdfast.tools.tool import ToolContext
from holdfast.tools.web_search.backends import SearchBackend
from holdfast.tools.web_search.search import LARGEST_ANSWER, SearchTool
from holdfast.ui.headless.input_reader import LineReader
from holdfast.ui.json_rpc.connection import LONGEST_MESSAGE, EditorConnection, LineWriter
from holdfast.ui.mcp_server.line_streams import line_streams
from own_model_server import Local, serving

Read = Callable[[bytes], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesReader:
    """Reads bytes that came from somewhere else. The result is a value or a `HoldfastError`.

    Beyond the bound they are refused with the reason, cut, or as if nothing had come. `near` is what it can read, from
    which the law makes what is nearly that.
    """

    name: str
    bound: int
    read: Read
    beyond: Literal["refused", "cut", "nothing"] = "refused"
    near: tuple[bytes, ...] = ()


def _window(answer: bytes) -> object:
    """Return the window that a server of the user's own tells of a model, if each of its pages is these bytes."""
    paths = ("/v1/models", "/props", "/api/v0/models", "/api/ps", "/api/show")
    forget_windows()
    with serving(Local(dict.fromkeys(paths, answer))) as local:
        providers = known_providers({"home": Server(kind="openai-chat", base_url=local.address)})
        try:
            return ask_window(resolve_endpoint("home:m", {}, providers), Limits())
        finally:
            forget_windows()


def _unjson(body: bytes) -> object:
    try:
        return expect_json("m:m", body)
    except ProviderFailed as failed:
        return redact_failure(failed, ())


def _model_list(answer: bytes) -> object:
    with serving(Local({"/v1/models": answer})) as local:
        providers = known_providers({"home": Server(kind="openai-chat", base_url=local.address)})
        return asyncio.run(fetch_models(resolve_endpoint("home:m", {}, providers), Limits()))


def _search(answer: bytes) -> object:
    with serving(Local({"/search?q=q&format=json": answer})) as local:
        backend = SearchBackend(name="searxng", address=local.address.removesuffix("/v1"), key=lambda: "")
        plan = SearchTool(backend).plan("c1", '{"query": "q"}')

        async def run() -> object:
            return await plan.run(ToolContext(call="c1", stop=asyncio.Event(), emit=lambda _: None))

        return asyncio.run(run())


def _answers(data: bytes) -> asyncio.StreamReader:
    """Return what a supervisor wrote before it ended."""
    answers = asyncio.StreamReader(limit=LONGEST_ANSWER_LINE)
    answers.feed_data(data)
    answers.feed_eof()
    return answers


def _first_line(data: bytes) -> object:
    async def read() -> int | None:
        return await ready_pid(_answers(data))

    return asyncio.run(read())


def _messages(data: bytes) -> object:
    async def read() -> list[object]:
        answers, found = _answers(data), list[object]()
        while (received := await next_message(answers)) is not None:
            found.append(received)
        return found

    return asyncio.run(read())


def _trial(raw: bytes) -> object:
    try:
        return trial_result(raw)
    except OSError as error:  # as its contract says: the probe takes the next wall
        raise ToolFailed(str(error)) from error


@contextmanager
def _sent(data: bytes) -> Generator[socket.socket]:
    """Yield a socket on which these bytes arrive, and then its end."""
    ours, theirs = socket.socketpair()

    def send() -> None:
        with theirs, contextlib.suppress(OSError):  # who reads it may have enough
            theirs.sendall(data)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    try:
        with ours:
            yield ours
    finally:
        sender.join()


def _proxy_request(data: bytes) -> object:
    with _sent(data) as connection:
        head, _ = received_head(connection)
        return read_head(head) if head else None


def _server_lines(data: bytes) -> object:
    """Return the messages of an MCP server that prints these bytes on its stdout."""

    async def read(connection: socket.socket) -> list[object]:
        reader, writer = await asyncio.open_connection(sock=connection)
        traffic = Traffic()
        asked = JSONRPCRequest(jsonrpc="2.0", id="asked", method="ping")  # what comes unasked is read slowly
        traffic.sent(SessionMessage(asked))
        async with line_transport(reader, writer, traffic, lambda: None) as (incoming, _):
            found: list[object] = [message async for message in incoming]
        writer.close()
        if traffic.fault:
            raise ToolFailed(f"MCP server 'srv' ended: {traffic.fault}.")
        return found

    with _sent(data) as connection:
        return asyncio.run(read(connection))


def _server_body(data: bytes) -> object:
    faults: list[str] = []

    async def read(url: str) -> bytes:
        async with httpx2.AsyncClient() as client, client.stream("GET", url) as response:
            bound_body(response, faults.append)
            return await response.aread()

    with serving(Local({"/v1/mcp": data})) as local:
        try:
            return asyncio.run(read(f"{local.address}/mcp"))
        except httpx2.ReadError:
            raise ToolFailed(f"MCP server 'srv' ended: {faults}.") from None


def _over_pipes(data: bytes, converse: Callable[[int, int], object]) -> object:
    """Return what a conversation over two pipes gives, in which these bytes arrive; what it answers is a refusal."""
    reading, arriving = os.pipe()
    answered, answering = os.pipe()

    def send() -> None:
        with os.fdopen(arriving, "wb") as file, contextlib.suppress(OSError):
            file.write(data)

    answers: list[bytes] = []

    def collect() -> None:
        with os.fdopen(answered, "rb") as file:
            answers.append(file.read())

    threads = [threading.Thread(target=each, daemon=True) for each in (send, collect)]
    for each in threads:
        each.start()
    try:
        found = converse(reading, answering)
    finally:
        os.close(reading)
        os.close(answering)
        for each in threads:
            each.join()
    if answers[0]:
        raise ToolFailed(answers[0].decode())
    return found


def _editor(reading: int, answering: int) -> object:
    async def read() -> list[object]:
        writer = LineWriter(answering, lambda _: None)
        connection = EditorConnection(LineReader(reading, asyncio.get_running_loop(), longest=LONGEST_MESSAGE), writer)
        found: list[object] = [message async for message in connection.messages()]
        writer.close(5)
        return found

    return asyncio.run(read())


def _client(reading: int, answering: int) -> object:
    async def read() -> list[object]:
        async with line_streams(reading, answering) as (incoming, _):
            return [message async for message in incoming]

    return asyncio.run(read())


def _asks(method: str, params: str = "{}") -> bytes:
    return f'{{"jsonrpc": "2.0", "id": 1, "method": "{method}", "params": {params}}}\n'.encode()


_ENDED = (
    b'{"kind": "ended", "call": "c", "cause": "exit", "status": 0, "seconds": 1.5, "seen": 3, "unkept": "", '
    b'"refused": [{"host": "a", "port": 1, "why": "w"}], "leftovers": 0, "survivors": 0}\n'
)
_MODELS = b'{"object": "list", "data": [{"id": "m", "context_length": 4096, "pricing": {"prompt": "0.1"}}]}'
_RESULTS = b'{"results": [{"url": "https://a.example/", "title": "t", "content": "c"}]}'
_RESULT = b'{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "x"}]}}\n'

BYTES: tuple[BytesReader, ...] = (
    BytesReader(name="imported document", bound=LIMIT, read=import_document),
    BytesReader(
        name="page of a model's own server", bound=LARGEST_PAGE, read=_window, beyond="nothing", near=(_MODELS,)
    ),
    BytesReader(name="list of models", bound=MOST_BYTES, read=_model_list, near=(_MODELS,)),
    BytesReader(
        name="refusal of a provider",
        bound=LONGEST_ERROR,
        read=lambda body: redact_failure(http_failure("m:m", 400, {}, body), ()),
        beyond="cut",
    ),
    BytesReader(
        name="text in place of an answer",
        bound=LONGEST_BODY_TEXT,
        read=_unjson,
        beyond="cut",
    ),
    BytesReader(name="answer of a search service", bound=LARGEST_ANSWER, read=_search, near=(_RESULTS,)),
    BytesReader(
        name="first line of a supervisor",
        bound=LONGEST_ANSWER_LINE,
        read=_first_line,
        beyond="nothing",
        near=(b'{"kind": "ready", "pid": 12}\n',),
    ),
    BytesReader(
        name="line of a supervisor",
        bound=LONGEST_ANSWER_LINE,
        read=_messages,
        beyond="nothing",
        near=(
            b'{"kind": "started", "call": "c", "pid": 12, "start": 3, "boot": "b"}\n',
            b'{"kind": "live", "call": "c", "size": 3, "dropped": 0}\nabc' + _ENDED,
            b'{"kind": "refused", "call": "c", "why": "no"}\n',
        ),
    ),
    BytesReader(
        name="result of a trial of the sandbox",
        bound=LARGEST_RESULT,
        read=_trial,
        near=(b'{"code": 0, "output": "x", "did_start": true, "timed_out": false, "seconds": 0.1, "cpu": 0.1}',),
    ),
    BytesReader(
        name="reports of a sandbox's proxy",
        bound=REPORT_MOST,
        read=refusals,
        beyond="nothing",
        near=(b'{"host": "a.example", "port": 443, "why": "not named"}\n',),
    ),
    BytesReader(
        name="head of a request to a sandbox's proxy",
        bound=HEAD_MOST,
        read=_proxy_request,
        beyond="nothing",
        near=(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n", b"GET http://a.example/x HTTP/1.1\r\nA: b\r\n\r\n"),
    ),
    BytesReader(name="line of an MCP server", bound=LARGEST_MESSAGE, read=_server_lines, near=(_RESULT,)),
    BytesReader(name="answer of an MCP server at a URL", bound=LARGEST_MESSAGE, read=_server_body, near=(_RESULT,)),
    BytesReader(
        name="line of an editor",
        bound=LONGEST_MESSAGE,
        read=lambda data: _over_pipes(data, _editor),
        near=(_asks("session/prompt", '{"sessionId": "s", "prompt": [{"type": "text", "text": "x"}]}'),),
    ),
    BytesReader(
        name="line of a client of `mcp serve`",
        bound=LONGEST_MESSAGE,
        read=lambda data: _over_pipes(data, _client),
        near=(_asks("tools/call", '{"name": "run", "arguments": {"prompt": "x"}}'),),
    ),
)
