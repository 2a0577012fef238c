"""The in-memory transport: the same provider without a socket, on a clock of the test's own."""

from __future__ import annotations

import asyncio
import time

import httpx2
import pytest

from holdfast.testing.http_transport import ScriptedTransport
from holdfast.testing.script import Hold, Ping, Reset, Say, Wait
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.testing.virtual_loop import run_virtual
from http_calls import CHAT, ask
from polling import expect_within
from request_bodies import SYSTEM, USER, chat

STREAM = chat(SYSTEM, USER, stream=True)
KEY = {"authorization": "Bearer test-key"}


def client(provider: ScriptedProvider) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=ScriptedTransport(provider), base_url="http://provider", headers=KEY)


def test_an_hour_of_silence_passes_at_once() -> None:
    async def exchange() -> float:
        async with client(provider) as http:
            response = await http.post(CHAT, json=STREAM)
        assert response.text.endswith("data: [DONE]\n\n")
        return asyncio.get_running_loop().time()

    provider = ScriptedProvider([(Wait(1800), Say("abc", chunk=1, delay=600), Ping(2, 300))])
    started = time.monotonic()
    assert run_virtual(exchange()) == pytest.approx(3600)
    expect_within(30, started)
    assert [request.ended for request in provider.requests] == ["completed"]


@pytest.mark.parametrize("stall", [Wait(3600), Hold("for ever")])
def test_a_client_that_gives_up_is_gone(stall: Wait | Hold) -> None:
    async def exchange() -> None:
        async with client(provider) as http:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(60):
                    await http.post(CHAT, json=STREAM)

    provider = ScriptedProvider([(stall, Say("never"))])
    run_virtual(exchange())
    assert [request.ended for request in provider.requests] == ["client_gone"]


def test_a_client_that_closes_a_stream_is_gone() -> None:
    async def exchange() -> None:
        async with client(provider) as http, http.stream("POST", CHAT, json=STREAM) as response:
            lines = response.aiter_lines()
            assert (await anext(lines)).startswith("data: ")

    provider = ScriptedProvider([(Say("a long story that nobody hears", chunk=1),)])
    run_virtual(exchange())
    assert [request.ended for request in provider.requests] == ["client_gone"]


def test_a_gate_opens_on_the_same_loop() -> None:
    async def exchange() -> tuple[str, float]:
        loop = asyncio.get_running_loop()
        loop.call_later(60, provider.release, "gate")
        async with client(provider) as http:
            return (await http.post(CHAT, json=STREAM)).text, loop.time()

    provider = ScriptedProvider([(Say("before"), Hold("gate"), Say("after"))])
    text, took = run_virtual(exchange())
    assert "after" in text
    assert took == pytest.approx(60)
    assert provider.reached("gate")


def test_a_reset_breaks_off() -> None:
    async def exchange() -> None:
        async with client(provider) as http:
            for _ in range(2):
                with pytest.raises(httpx2.ReadError):
                    await http.post(CHAT, json=STREAM)

    provider = ScriptedProvider([(Reset(),), (Say("half"), Reset())])
    run_virtual(exchange())
    assert [request.ended for request in provider.requests] == ["completed"] * 2


def test_refuses_as_the_server_does() -> None:
    provider = ScriptedProvider()
    body = chat(USER, {"role": "tool", "tool_call_id": "a", "content": "x"})
    in_memory = ask(provider, CHAT, body)
    with ScriptedProvider() as server:
        served = httpx2.post(server.url + CHAT, json=body, headers=KEY)
    assert (in_memory.status_code, in_memory.content) == (served.status_code, served.content)
    assert in_memory.headers["x-request-id"] == served.headers["x-request-id"]


def test_what_a_reply_function_raises_comes_out_at_once() -> None:
    def broken(_: object) -> tuple[Say, ...]:
        raise LookupError("mine")

    provider = ScriptedProvider([broken])
    with pytest.raises(LookupError, match="mine"):
        ask(provider, CHAT, STREAM)
    assert [request.ended for request in provider.requests] == ["broken"]
