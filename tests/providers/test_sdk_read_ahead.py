"""A body that is read ahead: nothing is lost, nothing is added, and nobody is left reading."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from holdfast.providers.pydantic_ai import read_ahead as module
from holdfast.providers.pydantic_ai.read_ahead import read_ahead

EVENTS = [b'data: {"choices": [{"index": 0, "delta": {"content": "%d"}}]}\n\n' % n for n in range(50)]


class _Body(httpx2.AsyncByteStream):
    """A body that yields what is put into it; an exception is raised, None ends it."""

    def __init__(self, *given: bytes | Exception | None) -> None:
        self.given: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self.taken = 0
        self.closed = False
        for each in given:
            self.given.put_nowait(each)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (each := await self.given.get()) is not None:
            if isinstance(each, Exception):
                raise each
            self.taken += len(each)
            yield each

    async def aclose(self) -> None:
        self.closed = True


def client(body: _Body, content_type: str = "text/event-stream; charset=utf-8") -> httpx2.AsyncClient:
    def answer(request: httpx2.Request) -> httpx2.Response:
        del request
        return httpx2.Response(200, headers={"content-type": content_type}, stream=body)

    return read_ahead(httpx2.AsyncClient(transport=httpx2.MockTransport(answer)))


async def test_what_comes_slowly_is_passed_on_as_it_comes() -> None:
    body = _Body()
    async with client(body) as http, http.stream("GET", "http://provider/") as response:
        chunks = response.aiter_raw()
        for event in (EVENTS[0][:9], EVENTS[0][9:], *EVENTS[1:]):
            body.given.put_nowait(event)
            assert await anext(chunks) == event
        body.given.put_nowait(None)
        assert [chunk async for chunk in chunks] == []


async def test_what_has_come_meanwhile_comes_at_once_and_as_one_event() -> None:
    body = _Body(*EVENTS, b"data: [DO", b"NE]\n\n", None)
    async with client(body) as http, http.stream("GET", "http://provider/") as response:
        chunks = [chunk async for chunk in response.aiter_raw()]
    assert b"".join(chunks).count(b"data:") < 5
    assert b"".join(str(n).encode() for n in range(50)) in b"".join(chunks)
    assert b"".join(chunks).endswith(b"\n\ndata: [DONE]\n\n")


async def test_what_broke_it_is_raised_behind_what_had_come() -> None:
    body = _Body(EVENTS[0], httpx2.ReadError("Connection was reset."))
    async with client(body) as http, http.stream("GET", "http://provider/") as response:
        chunks = response.aiter_raw()
        assert await anext(chunks) == EVENTS[0]
        with pytest.raises(httpx2.ReadError, match="reset"):
            await anext(chunks)


async def test_who_leaves_leaves_nobody_reading() -> None:
    before = asyncio.all_tasks()
    body = _Body(EVENTS[0])
    async with client(body) as http:
        async with http.stream("GET", "http://provider/") as response:
            chunks = response.aiter_raw()
            await anext(chunks)
            assert len(asyncio.all_tasks() - before) == 1
        assert asyncio.all_tasks() == before
        assert body.closed


async def test_who_begins_again_goes_on_where_one_was() -> None:
    body = _Body(EVENTS[0])
    async with client(body) as http, http.stream("GET", "http://provider/") as response:
        assert await anext(response.aiter_raw()) == EVENTS[0]
        for rest in (EVENTS[1], EVENTS[2], None):
            body.given.put_nowait(rest)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        assert len([chunk async for chunk in response.stream]) == 1  # as an SDK drains it


async def test_a_body_that_nobody_reads_is_closed() -> None:
    body = _Body(EVENTS[0])
    async with client(body) as http, http.stream("GET", "http://provider/"):
        pass
    assert body.closed
    assert body.taken == 0


async def test_it_is_not_far_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FAR", 1_000)
    body = _Body(*([b"x" * 300] * 20), None)
    async with client(body) as http, http.stream("GET", "http://provider/") as response:
        chunks = response.aiter_raw()
        size = 0
        async for chunk in chunks:
            assert len(chunk) <= 1_300
            size += len(chunk)
            for _ in range(10):
                await asyncio.sleep(0)
            assert body.taken <= size + 1_300
        assert size == 6_000


async def test_a_document_is_left_alone() -> None:
    body = _Body(*EVENTS, None)
    async with client(body, "application/json") as http, http.stream("GET", "http://provider/") as response:
        assert [chunk async for chunk in response.aiter_raw()] == EVENTS
