"""Networks as they are: certificates, proxies, old HTTP, IPv6, redirects; every wire, over real sockets."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from certificates import LONG_VALID, Authority, authority
from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed, ProviderFault
from holdfast.providers.connect import connect
from holdfast.providers.model import StreamEvent, StreamFinished, TextDelta
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.testing.script import Say
from proxies import DYING, Mode, Proxy
from skips import needs
from socket_servers import KEYS, OldServer, Recorder, Redirects, environ, listening
from tiers import sampled

WIRES = ("openai:gpt-5.5", "openai-chat:m", "anthropic:m", "google:gemini-3-m", "mistral:m", "bedrock:anthropic.m")
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
PASSWORD = "p@ss-word-of-nobody"
WRITTEN = "p%40ss-word-of-nobody"
LIMITS = Limits(connect=5, write=5)
LONG = "".join(f"word{number} " for number in range(2_500))
SAYS = "what it says, at a length that takes more than five events " * 2


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("authority"))


class Log:
    """Keeps all that an observer of the traffic receives."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def hide(self, secrets: tuple[str, ...]) -> None:
        assert PASSWORD not in secrets

    def request_sent(self, method: str, address: str, size: int) -> None:
        self.lines.append(f"{method} {address} {size}")

    def response_started(self, status: int, request_id: str) -> None:
        self.lines.append(f"{status} {request_id}")

    def data_received(self, chunk: bytes) -> None:
        self.lines.append(str(chunk))

    def response_closed(self) -> None:
        self.lines.append("closed")


def prompt(name: str) -> Conversation:
    opened = SessionOpened(session="s", cwd="/", model=name, system="SYSTEM", tools=(), version="0")
    return fold([opened, PromptAccepted(turn=1, text="go")])


async def events(name: str, variables: dict[str, str], *, non_streaming: bool = False) -> list[StreamEvent]:
    """Return what the model answers; what was told to the log has no password in it."""
    log = Log()
    model = await connect(resolve_endpoint(name, variables), LIMITS, log=log)
    try:
        async with model.stream(prompt(name), non_streaming=non_streaming) as streamed:
            return [event async for event in streamed]
    except ProviderFailed as failed:
        keeps_the_password(str(failed))
        raise
    finally:
        keeps_the_password("\n".join(log.lines))
        await model.aclose()


def keeps_the_password(text: str) -> None:
    """Fail if the password of the proxy is in the text, in any way in which it is written."""
    token = base64.b64encode(f"somebody:{PASSWORD}".encode()).decode()
    assert not [word for word in (PASSWORD, WRITTEN, token, "test-key") if word in text], text


async def answer_text(name: str, variables: dict[str, str], *, non_streaming: bool = False) -> str:
    """Return the text of the answer, which must be complete."""
    streamed = await events(name, variables, non_streaming=non_streaming)
    assert isinstance(streamed[-1], StreamFinished)
    return "".join(event.text for event in streamed if isinstance(event, TextDelta))


async def failure(name: str, variables: dict[str, str]) -> ProviderFailed:
    with pytest.raises(ProviderFailed) as caught:
        await events(name, variables)
    return caught.value


async def unfinished(name: str, variables: dict[str, str]) -> None:
    """Fail if an answer that was cut counts as a whole one; the cut alone raises no error."""
    model = await connect(resolve_endpoint(name, variables), LIMITS)
    async with model.stream(prompt(name)) as streamed:
        streamed_events = [event async for event in streamed]
    await model.aclose()
    assert [event for event in streamed_events if isinstance(event, TextDelta)], "half of it came"
    assert not [event for event in streamed_events if isinstance(event, StreamFinished)]


@asynccontextmanager
async def secure(trusted: Authority, *names: str, days: range = LONG_VALID) -> AsyncGenerator[tuple[Recorder, int]]:
    """Give a provider behind TLS, and its port."""
    recorder = Recorder()
    tls = trusted.server(*(names or ("localhost",)), days=days)
    async with listening(recorder.serve, tls=tls) as port:
        yield recorder, port


