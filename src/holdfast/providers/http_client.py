"""The HTTP client of a model: timeouts, size limits, and where a stream ends.

Two rules. Nothing is read after a stream's own terminal event, beyond LONGEST_EVENT, or compressed: one kilobyte
could unpack to a gigabyte. Redirects are not followed: key and conversation would go to an address that only the
server chose.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from itertools import pairwise

import httpx2

from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed
from holdfast.providers.credentials.redaction import strip_credentials
from holdfast.providers.http_observer import HttpObserver
from holdfast.providers.pydantic_ai.event_merge import BLANK_LINE
from holdfast.providers.sse import LONGEST_EVENT

LAST_BYTES = 0.3
"""Seconds for a body to end after its terminal event; after that the connection is closed."""

LAST_EVENT = 2.0
"""Seconds to wait for more events after the one with the finish reason."""

_REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "cf-ray")
_KEYS = frozenset({"authorization", "x-api-key", "x-goog-api-key"})
_HEADERS = frozenset(
    {
        *("host", "connection", "user-agent", "accept", "accept-encoding"),
        *("content-type", "content-length", "transfer-encoding", "anthropic-version", "anthropic-beta"),
    }
)
_LONGEST_ADDRESS = 200  # characters of an address to show
_TAIL = 32  # bytes of a match that the previous chunk may hold


def new_client(limits: Limits) -> httpx2.AsyncClient:
    """Return a client with pooled connections."""
    timeout = httpx2.Timeout(None, connect=limits.connect, write=limits.write, pool=limits.pool)
    return httpx2.AsyncClient(timeout=timeout, follow_redirects=False)


def with_limits(
    client: httpx2.AsyncClient,
    name: str,
    terminal: bytes | None,
    *,
    has_finish_reason: Callable[[bytes], bool] | None = None,
) -> httpx2.AsyncClient:
    """Make the client of model `name` end each body with its terminal event, and return it.

    `terminal` matches the first line of that event. Without one, `has_finish_reason` returns whether an event says why
    the response ends; later events are read but not waited for. Bodies raise `ProviderFailed` for an event that is too
    long, the client raises it for a redirect.
    """
    last = re.compile(rb"[\r\n](?:%b)[\r\n]" % (rb"(?!)" if terminal is None else terminal))

    async def limit(response: httpx2.Response) -> None:
        if response.is_redirect:
            raise redirected(name, response)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        events = response.headers.get("content-type", "").startswith("text/event-stream")
        body = response.stream
        if packed := packed_encodings(response):
            if not response.is_error:
                raise unreadable(name, packed)
            del response.headers["content-encoding"]  # the status is enough to report the failure
            response.stream = _Nothing(body)
            return
        if events:
            response.stream = (
                _Events(body, name, last) if has_finish_reason is None else _LooseEvents(body, name, has_finish_reason)
            )
        else:
            response.stream = _Document(body, name)

    # Only an uncompressed body can be measured before unpacking, and a compressed stream would arrive late.
    client.headers["accept-encoding"] = "identity"
    client.event_hooks["response"].append(limit)
    return client


def packed_encodings(response: httpx2.Response) -> str:
    """Return the content encodings of the body, "" if there are none."""
    named = response.headers.get_list("content-encoding", split_commas=True)
    return ", ".join(way for each in named if (way := each.strip().lower()) not in ("", "identity"))


def unreadable(name: str, packed: str) -> ProviderFailed:
    """Return the failure of a compressed response."""
    return ProviderFailed(
        f"Model {name!r} sent a compressed response ({packed[:_LONGEST_ADDRESS]}). It was not read, "
        "because unpacked it may be of any size. holdfast requests no compression: a proxy may have added it.",
        fault="malformed",
    )


def redirected(name: str, response: httpx2.Response) -> ProviderFailed:
    """Return the failure of a response that points elsewhere."""
    pointed = response.headers.get("location", "").partition("?")[0][:_LONGEST_ADDRESS]
    return ProviderFailed(
        f"Model {name!r} at {strip_credentials(str(response.request.url))} redirects to {pointed!r}. "
        "The redirect was not followed.",
        fault="redirected",
        status=response.status_code,
    )


def with_minimal_headers(client: httpx2.AsyncClient, *, with_key: bool) -> httpx2.AsyncClient:
    """Make the client send only the protocol's headers, with a key only if there is one, and return it.

    An SDK would otherwise send what the environment holds for its vendor to any address: an organisation, a project,
    headers of a gateway.
    """
    sent = _HEADERS | _KEYS if with_key else _HEADERS

    async def strip(request: httpx2.Request) -> None:
        for name in [name for name in request.headers if name.lower() not in sent]:
            del request.headers[name]

    client.event_hooks["request"].append(strip)
    return client


def with_observer(client: httpx2.AsyncClient, log: HttpObserver) -> httpx2.AsyncClient:
    """Make the client log its requests and responses, and return it."""

    async def asked(request: httpx2.Request) -> None:
        log.asked(request.method, str(request.url), int(request.headers.get("content-length", 0)))

    async def answered(response: httpx2.Response) -> None:
        named = (response.headers[name] for name in _REQUEST_IDS if name in response.headers)
        log.answered(response.status_code, next(named, ""))
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Watched(response.stream, log)

    client.event_hooks["request"].append(asked)
    client.event_hooks["response"].append(answered)
    return client


class _Watched(httpx2.AsyncByteStream):
    """A body whose bytes are counted."""

    def __init__(self, body: httpx2.AsyncByteStream, log: HttpObserver) -> None:
        self._body = body
        self._log = log

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._body:
            self._log.arrived(chunk)
            yield chunk

    async def aclose(self) -> None:
        self._log.closed()
        await self._body.aclose()


class _Nothing(httpx2.AsyncByteStream):
    """A body that is not read."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in ():
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


