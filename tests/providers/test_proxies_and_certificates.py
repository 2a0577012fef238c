"""Variables about the network as users have them: SOCKS, proxies that fail, certificates that are not there."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import cast

import httpcore2
import httpx2
import pytest

from certificates import Authority, authority
from holdfast.config.settings import Limits
from holdfast.errors import ModelUnusable, ProviderFailed, ProviderFault
from holdfast.providers.connect import connect
from holdfast.providers.connectivity import ConnectivityStep, check_connectivity
from holdfast.providers.model import StreamFinished
from holdfast.providers.model_list import fetch_models
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.system.network_variables import Route, route_to, trust_fault
from holdfast.ui.commands.provider_failures import unreachable_reason
from socket_servers import Recorder, environ, listening
from socks_server import PASSWORD, USER, SocksMode, socks_proxy
from tiers import sampled

WIRES = ("openai:gpt-5.5", "openai-chat:m", "anthropic:m", "google:gemini-3-m", "mistral:m", "bedrock:anthropic.m")
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")
LIMITS = Limits(connect=5, write=5)


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("authority"))


async def ask(name: str, address: str) -> bool:
    """Send a prompt to the model of a server and return whether it was answered."""
    opened = SessionOpened(session="s", cwd="/", model=name, system="SYSTEM", tools=(), version="0")
    model = await connect(resolve_endpoint(name, environ(address)), LIMITS)
    try:
        async with model.stream(fold([opened, PromptAccepted(turn=1, text="go")])) as events:
            return any([isinstance(event, StreamFinished) async for event in events])
    finally:
        await model.aclose()


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


# --- SOCKS -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "socks"])
@pytest.mark.parametrize("name", sampled(WIRES, 1))
async def test_a_socks_proxy_is_used(name: str, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    async with listening(recorder.serve) as port:
        with socks_proxy() as proxy:
            monkeypatch.setenv("ALL_PROXY", f"{scheme}://127.0.0.1:{proxy.port}")
            assert await ask(name, f"http://127.0.0.1:{port}")
    assert len(recorder.requests) == 1
    assert proxy.places == [f"127.0.0.1:{port}"]


async def test_a_socks_proxy_leads_to_tls_and_gets_the_name_of_the_host(
    trusted: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted.path))
    async with listening(recorder.serve, tls=trusted.server("localhost")) as port:
        with socks_proxy("password") as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"socks5://{USER}:{PASSWORD.replace('@', '%40')}@127.0.0.1:{proxy.port}")
            assert await ask("openai-chat:m", f"https://localhost:{port}")
            way = await check_connectivity(f"https://localhost:{port}", dict(os.environ), patience=5)
    assert len(recorder.requests) == 1
    assert proxy.places == [f"localhost:{port}"] * 2
    assert (way.step, way.proxy_variable) == ("reached", "HTTPS_PROXY")
    assert PASSWORD not in str(way)


FAILURES: dict[SocksMode, tuple[ProviderFault, ConnectivityStep, str]] = {
    "password": ("proxy_password", "proxy", "it wants a user and a password"),
    "refuses": ("proxy_refused", "proxy", "its rules do not allow this connection"),
    "unreachable": ("unreachable", "proxy", "it cannot reach that host"),
    "leaves": ("unreachable", "proxy", "it closed the connection"),
    "http": ("unreachable", "proxy", "what it answers is not SOCKS5"),
}


@pytest.mark.parametrize("mode", FAILURES)
async def test_a_socks_proxy_that_fails_is_named(mode: SocksMode, monkeypatch: pytest.MonkeyPatch) -> None:
    fault, step, detail = FAILURES[mode]
    recorder = Recorder()
    async with listening(recorder.serve) as port:
        with socks_proxy(mode) as proxy:
            monkeypatch.setenv("ALL_PROXY", f"socks5://127.0.0.1:{proxy.port}")
            with pytest.raises(ProviderFailed) as caught:
                await ask("openai-chat:m", f"http://127.0.0.1:{port}")
            way = await check_connectivity(f"http://127.0.0.1:{port}", dict(os.environ), patience=5)
    assert caught.value.fault == fault
    assert f"through the proxy 'socks5://127.0.0.1:{proxy.port}' (ALL_PROXY)" in str(caught.value)
    assert (way.step, way.detail) == (step, detail)
    assert "ALL_PROXY" in unreachable_reason(way)
    assert recorder.requests == []


async def test_the_check_of_a_silent_socks_proxy_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with socks_proxy("silent") as proxy:
        monkeypatch.setenv("ALL_PROXY", f"socks5://127.0.0.1:{proxy.port}")
        way = await check_connectivity("http://127.0.0.1:1", dict(os.environ), patience=0.3)
    assert way.step == "proxy"


# --- proxies that are not there --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_proxy_that_is_not_there_is_named(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = f"{scheme}://127.0.0.1:{closed_port()}"
    monkeypatch.setenv("ALL_PROXY", proxy.replace("://", "://somebody:hidden-word@"))
    with pytest.raises(ProviderFailed) as caught:
        await ask("openai-chat:m", "http://127.0.0.1:18901")
    assert str(caught.value) == (
        "Connection to model 'openai-chat:m' failed: cannot connect to 127.0.0.1:18901 "
        f"through the proxy {proxy!r} (ALL_PROXY): connection refused."
    )


async def test_a_server_that_is_not_there_is_named() -> None:
    port = closed_port()
    with pytest.raises(ProviderFailed) as caught:
        await ask("openai-chat:m", f"http://127.0.0.1:{port}")
    assert str(caught.value) == (
        f"Connection to model 'openai-chat:m' failed: cannot connect to 127.0.0.1:{port}: connection refused."
    )


@pytest.mark.parametrize(
    "value",
    ["socks4://127.0.0.1:9", "ftp://h", "http://", "http://[::1", "http://h:99999", "http://h:0", "http://a b", "://x"],
)
async def test_a_proxy_that_is_none_is_refused_with_its_variable(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", value)
    for work in (
        ask("openai-chat:m", "http://127.0.0.1:1"),
        fetch_models(resolve_endpoint("openai-chat:m", environ("http://127.0.0.1:1")), LIMITS),
    ):
        with pytest.raises(ModelUnusable, match=r"ALL_PROXY .*\(expected http.*Fix the variable, or unset it\."):
            await work
    way = await check_connectivity("http://127.0.0.1:1", dict(os.environ), patience=5)
    assert way.step == "environment"
    assert "ALL_PROXY" in unreachable_reason(way)


@pytest.mark.parametrize(
    ("variable", "exempt"), [("HTTPS_PROXY", ""), ("ALL_PROXY", "127.0.0.1"), ("ALL_PROXY", "127.0.0.0/8")]
)
async def test_a_proxy_that_is_not_needed_stops_no_request(
    variable: str, exempt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "socks4://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", exempt)
    async with listening(Recorder().serve) as port:
        assert await ask("openai-chat:m", f"http://127.0.0.1:{port}")


# --- which proxy -----------------------------------------------------------------------------------------------------

PROXIES = {"HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "http://p:2", "ALL_PROXY": "http://p:3"}
ADDRESSES = (
    *("http://example.com", "https://example.com", "https://www.example.com:8443", "https://wwwexample.com"),
    *("http://localhost:8080", "http://127.0.0.1:8080", "http://10.1.2.3", "http://[::1]:8080", "http://EXAMPLE.com"),
)
EXEMPT = (
    *("", "*", "example.com", "example.com:8443", "*.example.com", "localhost", "127.0.0.1", "10.0.0.0/8"),
    *("::1", "[::1]", "www.example.com, 10.1.2.3", "https://example.com", "all://example.com", "no such, ,:"),
)


@pytest.mark.parametrize("exempt", EXEMPT)
@pytest.mark.parametrize("variables", [PROXIES, {"ALL_PROXY": "p:3"}, {**PROXIES, "https_proxy": "http://p:4"}, {}])
def test_the_proxy_is_that_of_the_http_library(
    variables: dict[str, str], exempt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ask the library, which has the rules of curl, for the transport that it would use."""
    for name, value in {**variables, "NO_PROXY": exempt}.items():
        monkeypatch.setenv(name, value)
    client = httpx2.Client(verify=False)
    for address in ADDRESSES:
        transport = client._transport_for_url(httpx2.URL(address))  # pyright: ignore[reportPrivateUsage] - the judge
        pool: object = vars(transport)["_pool"]
        url = cast("httpcore2.URL | None", vars(pool).get("_proxy_url"))
        judged = f"http://p:{url.port}" if url is not None else ""
        assert route_to(address, dict(os.environ)).proxy == judged, (address, exempt)


