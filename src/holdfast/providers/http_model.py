"""A `Model` over HTTP: it posts requests that a protocol writes and reads responses with the protocol's reader.

A response without a reason for its end is never finished, and one without an end is cut off at a bound. A provider's
error may quote the API key; it is redacted here, because the message is printed and journalled.

Reads how much of the prompt a server has read, as llama.cpp tells it in its stream before the answer. Pure.

A request asks for it with `return_progress`; then each batch sends a chunk with `prompt_progress: {total, cache,
processed, time_ms}` (tools/server/README.md of llama.cpp).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from http import HTTPStatus
from typing import TypeVar

import httpx2
import msgspec

from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed
from holdfast.providers import event_stream
from holdfast.providers.connection_failures import connection_failure, socks_failure
from holdfast.providers.credentials.redaction import spellings
from holdfast.providers.error_mapping import http_failure, invalid_response, redact_failure
from holdfast.providers.http_client import (
    LAST_BYTES,
    LAST_EVENT,
    compression_failure,
    content_encodings,
    new_client,
    redirect_failure,
    route_of,
    with_observer,
)
from holdfast.providers.learned_windows import keep_window, window_in_refusal
from holdfast.providers.model import HttpObserver, StreamEvent
from holdfast.providers.protocols.answer_bounds import MIB, Flood, WireSize
from holdfast.providers.protocols.body_writer import BodyWriter
from holdfast.providers.protocols.protocol import ProviderProtocol, ResponseReader
from holdfast.providers.registry import ModelEndpoint
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.parts import RequestPrefix
from holdfast.system.network_variables import Route
from holdfast.typed_data import decode_json

_FIELD = b'"prompt_progress"'
_MOST = 64 * 1024
"""Bytes of a chunk that is looked at: one about progress has a few hundred."""


class _Progress(msgspec.Struct):
    total: int
    processed: int


class _Chunk(msgspec.Struct):
    prompt_progress: _Progress


def share_read(data: bytes) -> float | None:
    """Return the share of the prompt that has been read, from 0 to 1, None if the event does not say."""
    if len(data) > _MOST or _FIELD not in data:
        return None
    try:
        progress = decode_json(data, _Chunk).prompt_progress
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if progress.total <= 0 or progress.processed < 0:
        return None
    return min(progress.processed / progress.total, 1.0)


# --- http model ---

T = TypeVar("T")

LONGEST_ERROR = 64 * 1024
"""Bytes of an error's body to read."""

_WITHOUT_CONTENT = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT})

_MOST_LAST_BYTES = 256 * 1024
"""Bytes to read after the closing event of a response."""