class _Document(httpx2.AsyncByteStream):
    """A body with a size limit."""

    def __init__(self, body: httpx2.AsyncByteStream, name: str) -> None:
        self._body = body
        self._name = name
        self._size = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._body:
            self._grown(self._size + len(chunk))
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()

    def _grown(self, size: int) -> None:
        self._size = size
        if size > LONGEST_EVENT:
            raise ProviderFailed(
                f"Model {self._name!r} sent an event longer than {LONGEST_EVENT // 1024**2} MB. It was dropped.",
                fault="malformed",
            )


class _Events(_Document):
    """An event stream that ends after its terminal event, with a size limit per event."""

    def __init__(self, body: httpx2.AsyncByteStream, name: str, last: re.Pattern[bytes]) -> None:
        super().__init__(body, name)
        self._last = last

    async def __aiter__(self) -> AsyncIterator[bytes]:
        tail, ending = b"\n", False
        body = aiter(self._body)
        async for chunk in body:
            seen = tail + chunk
            last = None if ending else self._last.search(seen)
            ending = ending or last is not None
            blank = [found.end() for found in BLANK_LINE.finditer(seen, last.end() - 1 if last else 0)]
            if ending and blank:
                yield chunk[: max(blank[0] - len(tail), 0)]
                await _drained(body)
                return
            self._grown(len(seen) - blank[-1] if blank else self._size + len(chunk))
            tail = seen[last.end() - 1 if last else 0 :][-_TAIL:]
            yield chunk


class _LooseEvents(_Document):
    """An event stream in which one event has the finish reason, though others may follow."""

    def __init__(self, body: httpx2.AsyncByteStream, name: str, has_finish_reason: Callable[[bytes], bool]) -> None:
        super().__init__(body, name)
        self._has_finish_reason = has_finish_reason

    async def __aiter__(self) -> AsyncIterator[bytes]:
        begun, late = bytearray(), None
        body = aiter(self._body)
        while True:
            try:
                async with asyncio.timeout_at(late):
                    chunk = await anext(body)
            except StopAsyncIteration:
                return
            except (TimeoutError, httpx2.TransportError):
                if late is None:
                    raise
                return
            for event in _taken(begun, chunk):
                self._readable(event)
                if late is not None or self._has_finish_reason(event):
                    late = asyncio.get_running_loop().time() + LAST_EVENT
            self._grown(len(begun))
            yield chunk

    def _readable(self, event: bytes) -> None:
        """Raise `ProviderFailed` for an event that is not UTF-8: this protocol's SDK would guess and continue."""
        try:
            event.decode()
        except UnicodeDecodeError as error:
            raise ProviderFailed(
                f"Model {self._name!r} sent an event that is not UTF-8. It was dropped.", fault="malformed"
            ) from error


def _taken(begun: bytearray, chunk: bytes) -> list[bytes]:
    """Take the events that the chunk completes, without empty ones."""
    looked = max(len(begun) - 2, 0)  # a blank line may have started in the previous chunk
    begun += chunk
    ends = [found.end() for found in BLANK_LINE.finditer(begun, looked)]
    events = [bytes(begun[start:end]).strip() for start, end in pairwise([0, *ends])]
    del begun[: ends[-1] if ends else 0]
    return [event for event in events if event]


async def _drained(body: AsyncIterator[bytes]) -> None:
    """Read the body to its end, so that the connection can be reused; stop on a timeout or an error."""
    with contextlib.suppress(TimeoutError, httpx2.TransportError):  # the response is complete
        async with asyncio.timeout(LAST_BYTES):
            async for _ in body:
                pass
