"""The program in networks as they are: a company's proxy and its authority, old HTTP, IPv6, redirects."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from launching import Ran, World

from certificates import Authority, authority
from holdfast.testing.script import Reply, Say
from long_texts import prose
from proxies import Mode, Proxy
from skips import needs
from socket_servers import OK, OldServer, Recorder, Redirects, environ, listening
from tiers import sampled

PASSWORD = "pass-word-of-nobody"
SAYS = " ".join(["what it says, at a length that takes more than five events"] * 2)


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("authority"))


@asynccontextmanager
async def company(
    trusted: Authority, mode: Mode = "tunnels", *, host: str = "localhost", reply: Reply = OK
) -> AsyncGenerator[tuple[Proxy, Recorder, dict[str, str]]]:
    """Give the proxy, a provider behind it whose certificate is for the host, and what is set there."""
    recorder = Recorder([reply])
    async with listening(recorder.serve, tls=trusted.server(host)) as port:
        proxy = Proxy(mode, port, most=40_000)
        async with listening(proxy.serve) as at:
            variables = environ(f"https://localhost:{port}")
            variables |= {"HTTPS_PROXY": f"http://somebody:{PASSWORD}@127.0.0.1:{at}"}
            yield proxy, recorder, variables | {"SSL_CERT_FILE": str(trusted.path)}


async def ran(world: World, variables: dict[str, str]) -> Ran:
    arguments = ("-m", world.model, "--yolo", "--debug", "-p", "hello")
    return await asyncio.to_thread(lambda: world.run(*arguments, environ=world.environ(**variables)))


def nothing_tells_the_password(world: World, ended: Ran) -> None:
    """Fail if it is in the output, or in any file that the program has left."""
    token = base64.b64encode(f"somebody:{PASSWORD}".encode()).decode()
    files = [path for path in sorted(world.home.rglob("*")) if path.is_file()]
    assert any(path.name == "debug.log" for path in files)
    contents = {str(path): path.read_bytes() for path in files} | {"out": ended.out.encode(), "err": ended.err.encode()}
    assert [name for name, data in contents.items() for word in (PASSWORD, token) if word.encode() in data] == []


def test_a_turn_goes_through_it(one_world: World, trusted: Authority) -> None:
    async def story() -> None:
        async with company(trusted) as (proxy, recorder, variables):
            ended = await ran(one_world, variables)
            assert (ended.code, ended.out) == (0, "ok\n"), ended.err
            assert {request.method for request in proxy.asked} == {"CONNECT"}
            assert len(recorder.requests) == 1
            nothing_tells_the_password(one_world, ended)

    asyncio.run(story())


REFUSED = (
    ("wants another password", "localhost", "407 Proxy Authentication Required", "http://USER:PASSWORD@HOST:PORT"),
    ("refuses", "localhost", "403 Forbidden", "exempt it with NO_PROXY"),
    ("tunnels", "", "certificate verify failed", "set SSL_CERT_FILE"),
    ("tunnels", "another.invalid", "Hostname mismatch", "Use the host name"),
)


@pytest.mark.parametrize(("mode", "host", "message", "advice"), sampled(REFUSED, 2))
def test_an_error_that_a_retry_cannot_help_is_reported_at_once(
    one_world: World, trusted: Authority, mode: Mode, host: str, message: str, advice: str
) -> None:
    async def story() -> None:
        async with company(trusted, mode, host=host or "localhost") as (proxy, recorder, variables):
            if not host:
                del variables["SSL_CERT_FILE"]
            ended = await ran(one_world, variables)
            assert (ended.code, recorder.requests, len(proxy.asked)) == (1, [], 1), ended.err
            assert message in ended.err
            assert advice in ended.err
            assert "retrying" not in ended.err
            nothing_tells_the_password(one_world, ended)

    asyncio.run(story())


def test_a_proxy_that_dies_before_the_tunnel_is_asked_again(one_world: World, trusted: Authority) -> None:
    async def story() -> None:
        async with company(trusted, "leaves within its answer") as (proxy, recorder, variables):
            ended = await ran(one_world, variables)
            assert (ended.code, recorder.requests) == (75, [])
            assert len(proxy.asked) > 1
            assert "Server disconnected" in ended.err
            assert "Check the network and the base URL" in ended.err
            nothing_tells_the_password(one_world, ended)

    asyncio.run(story())


def test_a_proxy_that_dies_within_the_answer_has_not_finished_it(one_world: World, trusted: Authority) -> None:
    async def story() -> None:
        reply = (Say(prose(20_000)),)
        async with company(trusted, "leaves within the stream", reply=reply) as (proxy, recorder, variables):
            ended = await ran(one_world, variables)
            assert (ended.code, len(proxy.asked)) == (75, 1), ended.err  # what was shown is not requested again
            assert len(recorder.requests) == 1
            assert "Nothing was lost." in ended.err
            nothing_tells_the_password(one_world, ended)

    asyncio.run(story())


def test_a_server_of_an_own_authority_needs_no_proxy(one_world: World, trusted: Authority) -> None:
    recorder = Recorder()

    async def story() -> None:
        async with listening(recorder.serve, tls=trusted.server("localhost")) as port:
            ended = await ran(one_world, environ(f"https://localhost:{port}") | {"SSL_CERT_FILE": str(trusted.path)})
        assert (ended.code, ended.out) == (0, "ok\n"), ended.err

    asyncio.run(story())
    assert len(recorder.requests) == 1


@pytest.mark.parametrize(("cut", "code"), [(None, 0), (5, 75)])
def test_a_server_of_http_1_0(one_world: World, cut: int | None, code: int) -> None:
    """Its answer ends with its connection: whole if the protocol says so, else cut."""

    async def story() -> None:
        async with listening(OldServer(SAYS, cut=cut).serve) as port:
            ended = await ran(one_world, environ(f"http://127.0.0.1:{port}"))
        assert ended.code == code, ended.err
        assert (ended.out == f"{SAYS}\n") == (code == 0)

    asyncio.run(story())


@needs("ipv6")
def test_an_address_of_ipv6(one_world: World) -> None:

    async def story() -> None:
        async with listening(Recorder().serve, host="::1") as port:
            ended = await ran(one_world, environ(f"http://[::1]:{port}"))
        assert (ended.code, ended.out) == (0, "ok\n"), ended.err

    asyncio.run(story())


def test_a_redirect_is_reported_and_not_followed(one_world: World) -> None:
    elsewhere = Recorder()

    async def story() -> None:
        async with listening(elsewhere.serve) as there:
            redirects = Redirects(f"http://127.0.0.1:{there}/v1/chat/completions?token=secret", 307)
            async with listening(redirects.serve) as port:
                ended = await ran(one_world, environ(f"http://127.0.0.1:{port}"))
        assert (ended.code, elsewhere.requests) == (1, [])
        assert f"redirects to 'http://127.0.0.1:{there}/v1/chat/completions'" in ended.err
        assert "set it as the provider's base URL" in ended.err

    asyncio.run(story())
