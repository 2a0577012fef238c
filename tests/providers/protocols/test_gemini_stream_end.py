"""When a stream of Gemini, which has no closing event, is over: at its end, a reset, a silence behind the reason."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from holdfast.errors import ProviderFailed
from holdfast.providers import http_model
from holdfast.providers.connect import open_model
from holdfast.providers.model import StreamEvent, StreamFinished, TextDelta
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.session.journal.parts import TextPart

NAME = "google:gemini-3-m"
SAID = b'data: {"candidates": [{"content": {"parts": [{"text": "so"}]}}]}\n\n'
WHY = b'data: {"candidates": [{"finishReason": "STOP"}]}\n\n'
ALL_OF_THEM = 500


class Body(httpx2.AsyncByteStream):
    """What the server sends, and what follows it; `kept_alive` counts the keep-alives that were read."""

    def __init__(self, *chunks: bytes, after: str) -> None:
        self._chunks = chunks
        self._after = after
        self.kept_alive = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk
        match self._after:
            case "reset":
                raise httpx2.ReadError("reset")
            case "silence":
                await asyncio.Event().wait()
            case "keep-alives":
                for _ in range(ALL_OF_THEM):
                    self.kept_alive += 1
                    yield b"\r\n: still here\r\n"
                    await asyncio.sleep(0.01)
            case _:
                pass


async def heard(body: Body) -> list[StreamEvent]:
    def answer(request: httpx2.Request) -> httpx2.Response:
        del request
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=body)

    client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    model = open_model(resolve_endpoint(NAME, {"GEMINI_API_KEY": "k"}), http=lambda: client)
    opened = SessionOpened(session="s", cwd="/", model=NAME, system="S", tools=(), version="0")
    async with model.stream(fold([opened, PromptAccepted(turn=1, text="go")])) as events:
        found = [event async for event in events]
    await model.aclose()
    return found


@pytest.mark.parametrize("after", ["its end", "reset", "silence", "keep-alives"])
async def test_behind_the_reason_each_is_an_end(after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_model, "LAST_EVENT", 0.1)
    body = Body(SAID, WHY, SAID, after=after)
    *_, last = await heard(body)
    assert isinstance(last, StreamFinished)
    assert last.parts == (TextPart("soso"),)
    assert body.kept_alive < ALL_OF_THEM


async def test_before_the_reason_a_reset_is_a_broken_connection() -> None:
    with pytest.raises(ProviderFailed) as caught:
        await heard(Body(SAID, after="reset"))
    assert caught.value.fault == "unreachable"


async def test_an_end_before_the_reason_finishes_nothing() -> None:
    assert {type(event) for event in await heard(Body(SAID, after="its end"))} == {TextDelta}
