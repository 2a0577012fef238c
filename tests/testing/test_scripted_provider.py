"""The scripted provider over loopback: what is sent when, how a request ends, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import time
import urllib.request
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx2
import pytest

from holdfast.errors import UsageError
from holdfast.testing.script import Call, Cut, Fail, Finish, Hold, Ping, ReceivedRequest, Reply, Reset, Say, Think, Wait
from holdfast.testing.scripted_provider import ScriptedProvider
from polling import HANGS, eventually
from request_bodies import SYSTEM, USER, Json, anthropic, chat

ASK = chat(SYSTEM, USER)
STREAM = ASK | {"stream": True}
KEY = {"authorization": "Bearer test-key"}
ANTHROPIC_KEY = {"x-api-key": "test-key", "anthropic-version": "2023-06-01"}


def client(provider: ScriptedProvider) -> httpx2.Client:
    return httpx2.Client(base_url=f"{provider.url}/v1", headers=KEY | ANTHROPIC_KEY, timeout=HANGS)


@contextmanager
def streaming(
    provider: ScriptedProvider, path: str = "/chat/completions", body: Json = STREAM
) -> Generator[httpx2.Response]:
    with client(provider) as http, http.stream("POST", path, json=body) as response:
        yield response


def text_of(stream: str) -> str:
    """Return the text of a Chat stream as far as it came."""
    chunks = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


def test_plays_replies_in_order_then_says_that_the_script_is_over() -> None:
    with ScriptedProvider([(Say("one"),), (Say("two"),)]) as provider, client(provider) as http:
        texts = [http.post("/chat/completions", json=ASK).json()["choices"][0]["message"]["content"] for _ in "ab"]
        over = http.post("/chat/completions", json=ASK)
        provider.extend((Say("three"),))
        assert texts == ["one", "two"]
        assert over.status_code == 500
        assert over.json()["error"] == {
            "message": "The script is over: a request came after its last reply. Add more replies.",
            "type": "server_error",
            "param": None,
            "code": None,
        }
        # The reply after the last used up no step: an added one is played next.
        assert http.post("/chat/completions", json=ASK).json()["choices"][0]["message"]["content"] == "three"


def test_plays_something_else_after_the_last() -> None:
    with ScriptedProvider(after=(Say("again"),)) as provider, client(provider) as http:
        for _ in range(3):
            assert http.post("/chat/completions", json=ASK).json()["choices"][0]["message"]["content"] == "again"


def test_a_refused_request_plays_no_reply() -> None:
    with ScriptedProvider([(Say("one"),)]) as provider, client(provider) as http:
        assert http.post("/chat/completions", json={}).status_code == 400
        assert http.post("/chat/completions", json=ASK).json()["choices"][0]["message"]["content"] == "one"
        assert [request.ended for request in provider.requests] == ["refused", "completed"]


def test_captures_what_was_sent() -> None:
    with ScriptedProvider([(Say("one"),)]) as provider, client(provider) as http:
        http.post("/chat/completions?beta=true", json=ASK)
        (request,) = provider.requests
        assert (request.wire, request.method, request.path) == ("openai-chat", "POST", "/v1/chat/completions")
        assert json.loads(request.raw) == request.body == ASK
        assert request.headers["authorization"] == "Bearer test-key"
        assert request.ended == "completed"
        assert request.refusal is None


def test_a_reply_may_be_made_from_the_request() -> None:
    seen: list[ReceivedRequest] = []

    def echo(request: ReceivedRequest) -> Reply:
        seen.append(request)
        return (Say(f"{request.wire} {request.model}"),)

    tool: Json = {"name": "read", "input_schema": {"type": "object"}}
    function: Json = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
    with ScriptedProvider(after=echo) as provider, client(provider) as http:
        chatted = http.post("/chat/completions", json=ASK | {"tools": [function]}).json()
        messaged = http.post("/messages", json=anthropic(USER, system="be brief", tools=[tool])).json()
    assert chatted["choices"][0]["message"]["content"] == "openai-chat gpt-test"
    assert messaged["content"][0]["text"] == "anthropic claude-test"
    assert [(request.system, request.tools, request.stream) for request in seen] == [
        (("be brief",), ("read",), False)
    ] * 2
    assert [len(request.messages) for request in seen] == [2, 1]


def test_what_a_reply_function_raises_comes_out_at_the_end() -> None:
    def broken(request: ReceivedRequest) -> Reply:
        raise LookupError(request.model)

    provider = ScriptedProvider([broken])
    with pytest.raises(LookupError, match="gpt-test"), provider, client(provider) as http:
        assert_breaks_off(http)
    assert [request.ended for request in provider.requests] == ["broken"]


def assert_breaks_off(http: httpx2.Client) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        http.post("/chat/completions", json=ASK)


def test_complains_unless_there_is_one_system_prompt() -> None:
    bodies = [chat(USER), chat(SYSTEM, USER), chat(SYSTEM, SYSTEM, USER)]
    for one_system, complaints in [
        (
            True,
            (
                "Request 1 has 0 system prompts (expected one).",
                "Request 3 has 2 system prompts (expected one).",
            ),
        ),
        (False, ()),
    ]:
        with ScriptedProvider(after=(Say("ok"),), one_system=one_system) as provider, client(provider) as http:
            assert [http.post("/chat/completions", json=body).status_code for body in bodies] == [200] * 3
            assert provider.complaints == complaints


def test_tells_a_child_process_where_it_is() -> None:
    with ScriptedProvider([(Say("ok"),)], key="sekret") as provider:
        environ = provider.environ()
        assert environ == {
            "OPENAI_BASE_URL": f"{provider.url}/v1",
            "OPENAI_API_KEY": "sekret",
            "ANTHROPIC_BASE_URL": provider.url,
            "ANTHROPIC_API_KEY": "sekret",
            "GOOGLE_GEMINI_BASE_URL": provider.url,
            "GEMINI_API_KEY": "sekret",
            "MISTRAL_BASE_URL": f"{provider.url}/mistral/v1",
            "MISTRAL_API_KEY": "sekret",
            "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": f"{provider.url}/anthropic",
            "AWS_BEARER_TOKEN_BEDROCK": "sekret",
            "OLLAMA_BASE_URL": f"{provider.url}/ollama/v1",
        }
        # As plain a client as there is.
        request = urllib.request.Request(
            f"{environ['OPENAI_BASE_URL']}/chat/completions",
            data=json.dumps(ASK).encode(),
            headers={"Authorization": f"Bearer {environ['OPENAI_API_KEY']}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=HANGS) as response:
            assert response.status == 200


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "error"),
    [
        (
            "POST",
            "/v1/nowhere",
            {},
            404,
            {"message": "Invalid URL (POST /v1/nowhere)", "type": "invalid_request_error", "param": None, "code": None},
        ),
        ("POST", "/v1/nowhere", ANTHROPIC_KEY, 404, {"message": "Not Found", "type": "not_found_error"}),
        (
            "GET",
            "/v1/chat/completions",
            KEY,
            405,
            {
                "message": "Not allowed to GET on /v1/chat/completions.",
                "type": "invalid_request_error",
                "param": None,
                "code": "method_not_supported",
            },
        ),
        ("GET", "/v1/messages", ANTHROPIC_KEY, 405, {"message": "Method Not Allowed", "type": "invalid_request_error"}),
    ],
)
def test_what_it_does_not_have(method: str, path: str, headers: dict[str, str], status: int, error: Json) -> None:
    with ScriptedProvider() as provider:
        response = httpx2.request(method, provider.url + path, headers=headers)
        assert (response.status_code, response.json()["error"]) == (status, error)


@pytest.mark.parametrize(
    ("status", "kind", "code", "message"),
    [
        (429, "requests", "rate_limit_exceeded", "Rate limit reached"),
        (500, "server_error", None, "The server had an error"),
        (503, "service_unavailable_error", None, "That model is currently overloaded"),
        (418, "invalid_request_error", None, "Bad request."),
        (599, "server_error", None, "The server had an error"),
    ],
)
def test_fails_as_openai_does(status: int, kind: str, code: str | None, message: str) -> None:
    with (
        ScriptedProvider([(Fail(status, retry_after=2),), (Fail(status, "mine"),)]) as provider,
        client(provider) as http,
    ):
        first, second = (http.post("/chat/completions", json=STREAM) for _ in "ab")
        assert first.status_code == second.status_code == status
        assert (first.json()["error"]["type"], first.json()["error"]["code"]) == (kind, code)
        assert first.json()["error"]["message"].startswith(message)
        assert first.headers["retry-after"] == "2"
        assert second.json()["error"]["message"] == "mine"
        assert "retry-after" not in second.headers
        assert [request.ended for request in provider.requests] == ["completed"] * 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
        (413, "request_too_large"),
        (418, "invalid_request_error"),
    ],
)
def test_fails_as_anthropic_does(status: int, kind: str) -> None:
    with ScriptedProvider([(Fail(status, retry_after=0.5),)]) as provider, client(provider) as http:
        response = http.post("/messages", json=anthropic(USER) | {"stream": True})
        assert response.status_code == status
        assert response.json()["type"] == "error"
        assert response.json()["error"]["type"] == kind
        assert response.json()["request_id"] == response.headers["request-id"]
        assert response.headers["retry-after"] == "0.5"


def test_a_pause_first_holds_the_status_line_back() -> None:
    with ScriptedProvider([(Hold("start"), Say("now"))]) as provider, ThreadPoolExecutor(1) as threads:
        answer = threads.submit(lambda: httpx2.post(f"{provider.url}/v1/chat/completions", json=STREAM, headers=KEY))
        provider.wait_for("start")
        assert not answer.done()
        assert provider.requests[0].ended is None
        provider.release("start")
        assert text_of(answer.result(20).text) == "now"


def test_a_hold_stops_the_stream_where_it_stands() -> None:
    with ScriptedProvider([(Say("before "), Hold("gate"), Say("after"))]) as provider, streaming(provider) as response:
        lines = response.iter_lines()
        came = ""
        while text_of(came) != "before ":
            came += next(lines) + "\n"
        provider.wait_for("gate")
        provider.release("gate")
        assert text_of(came + "\n".join(lines)) == "before after"


def test_a_gate_opened_early_stays_open() -> None:
    with ScriptedProvider([(Hold("gate"), Say("ok"))]) as provider, client(provider) as http:
        provider.release("gate")
        assert http.post("/chat/completions", json=ASK).status_code == 200
        assert provider.reached("gate")


def test_text_comes_in_chunks_with_time_between() -> None:
    with ScriptedProvider([(Say("abcdef", chunk=2, delay=0.05), Wait(0.05))]) as provider:
        started = time.monotonic()
        with streaming(provider) as response:
            chunks = [line for line in response.iter_lines() if '"content":"' in line]
        assert time.monotonic() - started >= 0.15
        assert [text_of(chunk) for chunk in chunks] == ["", "ab", "cd", "ef"]


def test_pings_are_bytes_that_are_no_progress() -> None:
    with ScriptedProvider([(Ping(3, 0.01), Say("ok"))] * 2) as provider:
        with streaming(provider) as response:
            assert response.read().startswith(b": keep-alive\n\n" * 3)
        with streaming(provider, "/messages", anthropic(USER) | {"stream": True}) as response:
            events = [line for line in response.read().decode().splitlines() if line.startswith("event: ")]
            assert events[:4] == ["event: message_start", "event: ping", "event: ping", "event: ping"]


@pytest.mark.parametrize("path", ["/chat/completions", "/messages"])
def test_a_cut_ends_politely_without_the_terminal_event(path: str) -> None:
    body = STREAM if path == "/chat/completions" else anthropic(USER) | {"stream": True}
    with ScriptedProvider([(Say("half a sen"), Cut()), (Say("all"), Finish("stop"), Cut())]) as provider:
        with streaming(provider, path, body) as response:
            half = response.read().decode()  # no error: the body ended as HTTP bodies end
        with streaming(provider, path, body) as response:
            finished = response.read().decode()
        assert "half a sen" in half
        assert '_reason":"' not in half
        assert '_reason":"' in finished
        for stream in (half, finished):
            assert "[DONE]" not in stream
            assert "content_block_stop" not in half
            assert "message_stop" not in stream
        provider.wait_idle()
        assert [request.ended for request in provider.requests] == ["completed"] * 2


def test_a_cut_leaves_half_of_a_whole_answer() -> None:
    with ScriptedProvider([(Say("half a sentence"), Cut())]) as provider, client(provider) as http:
        response = http.post("/chat/completions", json=ASK)
        assert response.status_code == 200
        with pytest.raises(json.JSONDecodeError):
            response.json()


@pytest.mark.parametrize("reply", [(Say("half"), Reset()), (Wait(0.01), Reset()), (Reset(),)])
def test_a_reset_aborts_the_connection(reply: Reply) -> None:
    with ScriptedProvider([reply]) as provider:
        with pytest.raises(httpx2.ReadError), streaming(provider) as response:
            response.read()
        provider.wait_idle()
        assert [request.ended for request in provider.requests] == ["completed"]


@pytest.mark.parametrize("stall", [Wait(3600), Hold("for ever"), Ping(1, 3600), Say("x" * 100, chunk=1, delay=3600)])
def test_notices_at_once_that_the_client_left(stall: Wait | Hold | Ping | Say) -> None:
    with ScriptedProvider([(Say("a"), stall, Say("never"))]) as provider:
        with streaming(provider) as response:
            lines = response.iter_lines()
            next(lines)
            assert provider.open_connections == 1
        provider.wait_idle(timeout=HANGS)
        assert [request.ended for request in provider.requests] == ["client_gone"]
        eventually(lambda: provider.open_connections == 0)


def test_a_client_that_leaves_with_the_last_byte_has_had_it_all() -> None:
    with ScriptedProvider(after=(Say("ok"),)) as provider:
        for _ in range(10):
            with streaming(provider) as response:
                next(line for line in response.iter_lines() if line == "data: [DONE]")
        provider.wait_idle()
        assert {request.ended for request in provider.requests} == {"completed"}


def test_notices_a_client_that_left_before_the_status_line() -> None:
    with ScriptedProvider([(Hold("for ever"), Say("never"))]) as provider:
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(f"{provider.url}/v1/chat/completions", json=STREAM, headers=KEY, timeout=0.2)
        provider.wait_idle(timeout=HANGS)
        assert [request.ended for request in provider.requests] == ["client_gone"]


def test_notices_a_client_that_resets() -> None:
    with ScriptedProvider([(Hold("for ever"),)]) as provider:
        raw = json.dumps(STREAM).encode()
        head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer test-key\r\n"
        head += f"content-length: {len(raw)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", int(provider.url.rpartition(":")[2]))) as connection:
            connection.sendall(head.encode() + raw)
            provider.wait_for("for ever")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        provider.wait_idle(timeout=HANGS)
        assert [request.ended for request in provider.requests] == ["client_gone"]


def test_lets_go_of_who_speaks_no_http() -> None:
    with ScriptedProvider() as provider:
        with socket.create_connection(("127.0.0.1", int(provider.url.rpartition(":")[2]))) as connection:
            connection.settimeout(10)
            connection.sendall(b"EHLO there\r\n\r\n")
            assert connection.recv(100) == b""
        assert provider.requests == ()


def test_keeps_connections_alive() -> None:
    with ScriptedProvider(after=(Say("ok"),)) as provider, client(provider) as http:
        for _ in range(5):
            assert http.post("/chat/completions", json=STREAM).status_code == 200
            assert provider.open_connections == 1


def test_answers_many_at_once() -> None:
    count = 20

    def reply(request: ReceivedRequest) -> Reply:
        return (Hold("all here"), Say(str(request.messages[-1]["content"])))

    async def answers_of(url: str) -> list[str]:
        async with httpx2.AsyncClient(headers=KEY, timeout=HANGS) as http:
            bodies = [chat(SYSTEM, {"role": "user", "content": str(i)}, stream=True) for i in range(count)]
            requests = [http.post(f"{url}/v1/chat/completions", json=body) for body in bodies]
            return [text_of(response.text) for response in await asyncio.gather(*requests)]

    with ScriptedProvider(after=reply) as provider, ThreadPoolExecutor(1) as threads:
        answers = threads.submit(asyncio.run, answers_of(provider.url))
        provider.wait_requests(count)
        assert provider.open_connections == count
        provider.release("all here")
        assert answers.result(30) == [str(i) for i in range(count)]


def test_the_same_script_gives_the_same_bytes() -> None:
    reply = (Think("hm"), Say("hello there"), Call("read", {"path": "x"}), Call("list", "{}"))
    streams: list[bytes] = []
    for _ in range(2):
        with ScriptedProvider([reply, reply]) as provider:
            for path, body in [("/chat/completions", STREAM), ("/messages", anthropic(USER) | {"stream": True})]:
                with streaming(provider, path, body) as response:
                    streams.append(response.read())
    assert streams[:2] == streams[2:]


def test_closing_leaves_nothing_behind() -> None:
    with ExitStack() as later:
        with ScriptedProvider([(Say("a"), Hold("for ever"))]) as provider:
            response = later.enter_context(streaming(provider))
            lines = response.iter_lines()
            next(lines)
        with pytest.raises(httpx2.RemoteProtocolError):
            list(lines)
    assert [request.ended for request in provider.requests] == ["closed"]
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(provider.url)
    gc.collect()  # an unclosed socket or loop would be a warning, and a warning is an error


def test_waiting_has_an_end() -> None:
    with ScriptedProvider() as provider:
        with pytest.raises(TimeoutError, match=r"No reply reached gate 'never' within 0\.01 s"):
            provider.wait_for("never", timeout=0.01)
        with pytest.raises(TimeoutError, match=r"Requests after 0\.01 s: \[\] \(expected 1 or more\)"):
            provider.wait_requests(1, timeout=0.01)


def test_is_entered_once_and_has_no_address_before() -> None:
    provider = ScriptedProvider()
    with pytest.raises(UsageError, match="no server"):
        _ = provider.url
    with provider:
        pass
    with pytest.raises(UsageError, match="entered only once"):
        provider.__enter__()


def test_ollama_wants_no_key_whatever_the_others_want() -> None:
    with ScriptedProvider(after=(Think("hm"), Say("ok")), one_system=False) as provider:
        url = f"{provider.environ()['OLLAMA_BASE_URL']}/chat/completions"
        answer = httpx2.post(url, json=ASK)
        assert answer.json()["choices"][0]["message"]["reasoning"] == "hm"
        refused = httpx2.post(url, json=ASK, headers=KEY)
        assert refused.status_code == 401
        assert "needs no key" in refused.text