class HttpModel:
    """A `Model` over one protocol and the HTTP client that it owns. After `aclose`, the next request opens another."""

    def __init__(
        self,
        target: ModelEndpoint,
        protocol: ProviderProtocol,
        new_http: Callable[[], httpx2.AsyncClient],
        route: Route,
    ) -> None:
        self._target = target
        self._route = route
        self._protocol = protocol
        self._new_http = new_http
        self._http = new_http()
        self._body_writer = BodyWriter(target, protocol)
        self._alive: Callable[[float | None], None] = lambda _: None

    @property
    def name(self) -> str:
        return self._target.name

    @property
    def on_own_server(self) -> bool:
        return self._target.on_own_server

    def watch(self, alive: Callable[[float | None], None]) -> None:
        """Call `alive` for each sign of life before the answer begins."""
        self._alive = alive

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    def prefix(self, conversation: Conversation) -> RequestPrefix:
        """Return the prefix of the body of a request with this conversation."""
        return self._body_writer.prefix(conversation)

    @asynccontextmanager
    async def stream(
        self, conversation: Conversation, *, non_streaming: bool = False
    ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        """Send the conversation and yield its events; `non_streaming` asks for one document. Raise `ProviderFailed`."""
        if self._http.is_closed:  # `connect` may return the same model again
            self._http = self._new_http()
        reader = self._protocol.reader(self._target)
        response = await self._translate_errors(self._send(conversation, non_streaming=non_streaming))
        try:
            await self._translate_errors(self._expect_readable(response))
            self._alive(None)
            kind = response.headers.get("content-type", "").lower()
            is_document = non_streaming or kind.startswith("application/json")
            events = self._answer(response, reader, is_document=is_document)
            async with aclosing(events), aclosing(self._read(events)) as reading:
                yield reading
        finally:
            await response.aclose()

    async def _read(self, events: AsyncGenerator[StreamEvent]) -> AsyncGenerator[StreamEvent]:
        while (event := await self._translate_errors(anext(events, None))) is not None:
            yield event

    async def _translate_errors(self, work: Awaitable[T]) -> T:
        """Return the result of `work`. Turn its exceptions into `ProviderFailed`."""
        try:
            return await work
        except Exception as error:  # the provider boundary; the caller's exceptions do not pass here
            raise redact_failure(self._failure(error), secrets_for(self._target)) from error

    async def _send(self, conversation: Conversation, *, non_streaming: bool) -> httpx2.Response:
        request = self._http.build_request(
            "POST",
            self._protocol.url(self._target, non_streaming=non_streaming),
            content=self._body_writer.body(conversation, non_streaming=non_streaming),
            headers={
                "accept": "application/json" if non_streaming else "text/event-stream",
                # Only an uncompressed body can be measured before unpacking, and a compressed stream arrives late.
                "accept-encoding": "identity",
                "content-type": "application/json",
                "user-agent": user_agent(),
                **self._protocol.headers(self._target, conversation),
                **self._target.headers,
            },
        )
        try:
            return await self._http.send(request, stream=True)
        except httpx2.TransportError:
            raise
        except Exception as error:
            if self._route.is_socks:  # the library of SOCKS has its own errors, also for what is no SOCKS at all
                raise socks_failure(self.name, self._route) from error
            raise

    def _failure(self, error: Exception) -> ProviderFailed:
        match error:
            case ProviderFailed():
                return error
            case Flood():
                return ProviderFailed(f"Model {self.name!r} sent {error}. It was cut off there.", fault="flood")
            case httpx2.TransportError():
                return connection_failure(self.name, error, self._route)
            case _:
                return invalid_response(self.name, error)

    async def _expect_readable(self, response: httpx2.Response) -> None:
        """Raise `ProviderFailed` unless the response has a body to read."""
        if response.is_redirect and response.headers.get("location"):
            raise redirect_failure(self.name, response)
        encodings = content_encodings(response)
        if not response.is_success or response.status_code in _WITHOUT_CONTENT:
            body = b"" if encodings else await self._error_body(response)
            failed = http_failure(self.name, response.status_code, response.headers, body)
            if failed.fault == "too_long" and (window := window_in_refusal(body)):
                keep_window(self.name, window)
            raise failed
        if encodings:
            raise compression_failure(self.name, encodings)

    async def _error_body(self, response: httpx2.Response) -> bytes:
        """Return the body of an error, or its beginning: it may be endless."""
        body = bytearray()
        with contextlib.suppress(httpx2.TransportError):  # the status is known
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) >= LONGEST_ERROR:
                    break
        return bytes(body)

    async def _answer(
        self, response: httpx2.Response, reader: ResponseReader, *, is_document: bool
    ) -> AsyncGenerator[StreamEvent]:
        """Yield the deltas of the answer, and `StreamFinished`; `is_document` if no stream was announced.

        What comes decides: gateways send streams as JSON, and some send them whatever was asked for.
        """
        body = aiter(response.aiter_bytes())
        begun = bytearray()
        while is_document and len(begun.lstrip()) < event_stream.LONGEST_BEGINNING:
            if (chunk := await anext(body, None)) is None:
                break
            begun += chunk
            if len(begun) > event_stream.LONGEST_EVENT:
                raise _too_long("response")
        is_document = is_document and not event_stream.is_stream(bytes(begun))
        reading = self._document(body, begun, reader) if is_document else self._events(body, bytes(begun), reader)
        async with aclosing(reading) as events:
            async for event in events:
                yield event

    async def _document(
        self, rest: AsyncIterator[bytes], body: bytearray, reader: ResponseReader
    ) -> AsyncGenerator[StreamEvent]:
        async for chunk in rest:
            body += chunk
            if len(body) > event_stream.LONGEST_EVENT:
                raise _too_long("response")
        for event in event_stream.document_deltas(self.name, bytes(body), reader):
            yield event
        if reader.complete:
            yield reader.finished()

    async def _events(
        self, body: AsyncIterator[bytes], begun_with: bytes, reader: ResponseReader
    ) -> AsyncGenerator[StreamEvent]:
        """Yield the deltas of the stream, and `StreamFinished` once the stream has ended."""
        splitter, size = event_stream.EventSplitter(), WireSize()
        plain: bytearray | None = bytearray()  # the body as long as it has no event
        begun, share = False, None
        silent_at: float | None = None
        chunk: bytes | None = begun_with or None
        while not reader.closed and (chunk := chunk or await self._next(body, silent_at)) is not None:
            has_event = False
            size.add_bytes(len(chunk))
            if plain is not None:
                plain += chunk[: event_stream.LONGEST_EVENT - len(plain)]
                if len(plain) >= LONGEST_ERROR and plain.lstrip().startswith(b"<"):
                    break  # a web page, which may be long
            try:
                for name, data in splitter.feed(chunk):
                    has_event = True
                    plain = None
                    size.add_event()
                    if not begun and (read := share_read(data)) is not None:
                        share = read
                    for event in event_stream.deltas_in(self.name, name, data, reader):
                        begun = True
                        yield event
                    if reader.closed:
                        break
            except event_stream.EventTooLong:
                raise _too_long("event") from None
            chunk = None
            if not begun:
                self._alive(share)
            if has_event and self._protocol.open_ended and reader.complete:  # a keep-alive is no event
                silent_at = asyncio.get_running_loop().time() + LAST_EVENT
        for event in self._last_events(splitter, bytes(plain or b""), reader):
            yield event
        if reader.complete:
            yield reader.finished()
        if reader.closed:
            await _drain(body)

    def _last_events(
        self, splitter: event_stream.EventSplitter, plain: bytes, reader: ResponseReader
    ) -> Iterable[StreamEvent]:
        """Return what the end of the body completes; `plain` is the body if it had no event."""
        last = None if reader.closed else splitter.rest()
        if last is not None:
            return event_stream.deltas_in(self.name, *last, reader)
        return event_stream.events_of_plain(self.name, plain, reader) if plain else ()

    async def _next(self, body: AsyncIterator[bytes], silent_at: float | None) -> bytes | None:
        """Return the next chunk, None at the end. After an open-ended protocol's finish reason, silence ends it."""
        if silent_at is None:
            return await anext(body, None)
        try:
            async with asyncio.timeout_at(silent_at):
                return await anext(body, None)
        except (TimeoutError, httpx2.TransportError):
            return None