@pytest.mark.parametrize(
    ("variables", "proxy"),
    [
        ({"https_proxy": "", "HTTPS_PROXY": "http://p:2", "ALL_PROXY": "http://p:3"}, "http://p:3"),
        ({"HTTPS_PROXY": "p:2"}, "http://p:2"),
        ({"ALL_PROXY": "socks://p:2"}, "socks5h://p:2"),
        ({"HTTPS_PROXY": "http://p:2", "NO_PROXY": ".example.com"}, ""),
    ],
)
def test_more_about_the_choice(variables: dict[str, str], proxy: str) -> None:
    assert route_to("https://example.com/v1", variables).proxy == proxy


def test_a_program_of_a_web_server_takes_no_proxy_from_its_client() -> None:
    variables = {"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}
    assert route_to("http://example.com", variables) == Route("example.com")


# --- certificates ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variable", "value", "why"),
    [
        ("SSL_CERT_FILE", "/nowhere/ca.pem", "'/nowhere/ca.pem', which does not exist"),
        ("SSL_CERT_FILE", "FOLDER", "which is a folder"),
        ("SSL_CERT_FILE", "FOLDER/empty.pem", "which has no certificates in PEM form"),
        ("SSL_CERT_FILE", "FOLDER/binary.pem", "which has no certificates in PEM form"),
        ("SSL_CERT_DIR", "/nowhere", "'/nowhere', which is no folder"),
    ],
)
async def test_certificates_that_are_not_there_are_named(
    variable: str, value: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty.pem").touch()
    (tmp_path / "binary.pem").write_bytes(bytes(range(256)))
    monkeypatch.setenv(variable, value.replace("FOLDER", str(tmp_path)))
    with pytest.raises(ModelUnusable) as caught:
        await ask("openai-chat:m", "https://127.0.0.1:1")
    assert why in str(caught.value)
    assert variable in str(caught.value)
    way = await check_connectivity("https://127.0.0.1:1", dict(os.environ), patience=5)
    assert way.step == "environment"
    assert why in unreachable_reason(way)


async def test_keys_of_connections_that_cannot_be_written_are_named(
    trusted: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted.path))
    monkeypatch.setenv("SSLKEYLOGFILE", "/nowhere/keys")
    with pytest.raises(ModelUnusable, match="SSLKEYLOGFILE"):
        await ask("openai-chat:m", "https://127.0.0.1:1")


async def test_a_server_without_tls_needs_no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
    async with listening(Recorder().serve) as port:
        assert await ask("openai-chat:m", f"http://127.0.0.1:{port}")


def test_certificates_that_are_there_are_no_fault(trusted: Authority) -> None:
    assert trust_fault({"SSL_CERT_FILE": str(trusted.path)}) == ""
    assert trust_fault({"SSL_CERT_FILE": "", "SSL_CERT_DIR": "/nowhere:/"}) == ""
    assert trust_fault({}) == ""


def test_a_list_says_why_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
    target = resolve_endpoint("openai-chat:m", environ("https://127.0.0.1:1"))
    with pytest.raises(ModelUnusable, match="SSL_CERT_FILE"):
        asyncio.run(fetch_models(target, LIMITS))
