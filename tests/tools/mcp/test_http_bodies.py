"""The bounds of a body, piece by piece: whatever the pieces are, what is counted is what they are together."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
from collections.abc import AsyncIterator, Sequence

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.tools.mcp.sdk.http_bodies import bound_body
from holdfast.tools.mcp.sdk.traffic import TOO_COMPLEX, TOO_LARGE, TOO_WIDE
from holdfast.tools.message_frame import MOST_VALUES
from laws import law

MEGABYTE = 1024 * 1024
EVENTS = {"content-type": "text/event-stream"}
VALUES = b"{}," * (MOST_VALUES // 10)


class Pieces(httpx2.AsyncByteStream):
    """A body of these pieces."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for each in self._pieces:
            yield each


def fault(pieces: Sequence[bytes], headers: dict[str, str] | None = None, *, asks: str = "text/event-stream") -> str:
    """Return why a body is not read to its end, "" if it is."""
    faults: list[str] = []
    request = httpx2.Request("POST", "http://x", headers={"accept": asks})
    response = httpx2.Response(200, headers=headers or {}, stream=Pieces(pieces), request=request)
    bound_body(response, faults.append)

    async def read() -> bytes:
        return b"".join([each async for each in response.aiter_bytes()])

    with contextlib.suppress(httpx2.ReadError):
        asyncio.run(read())
    return "".join(faults)


def test_a_body_has_a_bound() -> None:
    assert fault([b" " * MEGABYTE] * 32) == ""
    assert fault([b" " * MEGABYTE] * 32 + [b" "]) == TOO_LARGE
    assert fault([b'"' + b"x" * MEGABYTE] * 12) == ""
    assert fault([b'"\xc3\xa9' + b"x" * MEGABYTE] * 12) == TOO_WIDE
    assert fault([b"\\"] + [b"u00e9" + b"x" * MEGABYTE] * 12) == TOO_WIDE
    assert fault([VALUES] * 3) == ""
    assert fault([VALUES] * 10) == TOO_COMPLEX


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_each_event_has_its_own_bound(end: bytes) -> None:
    pieces = [b"data: ", VALUES, end] * 20
    assert fault(pieces, EVENTS) == ""
    assert fault([b"".join(pieces)], EVENTS) == ""
    assert fault([b"data: ", VALUES, end[: len(end) // 2]] * 20, EVENTS) == TOO_COMPLEX
    assert fault(pieces) == TOO_COMPLEX  # of another kind: one message
    assert fault(pieces, EVENTS, asks="application/json") == TOO_COMPLEX


def test_a_line_end_in_two_pieces_ends_no_event() -> None:
    assert fault([b"data: ", VALUES, b"\r", b"\n"] * 20, EVENTS) == TOO_COMPLEX


def test_what_is_packed_counts_unpacked() -> None:
    packed = gzip.compress(b" " * (33 * MEGABYTE))
    assert fault([packed], {"content-encoding": "gzip"}) == TOO_LARGE
    assert fault([gzip.compress(b"{}")], {"content-encoding": "gzip"}) == ""
    assert "compressed with gzip, gzip" in fault([packed], {"content-encoding": "gzip, gzip"})
    assert "cannot be unpacked" in fault([b"nonsense"], {"content-encoding": "gzip"})


@law()
@given(st.lists(st.binary(max_size=40), max_size=6), st.sampled_from(["", "gzip", "deflate", "br"]), st.booleans())
def test_any_body_ends(pieces: list[bytes], encoding: str, stream: bool) -> None:  # noqa: FBT001 - drawn
    headers = {**(EVENTS if stream else {}), **({"content-encoding": encoding} if encoding else {})}
    found = fault(pieces, headers)
    assert encoding or found == ""


def test_comments_without_an_event_count_for_the_next() -> None:
    comments = [b": ", b"x" * (MEGABYTE - 2), b"\n\n"]
    assert fault(comments * 32, EVENTS) == ""
    assert fault([*comments * 32, b": x\n"], EVENTS) == TOO_LARGE
    assert fault([*comments * 20, b"data: {}\n\n", *comments * 20], EVENTS) == ""
    assert fault([*comments * 20, b"event", b": x\n\n", *comments * 20], EVENTS) == ""
    assert fault([b": ping\n\n" * 1000] * 101, EVENTS) == ""


def test_what_is_packed_and_holds_nothing_has_a_bound() -> None:
    nothing = gzip.compress(b"")[:10] + b"\x00\x00\x00\xff\xff" * 1000
    more = b"\x00\x00\x00\xff\xff" * 200_000
    assert fault([nothing, *[more] * 30], {"content-encoding": "gzip"}) == ""
    assert fault([nothing, *[more] * 35], {"content-encoding": "gzip"}) == TOO_LARGE
    behind = [gzip.compress(b"{}"), *[b"x" * MEGABYTE] * 33]
    assert fault(behind, {"content-encoding": "gzip"}) == TOO_LARGE
