"""Bounds what is read of a server at a URL, where the bytes arrive and before anything keeps them.

Each body has at most `LARGEST_MESSAGE` bytes, unpacked, and `MOST_VALUES`; of a stream of events, each event has, with
the comments before it. No compression is requested. What is compressed anyway is unpacked in small pieces, so that it
is refused before it is big; it may also hold nothing, without an end.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import httpx2

from holdfast.tools.mcp.sdk.traffic import LARGEST_MESSAGE, LATE_MOST, TOO_LARGE, MessageSize

HEADERS = {"Accept-Encoding": "identity"}
"""What each request asks for."""

SIGN_IN_WITHIN = 30.0
"""Seconds for the body of an answer about signing in."""

_PIECE = 1 << 16
_EVENTS = "text/event-stream"
_PACKED = ("gzip", "x-gzip", "deflate")
_OK = 200


def bound_body(
    response: httpx2.Response,
    refuse: Callable[[str], None] = lambda _: None,
    *,
    is_late: Callable[[], bool] = lambda: False,
    pace: Callable[[int], Awaitable[None]] | None = None,
) -> None:
    """Bound the body of a response that is not read yet. `refuse` gets the reason why a body is not read further.

    Once `is_late`, a stream of events ends after `LATE_MOST` bytes. `pace` waits until more may be read of one.
    """
    named = response.headers.get_list("content-encoding", split_commas=True)
    encodings = [encoding for each in named if (encoding := each.strip().lower()) not in ("", "identity")]
    if encodings:
        del response.headers["content-encoding"]  # it is unpacked here
    asks_for_events = _EVENTS in response.request.headers.get("accept", "")
    kind = response.headers.get("content-type", "").lower()
    is_stream = asks_for_events and response.status_code == _OK and kind.startswith(_EVENTS)
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _BoundedBody(
        response.stream,
        encodings,
        size=_EventSize() if is_stream else MessageSize(),
        seconds=None if asks_for_events else SIGN_IN_WITHIN,
        refuse=refuse,
        is_late=is_late if is_stream else lambda: False,
        pace=pace if is_stream else None,
    )


class _EventSize:
    """The size of each event of a stream. A blank line ends an event, in any of the three kinds of lines.

    An event of comments alone is none: many servers send one now and then, and its bytes count for the next event.
    """

    def __init__(self) -> None:
        self._event = MessageSize()
        self._has_content = False  # whether a line of the event is no comment
        self._begins = True  # whether the line begins
        self._return = b""  # the end of a piece, which is one line's end with the next piece, or alone
        self._line_begins = True

    def fault(self, piece: bytes) -> str:
        """Return why the next piece is too much, "" if it is not."""
        piece, self._return = self._return + piece, b""
        if piece.endswith(b"\r"):
            piece, self._return = piece[:-1], b"\r"
        first, *more = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        if why := self._part(first):
            return why
        for line in more:
            if self._line_begins:
                self._event = MessageSize(0 if self._has_content else self._event.size)
                self._has_content = False
            self._line_begins = self._begins = True
            if why := self._part(line):
                return why
        return ""

    def _part(self, line: bytes) -> str:
        self._has_content = self._has_content or (self._begins and line[:1] not in (b"", b":"))
        self._line_begins = self._line_begins and not line
        self._begins = self._begins and not line
        return self._event.fault(line) if line else ""


class _BoundedBody(httpx2.AsyncByteStream):
    """A body without its compression, of a bounded `size`, which must arrive within `seconds`, None: no such bound."""

    def __init__(  # noqa: PLR0913 - the bounds of a body
        self,
        body: httpx2.AsyncByteStream,
        encodings: list[str],
        *,
        size: MessageSize | _EventSize,
        seconds: float | None,
        refuse: Callable[[str], None],
        is_late: Callable[[], bool],
        pace: Callable[[int], Awaitable[None]] | None,
    ) -> None:
        self._body = body
        self._is_late = is_late
        self._pace = pace
        self._encodings = encodings
        self._size = size
        self._seconds = seconds
        self._refuse = refuse

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if len(self._encodings) > 1 or (self._encodings and self._encodings[0] not in _PACKED):
            raise self._refused(f"it sent an answer compressed with {', '.join(self._encodings)[:100]}")
        loop = asyncio.get_running_loop()
        until = None if self._seconds is None else loop.time() + self._seconds
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32) if self._encodings else None
        empty = late = 0
        async for data in self._body:
            empty += len(data)
            for piece in [data] if unpacker is None else self._unpacked(unpacker, data):
                empty = 0 if piece else empty
                if why := self._size.fault(piece):
                    raise self._refused(why)
                late += len(piece) if self._is_late() else 0
                if late > LATE_MOST:
                    return  # its connection is closed, which the server notices
                yield piece
                await asyncio.sleep(0)  # a stop is noticed also while much is unpacked
                if self._pace is not None:
                    await self._pace(len(piece))
            if empty > LARGEST_MESSAGE:
                raise self._refused(TOO_LARGE)
            if until is not None and loop.time() > until:
                raise self._refused(f"its answer did not end within {self._seconds:g} s")

    def _unpacked(self, unpacker: zlib._Decompress, data: bytes) -> Iterator[bytes]:  # pyright: ignore[reportPrivateUsage] - the type has no other name
        try:
            while data and not unpacker.eof:
                yield unpacker.decompress(data, _PIECE)
                data = unpacker.unconsumed_tail
        except zlib.error as error:
            raise self._refused(f"it sent an answer that cannot be unpacked ({error})") from error

    def _refused(self, why: str) -> httpx2.ReadError:
        self._refuse(why)
        return httpx2.ReadError(why)

    async def aclose(self) -> None:
        await self._body.aclose()