# --- certificates ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sampled(WIRES, 3))
async def test_an_authority_of_ones_own_is_trusted_if_it_is_named(
    name: str, trusted: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted.path))
    async with secure(trusted) as (recorder, port):
        assert await answer_text(name, environ(f"https://localhost:{port}")) == "ok"
        assert await answer_text(name, environ(f"https://localhost:{port}"), non_streaming=True) == "ok"
    assert len(recorder.requests) == 2


@pytest.mark.parametrize("name", sampled(WIRES, 3))
async def test_an_authority_that_is_not_named_is_an_error_and_nothing_is_sent(name: str, trusted: Authority) -> None:
    async with secure(trusted) as (recorder, port):
        failed = await failure(name, environ(f"https://localhost:{port}"))
    assert (failed.fault, failed.retryable) == ("certificate", False)
    assert str(failed).startswith(f"Connection to model {name!r} failed: ")
    assert "certificate verify failed" in str(failed)
    assert recorder.requests == []


@pytest.mark.parametrize(
    ("host", "days", "expected"),
    [
        ("another.invalid", LONG_VALID, ("certificate_host", "Hostname mismatch, certificate is not valid")),
        ("127.0.0.1", LONG_VALID, ("certificate_host", "Hostname mismatch, certificate is not valid")),
        ("localhost", range(-9, -8), ("certificate_date", "certificate has expired")),
        ("localhost", range(8, 9), ("certificate_date", "certificate is not yet valid")),
    ],
)
@pytest.mark.parametrize("name", sampled(WIRES, 1))
async def test_a_certificate_of_another_name_or_day_is_refused(
    name: str,
    host: str,
    days: range,
    expected: tuple[ProviderFault, str],
    trusted: Authority,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted.path))
    async with secure(trusted, host, days=days) as (recorder, port):
        failed = await failure(name, environ(f"https://localhost:{port}"))
    fault, why = expected
    assert (failed.fault, failed.retryable, recorder.requests) == (fault, False, [])
    assert why in str(failed)


@pytest.mark.parametrize("name", sampled(WIRES, 1))
async def test_an_address_that_a_certificate_does_not_name_is_refused(
    name: str, trusted: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted.path))
    async with secure(trusted) as (_, port):
        failed = await failure(name, environ(f"https://127.0.0.1:{port}"))
    assert failed.fault == "certificate_host"


# --- proxies ---------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def running(
    proxy: Proxy, variable: str, monkeypatch: pytest.MonkeyPatch, *, user: str = f"somebody:{WRITTEN}@"
) -> AsyncGenerator[None]:
    """Run the proxy, named in the variable with its user and password."""
    async with listening(proxy.serve) as port:
        monkeypatch.setenv(variable, f"http://{user}127.0.0.1:{port}")
        yield


@pytest.mark.parametrize(
    ("name", "variable"), sampled([(name, v) for name in WIRES for v in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY")], 3)
)
async def test_a_proxy_gives_a_tunnel_to_who_knows_its_password(
    name: str, variable: str, trusted: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted.path))
    async with secure(trusted) as (recorder, port):
        proxy = Proxy(port=port)
        async with running(proxy, variable, monkeypatch):
            assert await answer_text(name, environ(f"https://localhost:{port}")) == "ok"
    (request_sent,), (sent,) = proxy.asked, recorder.requests
    assert (request_sent.method, request_sent.target) == ("CONNECT", f"localhost:{port}")
    credentials = request_sent.headers["proxy-authorization"].removeprefix("Basic ")
    assert base64.b64decode(credentials).decode() == f"somebody:{PASSWORD}"
    assert "proxy-authorization" not in sent.headers
    assert "test-key" not in f"{request_sent.headers}", "the key is for the provider alone"


@pytest.mark.parametrize("name", sampled(WIRES, 2))
async def test_what_needs_no_tunnel_is_forwarded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Proxy()
    async with running(proxy, "HTTP_PROXY", monkeypatch):
        assert await answer_text(name, environ("http://provider.invalid:81")) == "ok"
    (request_sent,) = proxy.asked
    assert request_sent.method == "POST"
    assert request_sent.target.startswith("http://provider.invalid:81/")
    assert request_sent.headers["host"] == "provider.invalid:81"
    assert "proxy-authorization" in request_sent.headers


@pytest.mark.parametrize("name", sampled(WIRES, 2))
async def test_a_password_that_is_refused_is_reported_as_that(
    name: str, trusted: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted.path))
    proxy = Proxy("wants another password")
    async with running(proxy, "HTTPS_PROXY", monkeypatch):
        failed = await failure(name, environ("https://localhost:1"))
    assert (failed.fault, failed.retryable) == ("proxy_password", False)
    assert "407 Proxy Authentication Required" in str(failed)


