"""The program in a network as companies have them: a proxy that wants a password, an authority of their own."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from launching import Ran, World

from certificates import Authority, authority
from proxies import Mode, Proxy
from socket_servers import Recorder, environ, listening
from tiers import sampled

PASSWORD = "pass-word-of-nobody"


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("authority"))


@asynccontextmanager
async def company(trusted: Authority, mode: Mode = "tunnels") -> AsyncGenerator[tuple[Proxy, Recorder, dict[str, str]]]:
    """Give the proxy, a provider behind it, and the variables that a person has set there."""
    recorder = Recorder()
    async with listening(recorder.serve, tls=trusted.server("localhost")) as port:
        proxy = Proxy(mode, port)
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
    kept = {str(path): path.read_bytes() for path in files} | {"out": ended.out.encode(), "err": ended.err.encode()}
    assert [name for name, data in kept.items() for word in (PASSWORD, token) if word.encode() in data] == []


def test_a_turn_goes_through_it(one_world: World, trusted: Authority) -> None:
    async def story() -> None:
        async with company(trusted) as (proxy, recorder, variables):
            ended = await ran(one_world, variables)
            assert (ended.code, ended.out) == (0, "ok\n"), ended.err
            assert {asked.method for asked in proxy.asked} == {"CONNECT"}
            assert len(recorder.requests) == 1
            nothing_tells_the_password(one_world, ended)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("mode", "told"),
    sampled(
        [
            ("wants another password", "407 Proxy Authentication Required"),
            ("leaves within its answer", "Server disconnected"),
            ("tunnels", "certificate verify failed"),
        ],
        1,
    ),
)
def test_what_is_wrong_there_is_told(one_world: World, trusted: Authority, mode: Mode, told: str) -> None:
    async def story() -> None:
        async with company(trusted, mode) as (_, recorder, variables):
            if mode == "tunnels":
                del variables["SSL_CERT_FILE"]
            ended = await ran(one_world, variables)
            assert ended.code == 75
            assert told in ended.err
            assert "Check the network and the base URL" in ended.err
            assert recorder.requests == []
            nothing_tells_the_password(one_world, ended)

    asyncio.run(story())
