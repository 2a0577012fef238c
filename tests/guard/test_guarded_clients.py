"""The guard in the real clients, and in the SDKs of the vendors, against a provider that is strict."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import anthropic
import httpx
import httpx2
import openai
import pytest
import requests
from google import genai

from holdfast.errors import UsageError
from holdfast.guard import GuardAdapter, Mend, guarded
from holdfast.ledger import Ledger
from holdfast.testing import Say, ScriptedProvider
from skips import require

CALL = {"id": "c1", "type": "function", "function": {"name": "deploy", "arguments": "{}"}}
BROKEN: list[Any] = [
    {"role": "user", "content": "Go"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "user", "content": "Go on"},
]
VALID: list[Any] = [{"role": "user", "content": "Go"}]
TOOL: dict[str, Any] = {
    "name": "deploy",
    "description": "Deploy.",
    "input_schema": {"type": "object", "properties": {}},
}
ANTHROPIC: list[Any] = [
    {"role": "user", "content": "Go"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "deploy", "input": {}}]},
    {"role": "user", "content": "Go on"},
]
RESPONSES: list[Any] = [
    {"role": "user", "content": "Go"},
    {"type": "function_call", "call_id": "c1", "name": "deploy", "arguments": "{}"},
    {"role": "user", "content": "Go on"},
]

Send = Callable[[str, list[Any], dict[str, Any]], int]
"""Sends a conversation to a provider, guarded as the words say, and returns the status."""


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(after=(Say("ok"),), one_system=False) as running:
        yield running


def body_of(messages: list[Any]) -> dict[str, Any]:
    return {"model": "gpt-4.1", "messages": messages}


HEADERS = {"authorization": "Bearer test-key", "X-Mine": "1"}


def by_httpx(library: Any) -> Send:
    def send(url: str, messages: list[Any], words: dict[str, Any]) -> int:
        with library.Client(transport=_transport(library.HTTPTransport(), words)) as client:
            return client.post(f"{url}/v1/chat/completions?a=b", json=body_of(messages), headers=HEADERS).status_code

    return send


def by_httpx_async(library: Any) -> Send:
    def send(url: str, messages: list[Any], words: dict[str, Any]) -> int:
        async def run() -> int:
            async with library.AsyncClient(transport=_transport(library.AsyncHTTPTransport(), words)) as client:
                address = f"{url}/v1/chat/completions?a=b"
                return (await client.post(address, json=body_of(messages), headers=HEADERS)).status_code

        return asyncio.run(run())

    return send


def _transport(inner: Any, words: dict[str, Any]) -> Any:
    return inner if words.get("mode") == "off" else guarded(inner, **words)


def by_requests(url: str, messages: list[Any], words: dict[str, Any]) -> int:
    with requests.Session() as session:
        if words.get("mode") != "off":
            session.mount("http://", GuardAdapter(**words))
        return session.post(f"{url}/v1/chat/completions?a=b", json=body_of(messages), headers=HEADERS).status_code


def by_aiohttp(url: str, messages: list[Any], words: dict[str, Any]) -> int:
    require("aiohttp")
    import aiohttp

    from holdfast.guard import guard_middleware

    async def run() -> int:
        middlewares = () if words.get("mode") == "off" else (guard_middleware(**words),)
        async with (
            aiohttp.ClientSession(middlewares=middlewares) as session,
            session.post(f"{url}/v1/chat/completions?a=b", json=body_of(messages), headers=HEADERS) as response,
        ):
            await response.read()
            return response.status

    return asyncio.run(run())


CLIENTS: dict[str, Send] = {
    "httpx": by_httpx(httpx),
    "httpx2": by_httpx(httpx2),
    "httpx async": by_httpx_async(httpx),
    "httpx2 async": by_httpx_async(httpx2),
    "requests": by_requests,
    "aiohttp": by_aiohttp,
}
every_client = pytest.mark.parametrize("send", CLIENTS.values(), ids=CLIENTS)


@every_client
def test_a_conversation_that_is_refused_is_accepted_with_the_guard(provider: ScriptedProvider, send: Send) -> None:
    mends: list[Mend] = []
    assert send(provider.url, BROKEN, {"mode": "off"}) == 400
    assert send(provider.url, BROKEN, {"on_mend": mends.append}) == 200
    (mend,) = mends
    assert (mend.format, mend.profile, mend.is_sent) == ("openai-chat", "openai-chat", True)
    assert mend.url == "http://127.0.0.1/v1/chat/completions"
    assert len(mend.edits) == 1
    assert mend.milliseconds > 0


@every_client
def test_a_valid_request_arrives_byte_for_byte_with_its_headers(provider: ScriptedProvider, send: Send) -> None:
    assert send(provider.url, VALID, {"mode": "off"}) == 200
    assert send(provider.url, VALID, {}) == 200
    plain, watched = provider.requests
    assert watched.raw == plain.raw
    assert dict(watched.headers) == dict(plain.headers)
    assert watched.path == plain.path


@every_client
def test_a_repaired_request_has_the_same_headers_but_for_its_length(provider: ScriptedProvider, send: Send) -> None:
    send(provider.url, BROKEN, {"mode": "off"})
    send(provider.url, BROKEN, {})
    plain, repaired = provider.requests

    def rest(headers: Any) -> list[tuple[str, str]]:
        return [(key.lower(), value) for key, value in headers.items() if key.lower() != "content-length"]

    assert sorted(rest(repaired.headers)) == sorted(rest(plain.headers))
    length = {key.lower(): value for key, value in repaired.headers.items()}["content-length"]
    assert int(length) == len(repaired.raw)
    assert len(repaired.raw) > len(plain.raw)
    assert repaired.path == plain.path


@every_client
def test_to_report_changes_nothing(provider: ScriptedProvider, send: Send) -> None:
    mends: list[Mend] = []
    assert send(provider.url, BROKEN, {"mode": "report", "on_mend": mends.append}) == 400
    assert [each.is_sent for each in mends] == [False]


@every_client
def test_a_report_that_raises_does_not_cost_the_request(
    provider: ScriptedProvider, send: Send, caplog: pytest.LogCaptureFixture
) -> None:
    def raises(_: Mend) -> None:
        raise RuntimeError("of the program")

    assert send(provider.url, BROKEN, {"on_mend": raises}) == 200
    assert "`on_mend` raised" in caplog.text


@every_client
def test_a_ledger_says_what_became_of_the_call(provider: ScriptedProvider, send: Send, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.db")
    with ledger.call("c1", "deploy", {}) as call:
        call.result = "deploy done"
    assert send(provider.url, BROKEN, {"ledger": ledger}) == 200
    assert json.loads(provider.requests[-1].raw)["messages"][2]["content"] == "deploy done"


@every_client
def test_a_refusal_of_the_provider_goes_through(provider: ScriptedProvider, send: Send) -> None:
    wrong: list[Any] = [{"role": "user", "content": [{"type": "no such kind"}]}]
    assert send(provider.url, wrong, {}) == send(provider.url, wrong, {"mode": "off"})


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_a_body_that_is_a_stream_is_passed(provider: ScriptedProvider, library: Any) -> None:
    data = json.dumps(body_of(BROKEN)).encode()
    with library.Client(transport=guarded(library.HTTPTransport())) as client:
        answer = client.post(f"{provider.url}/v1/chat/completions", content=iter([data]), headers=HEADERS)
    assert answer.status_code == 400
    assert provider.requests[-1].raw == data


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_settings_of_a_request_are_kept_and_its_connection_is_closed(library: Any) -> None:
    seen: list[Any] = []

    class Inner(library.BaseTransport):
        def handle_request(self, request: Any) -> Any:
            seen.append(request)
            return library.Response(200)

        def close(self) -> None:
            seen.append("closed")

    with library.Client(transport=guarded(Inner()), timeout=7.5) as client:
        client.post("https://api.openai.com/v1/chat/completions", json=body_of(BROKEN), extensions={"trace": 1})
    request, closed = seen
    assert request.extensions["timeout"]["read"] == 7.5
    assert request.extensions["trace"] == 1
    assert closed == "closed"


def test_a_large_body_is_judged_beside_the_event_loop() -> None:
    threads: list[str] = []
    long = [{"role": "user", "content": "x" * 300_000}, *BROKEN[1:]]

    class Inner(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200, request=request)

    async def run() -> None:
        watch = guarded(Inner(), on_mend=lambda _: threads.append(threading.current_thread().name))
        async with httpx2.AsyncClient(transport=watch) as client:
            for messages in (long, BROKEN):
                await client.post("https://api.openai.com/v1/chat/completions", json=body_of(messages))

    asyncio.run(run())
    assert threads == ["blocking work", threading.current_thread().name]


def test_what_is_no_transport_is_refused() -> None:
    with pytest.raises(UsageError, match="Cannot guard an object of the class 'Client'"):
        guarded(httpx.Client())
    with pytest.raises(UsageError, match="'mode' is 'fix'"):
        guarded(httpx.HTTPTransport(), mode="fix")  # pyright: ignore[reportArgumentType] - what the test is about


# --- the SDKs --------------------------------------------------------------------------------------------------------


def test_openais_sdk(provider: ScriptedProvider) -> None:
    with httpx2.Client(transport=guarded(httpx2.HTTPTransport())) as http:
        client = openai.OpenAI(base_url=f"{provider.url}/v1", api_key="test-key", http_client=http, max_retries=0)
        answer = client.chat.completions.create(model="gpt-4.1", messages=BROKEN)
        assert answer.choices[0].message.content == "ok"
        parts = list(client.chat.completions.create(model="gpt-4.1", messages=BROKEN, stream=True))
        assert "".join(each.choices[0].delta.content or "" for each in parts if each.choices) == "ok"
        assert client.responses.create(model="gpt-5.5", input=RESPONSES).output_text == "ok"
        plain = openai.OpenAI(base_url=f"{provider.url}/v1", api_key="test-key", max_retries=0)
        with pytest.raises(openai.BadRequestError):
            plain.chat.completions.create(model="gpt-4.1", messages=BROKEN)


async def test_openais_async_sdk(provider: ScriptedProvider) -> None:
    async with httpx2.AsyncClient(transport=guarded(httpx2.AsyncHTTPTransport())) as http:
        client = openai.AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="test-key", http_client=http, max_retries=0)
        stream = await client.chat.completions.create(model="gpt-4.1", messages=BROKEN, stream=True)
        parts = [each async for each in stream]
    assert "".join(each.choices[0].delta.content or "" for each in parts if each.choices) == "ok"


def test_anthropics_sdk(provider: ScriptedProvider) -> None:
    words: dict[str, Any] = {"model": "claude-x", "max_tokens": 100, "tools": [TOOL], "messages": ANTHROPIC}
    with httpx2.Client(transport=guarded(httpx2.HTTPTransport())) as http:
        client = anthropic.Anthropic(base_url=provider.url, api_key="test-key", http_client=http, max_retries=0)
        answer: Any = cast("Any", client.messages.create)(**words)
        assert answer.content[0].text == "ok"
        with client.messages.stream(**words) as stream:
            assert "".join(stream.text_stream) == "ok"
        plain = anthropic.Anthropic(base_url=provider.url, api_key="test-key", max_retries=0)
        with pytest.raises(anthropic.BadRequestError):
            plain.messages.create(**words)


def test_googles_sdk(provider: ScriptedProvider) -> None:
    from google.genai import types

    call = types.Part(function_call=types.FunctionCall(name="deploy", args={}))
    contents: list[Any] = [
        types.Content(role="user", parts=[types.Part(text="Go")]),
        types.Content(role="model", parts=[call]),
        types.Content(role="user", parts=[types.Part(text="Go on")]),
    ]
    with httpx.Client(transport=guarded(httpx.HTTPTransport())) as http:
        options = types.HttpOptions(base_url=provider.url, httpx_client=http)
        client = genai.Client(api_key="test-key", http_options=options)
        answer = client.models.generate_content(model="gemini-2.5-flash", contents=contents)
    assert answer.text == "ok"
    sent = json.loads(provider.requests[-1].raw)["contents"]
    assert "functionResponse" in json.dumps(sent)