@pytest.mark.parametrize("name", sampled(WIRES, 1))
async def test_so_is_a_proxy_that_allows_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(Proxy("refuses"), "HTTPS_PROXY", monkeypatch):
        failed = await failure(name, environ("https://localhost:1"))
    assert (failed.fault, failed.retryable) == ("proxy_refused", False)
    assert "403 Forbidden" in str(failed)


@pytest.mark.parametrize("name", sampled(WIRES, 1))
async def test_the_password_of_what_is_forwarded_may_be_refused_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(Proxy("wants another password"), "HTTP_PROXY", monkeypatch):
        failed = await failure(name, environ("http://provider.invalid:81"))
    assert (failed.fault, failed.retryable) == ("proxy_password", False)


@pytest.mark.parametrize("name", sampled(WIRES, 1))
async def test_a_proxy_that_cannot_reach_it_now_is_asked_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(Proxy("cannot reach it"), "HTTPS_PROXY", monkeypatch):
        failed = await failure(name, environ("https://localhost:1"))
    assert (failed.fault, failed.retryable) == ("unreachable", True)
    assert "502 Bad Gateway" in str(failed)


@pytest.mark.parametrize(("name", "mode"), sampled([(name, mode) for name in WIRES for mode in DYING], 3))
async def test_a_proxy_that_dies_before_there_is_a_tunnel(
    name: str, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = Proxy(mode)
    async with running(proxy, "HTTPS_PROXY", monkeypatch):
        failed = await failure(name, environ("https://localhost:1"))
    assert failed.fault == "unreachable"
    assert str(failed).startswith(f"Connection to model {name!r} failed: ")
    assert len(proxy.asked) == 1, "it is for the turn to try again"


@pytest.mark.parametrize("name", sampled(WIRES, 3))
async def test_a_proxy_that_dies_within_the_stream(
    name: str, trusted: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted.path))
    recorder = Recorder([(Say(LONG),)])
    async with listening(recorder.serve, tls=trusted.server("localhost")) as port:
        proxy = Proxy("leaves within the stream", port, most=40_000)
        async with running(proxy, "HTTPS_PROXY", monkeypatch):
            await unfinished(name, environ(f"https://localhost:{port}"))
    assert len(proxy.asked) == 1