def create_http_model(
    target: ModelEndpoint,
    protocol: ProviderProtocol,
    *,
    limits: Limits,
    http: Callable[[], httpx2.AsyncClient] | None = None,
    log: HttpObserver | None = None,
) -> HttpModel:
    """Return a connection to the target's model; nothing is sent yet. `http` makes the client, `log` observes it."""
    address = protocol.url(target, non_streaming=False)
    if log is not None:
        log.hide(secrets_for(target))  # a key from the keyring was unknown when the log started

    def new_http() -> httpx2.AsyncClient:
        client = http() if http else new_client(limits, address)
        client.follow_redirects = False
        if log is not None:
            with_observer(client, log)
        return client

    return HttpModel(target, protocol, new_http, route_of(address))


def secrets_for(target: ModelEndpoint) -> tuple[str, ...]:
    """Return every spelling of the target's key and of its secret headers."""
    return spellings(each.strip() for each in target.secrets)


def user_agent() -> str:
    """Return how holdfast names itself to servers."""
    from holdfast import __version__  # the package's root must not import its modules in a circle

    return f"holdfast/{__version__}"


def _too_long(what: str) -> Flood:
    return Flood(f"more than {event_stream.LONGEST_EVENT // MIB} MiB in one {what}")


async def _drain(body: AsyncIterator[bytes]) -> None:
    """Read the body to its end, so that the connection can be reused; stop on a timeout, an error, or much more."""
    left = _MOST_LAST_BYTES
    with contextlib.suppress(TimeoutError, httpx2.TransportError):  # the response is complete
        async with asyncio.timeout(LAST_BYTES):
            async for chunk in body:
                left -= len(chunk)
                if left < 0:
                    return
