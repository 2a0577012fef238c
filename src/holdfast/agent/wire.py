"""The HTTP client of a model: how long each of its steps may take, and how much of a response is read.

Two rules. Nothing is read past a stream's own terminal event, no event past LONGEST_EVENT, and nothing that is packed:
a kilobyte of it may become a gigabyte. Nothing is sent to an address that only a server names: key and conversation
would go with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from itertools import pairwise

import httpx2

from holdfast.agent.joining import BLANK
from holdfast.agent.log import Log
from holdfast.agent.secrets import bare
from holdfast.config import Limits
from holdfast.errors import ProviderFailed

LONGEST_EVENT = 8 * 1024 * 1024
"""Bytes of one event of a stream, or of a whole body that is none; a file in one call's arguments fits."""

LAST_BYTES = 0.3
"""Seconds that a body may take to end after its terminal event; one that does not costs the connection."""

LAST_EVENT = 2.0
"""Seconds that more events may take behind the one that tells why they end."""

_REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "cf-ray")
_KEYS = frozenset({"authorization", "x-api-key", "x-goog-api-key"})
_HEADERS = frozenset(
    {
        *("host", "connection", "user-agent", "accept", "accept-encoding"),
        *("content-type", "content-length", "transfer-encoding", "anthropic-version", "anthropic-beta"),
    }
)
_LONGEST_ADDRESS = 200  # characters of one that are shown
_TAIL = 32  # bytes of a match that the chunk before may hold


def new_client(limits: Limits) -> httpx2.AsyncClient:
    """Return a client with pooled connections."""
    timeout = httpx2.Timeout(None, connect=limits.connect, write=limits.write, pool=limits.pool)
    return httpx2.AsyncClient(timeout=timeout, follow_redirects=False)


def guarded(
    client: httpx2.AsyncClient, name: str, terminal: bytes | None, *, tells: Callable[[bytes], bool] | None = None
) -> httpx2.AsyncClient:
    """Return the client of the model `name`, whose bodies from now on end with their terminal event.

    `terminal` matches the line that begins that event. Where there is none, `tells` says of an event whether it tells
    why the response ends: more may come behind it, but is not waited for. They raise `ProviderFailed` for an event that
    is too long, and the client does for a server that points elsewhere.
    """
    last = re.compile(rb"[\r\n](?:%b)[\r\n]" % (rb"(?!)" if terminal is None else terminal))

    async def guard(response: httpx2.Response) -> None:
        if response.is_redirect:
            raise _elsewhere(name, response)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        events = response.headers.get("content-type", "").startswith("text/event-stream")
        body = response.stream
        if packed := _packed(response):
            if not response.is_error:
                raise _unreadable(name, packed)
            del response.headers["content-encoding"]  # the status says what is wrong, and is enough
            response.stream = _Nothing(body)
            return
        if events:
            response.stream = _Events(body, name, last) if tells is None else _Told(body, name, tells)
        else:
            response.stream = _Document(body, name)

    # Only what comes as it is can be measured before it is unpacked, and packed it would come late anyway.
    client.headers["accept-encoding"] = "identity"
    client.event_hooks["response"].append(guard)
    return client


def _packed(response: httpx2.Response) -> str:
    """Return how the body is packed, "" if it comes as it is; of several ways all."""
    named = response.headers.get_list("content-encoding", split_commas=True)
    return ", ".join(way for each in named if (way := each.strip().lower()) not in ("", "identity"))


def _unreadable(name: str, packed: str) -> ProviderFailed:
    return ProviderFailed(
        f"Model {name!r} packed its response ({packed[:_LONGEST_ADDRESS]}), a plain one was expected. It was not read: "
        "nobody asked for that, and unpacked it may be of any size. Try again, choose another model, or correct what "
        "stands before its server.",
        fault="malformed",
    )


def _elsewhere(name: str, response: httpx2.Response) -> ProviderFailed:
    pointed = response.headers.get("location", "").partition("?")[0][:_LONGEST_ADDRESS]
    return ProviderFailed(
        f"Model {name!r} was asked at {bare(str(response.request.url))}, which points to {pointed!r}, an answer was "
        "expected. Nothing was sent there; if that is where it is now, correct the base_url of its provider, or the "
        "variable that holds its address.",
        fault="rejected",
        status=response.status_code,
    )


def private(client: httpx2.AsyncClient, *, with_key: bool) -> httpx2.AsyncClient:
    """Return the client, which from now on sends the headers of its protocol only, and a key only if there is one.

    Left alone, an SDK sends to whatever address it is given what the environment holds for its maker: an organisation,
    a project, headers of a gateway.
    """
    sent = _HEADERS | _KEYS if with_key else _HEADERS

    async def strip(request: httpx2.Request) -> None:
        for name in [name for name in request.headers if name.lower() not in sent]:
            del request.headers[name]

    client.event_hooks["request"].append(strip)
    return client


def watched(client: httpx2.AsyncClient, log: Log) -> httpx2.AsyncClient:
    """Return the client, whose requests and responses are from now on recorded."""

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
    """A body that is counted."""

    def __init__(self, body: httpx2.AsyncByteStream, log: Log) -> None:
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
    """A body, until it is too long."""

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
                f"Model {self._name!r} sent an event longer than {LONGEST_EVENT // 1024**2} MB, a shorter one was "
                "expected. It was dropped; say 'go on' to try again, or choose another model.",
                fault="malformed",
            )


class _Events(_Document):
    """A body of events, until one of them is too long or the last."""

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
            blank = [found.end() for found in BLANK.finditer(seen, last.end() - 1 if last else 0)]
            if ending and blank:
                yield chunk[: max(blank[0] - len(tail), 0)]
                await _drained(body)
                return
            self._grown(len(seen) - blank[-1] if blank else self._size + len(chunk))
            tail = seen[last.end() - 1 if last else 0 :][-_TAIL:]
            yield chunk


class _Told(_Document):
    """A body of events, of which one tells why they end, though it need not be the last."""

    def __init__(self, body: httpx2.AsyncByteStream, name: str, tells: Callable[[bytes], bool]) -> None:
        super().__init__(body, name)
        self._tells = tells

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
                if late is not None or self._tells(event):
                    late = asyncio.get_running_loop().time() + LAST_EVENT
            self._grown(len(begun))
            yield chunk

    def _readable(self, event: bytes) -> None:
        """Raise `ProviderFailed` for an event that is no text: this wire's SDK would guess at it, and go on."""
        try:
            event.decode()
        except UnicodeDecodeError as error:
            raise ProviderFailed(
                f"Model {self._name!r} sent an event that is no UTF-8, text was expected. It was dropped; say 'go on' "
                "to try again, or choose another model.",
                fault="malformed",
            ) from error


def _taken(begun: bytearray, chunk: bytes) -> list[bytes]:
    """Take the events out that the chunk completes, those that say anything."""
    looked = max(len(begun) - 2, 0)  # a blank line may have begun before
    begun += chunk
    ends = [found.end() for found in BLANK.finditer(begun, looked)]
    events = [bytes(begun[start:end]).strip() for start, end in pairwise([0, *ends])]
    del begun[: ends[-1] if ends else 0]
    return [event for event in events if event]


async def _drained(body: AsyncIterator[bytes]) -> None:
    """Read the body to its end, which lets its connection be used again, unless that takes too long or fails."""
    with contextlib.suppress(TimeoutError, httpx2.TransportError):  # what was asked for has come
        async with asyncio.timeout(LAST_BYTES):
            async for _ in body:
                pass