@pytest.mark.parametrize(
    ("exempt", "host", "direct"),
    [
        ("localhost", "localhost", True),
        ("*", "localhost", True),
        ("invalid, .localhost, localhost", "localhost", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("provider.invalid", "localhost", False),
        ("", "localhost", False),
    ],
)
async def test_whom_no_proxy_names_is_asked_directly(
    exempt: str, host: str, monkeypatch: pytest.MonkeyPatch, *, direct: bool
) -> None:
    recorder, proxy = Recorder(), Proxy()
    monkeypatch.setenv("NO_PROXY", exempt)
    async with listening(recorder.serve) as port, running(proxy, "HTTP_PROXY", monkeypatch):
        assert await answer_text("openai-chat:m", environ(f"http://{host}:{port}")) == "ok"
    assert (len(recorder.requests), len(proxy.asked)) == ((1, 0) if direct else (0, 1))


HOME = {
    "openai:gpt-5.5": ("api.openai.com", "/v1/responses"),
    "openai-chat:m": ("api.openai.com", "/v1/chat/completions"),
    "anthropic:m": ("api.anthropic.com", "/v1/messages"),
    "google:gemini-3-m": (
        "generativelanguage.googleapis.com",
        "/v1beta/models/gemini-3-m:streamGenerateContent?alt=sse",
    ),
    "mistral:m": ("api.mistral.ai", "/v1/chat/completions"),
    "bedrock:anthropic.m": ("bedrock-mantle.eu-west-1.api.aws", "/anthropic/v1/messages"),
    "openrouter:m": ("openrouter.ai", "/api/v1/chat/completions"),
}


@pytest.mark.parametrize("name", sampled(HOME, 4))
async def test_where_each_provider_is_at_home(name: str, trusted: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send a request to the default addresses: the proxy leads every tunnel to the test's server."""
    host, target = HOME[name]
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted.path))
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    variables = {**dict.fromkeys(KEYS, "test-key"), "AWS_REGION": "eu-west-1"}
    async with secure(trusted, host) as (recorder, port):
        proxy = Proxy(port=port)
        async with running(proxy, "HTTPS_PROXY", monkeypatch):
            assert await answer_text(name, variables) == "ok"
    assert proxy.places == [f"{host}:443"]
    (sent,) = recorder.requests
    assert (sent.target, sent.headers["host"]) == (target, host)


# --- servers and addresses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sampled(WIRES, 3))
async def test_an_old_server_is_read_to_its_end(name: str) -> None:
    old = OldServer(SAYS)
    async with listening(old.serve) as port:
        variables = environ(f"http://127.0.0.1:{port}")
        model = await connect(resolve_endpoint(name, variables), LIMITS)
        for non_streaming in (False, True, False):
            async with model.stream(prompt(name), non_streaming=non_streaming) as streamed:
                streamed_events = [event async for event in streamed]
            assert isinstance(streamed_events[-1], StreamFinished)
            assert "".join(event.text for event in streamed_events if isinstance(event, TextDelta)) == SAYS
        await model.aclose()
    assert old.connections == 3


@pytest.mark.parametrize("name", sampled(WIRES, 3))
async def test_an_old_server_that_dies_has_not_finished(name: str) -> None:
    async with listening(OldServer(SAYS, cut=5).serve) as port:
        await unfinished(name, environ(f"http://127.0.0.1:{port}"))


@needs("ipv6")
@pytest.mark.parametrize("name", sampled(WIRES, 2))
async def test_an_address_of_ipv6(name: str) -> None:
    recorder = Recorder()
    async with listening(recorder.serve, host="::1") as port:
        assert await answer_text(name, environ(f"http://[::1]:{port}")) == "ok"
    assert recorder.requests[0].headers["host"] == f"[::1]:{port}"


@pytest.mark.parametrize(
    ("name", "status"), sampled([(name, status) for name in WIRES for status in (301, 302, 303, 307, 308)], 5)
)
@pytest.mark.parametrize("non_streaming", [False, True])
async def test_a_redirect_is_reported_and_not_followed(name: str, status: int, *, non_streaming: bool) -> None:
    elsewhere = Recorder()
    async with listening(elsewhere.serve) as there:
        redirects = Redirects(f"http://127.0.0.1:{there}/elsewhere?token=secret", status)
        async with listening(redirects.serve) as port:
            with pytest.raises(ProviderFailed) as caught:
                await events(name, environ(f"http://127.0.0.1:{port}"), non_streaming=non_streaming)
    failed = caught.value
    assert (failed.fault, failed.status, elsewhere.requests) == ("redirected", status, [])
    assert f"redirects to 'http://127.0.0.1:{there}/elsewhere'. The redirect was not followed." in str(failed)


async def test_the_folder_of_trusted_authorities_may_be_named_too(
    trusted: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = await asyncio.create_subprocess_exec(
        *("openssl", "x509", "-noout", "-hash", "-in", str(trusted.path)), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await ran.communicate()
    (tmp_path / f"{out.decode().strip()}.0").write_bytes(trusted.path.read_bytes())
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    async with secure(trusted) as (_, port):
        assert await answer_text("openai-chat:m", environ(f"https://localhost:{port}")) == "ok"
