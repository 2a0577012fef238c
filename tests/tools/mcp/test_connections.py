"""Servers as they are: what each way of misbehaving becomes, and that nothing is left of them."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from holdfast.errors import ToolFailed
from holdfast.tools.mcp.connections import McpConnections, McpSettings
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.stored_tools import StoredTools
from holdfast.tools.tool import ToolContext, ToolOutput
from polling import eventually

SERVER = Path(__file__).parents[2] / "mcp_server.py"


def stdio(kind: str, folder: Path, **more: str) -> McpServer:
    return McpServer(name="srv", command=sys.executable, args=(str(SERVER), kind, str(folder / "marker")), env=more)


@asynccontextmanager
async def connected(server: McpServer, folder: Path, *, can_ask_user: bool = False) -> AsyncGenerator[McpConnections]:
    spool = folder / ("deep" * 30) / "spool"  # longer than the path of a socket may be
    spool.mkdir(parents=True, exist_ok=True)
    settings = McpSettings(servers=(server,), lists=folder / "lists", can_ask_user=can_ask_user)
    connections = McpConnections(settings, folder=folder, spool=spool, root=folder)
    try:
        yield connections
    finally:
        await connections.close()


def context(stop: asyncio.Event | None = None, heard: Callable[[str], None] = lambda _: None) -> ToolContext:
    return ToolContext(call="c1", stop=stop or asyncio.Event(), emit=heard)


async def output_of(connections: McpConnections, tool: str, **arguments: object) -> ToolOutput:
    return await connections.call("srv", f"mcp__srv__{tool}", arguments, context())


def calls(folder: Path) -> list[str]:
    path = folder / "marker.calls"
    return path.read_text().split() if path.exists() else []


async def test_answers_become_outputs(tmp_path: Path) -> None:
    async with connected(stdio("plain", tmp_path, SECRET="told"), tmp_path) as connections:
        assert await output_of(connections, "echo", text="hi") == ToolOutput(text="echo hi")
        assert await output_of(connections, "fail") == ToolOutput(text="it failed", ok=False)
        assert (await output_of(connections, "structured")).text == '{"a":1}'
        (image,) = (await output_of(connections, "picture")).images
        assert (image.media_type, image.width) == ("image/png", 1)
        big = await output_of(connections, "big")
        assert len(big.text) < 31_000
        assert "left out here" in big.text
        seen = (await output_of(connections, "environment")).text
        assert "HOLDFAST_CALL" in seen
        assert seen.endswith("told")
        with pytest.raises(ToolFailed, match="answered with an error: bad arguments"):
            await output_of(connections, "refuse")
        with pytest.raises(ToolFailed, match=r"does not offer 'mcp__srv__gone'.*Nothing was sent\."):
            await output_of(connections, "gone")
    stored = StoredTools(tmp_path / "lists").get(stdio("plain", tmp_path, SECRET="told"))
    assert stored is not None
    assert stored.version == "plain 1.0"


async def test_keys_of_providers_are_not_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    async with connected(stdio("plain", tmp_path), tmp_path) as connections:
        seen = (await output_of(connections, "environment")).text
        assert "HOLDFAST_CALL" in seen
        assert "OPENAI_API_KEY" not in seen


async def test_a_server_that_dies_leaves_an_unknown_effect_and_is_started_again(tmp_path: Path) -> None:
    async with connected(stdio("plain", tmp_path), tmp_path) as connections:
        output = await output_of(connections, "die")
        assert output.interrupted
        assert "It exited with code 3. Its last lines on stderr:\nabout to die" in output.text
        assert "Whether it acted is unknown" in output.text
        assert (await output_of(connections, "echo", text="again")).text == "echo again"
        await output_of(connections, "die")
        await output_of(connections, "die")
        with pytest.raises(ToolFailed, match=r"ended 3 times within 60 s.*Nothing was sent\."):
            await output_of(connections, "echo")
    assert calls(tmp_path) == ["die", "echo", "die", "die"]  # nothing was sent twice


async def test_a_stop_tells_the_server_and_does_not_wait(tmp_path: Path) -> None:
    async with connected(stdio("plain", tmp_path), tmp_path) as connections:
        await output_of(connections, "echo")
        stop = asyncio.Event()
        task = asyncio.create_task(connections.call("srv", "mcp__srv__slow", {}, context(stop)))
        await asyncio.to_thread(lambda: eventually(lambda: "slow" in calls(tmp_path)))
        stop.set()
        output = await task
        assert output.interrupted
        assert "was asked to stop. Whether it acted is unknown" in output.text
        await asyncio.to_thread(lambda: eventually(lambda: "cancelled" in calls(tmp_path)))
        assert (await output_of(connections, "echo", text="lives")).text == "echo lives"


async def test_a_call_is_given_up_after_its_timeout(tmp_path: Path) -> None:
    server = McpServer(
        name="srv", command=sys.executable, args=(str(SERVER), "plain", str(tmp_path / "marker")), timeout=0.2
    )
    async with connected(server, tmp_path) as connections:
        output = await output_of(connections, "slow")
        assert output.interrupted
        assert "gave no answer within" in output.text


async def test_a_call_is_given_up_after_silence(tmp_path: Path) -> None:
    server = msgspec.structs.replace(stdio("plain", tmp_path), idle_timeout=0.2)
    async with connected(server, tmp_path) as connections:
        output = await output_of(connections, "slow")
        assert output.interrupted
        assert "gave no answer within 0 s and was asked to stop." in output.text


async def test_a_hint_counts_only_if_the_user_trusts_it_and_the_server_still_gives_it(tmp_path: Path) -> None:
    server = stdio("unhinted", tmp_path)
    trusted = msgspec.structs.replace(server, trust_hints=True)
    async with connected(trusted, tmp_path) as connections:
        assert connections.effect("srv", "mcp__srv__echo") == "remote"  # not known yet
        await connections.listed("srv", asyncio.Event())
        assert [connections.effect("srv", f"mcp__srv__{tool}") for tool in ("echo", "fail")] == ["read", "remote"]
        assert (await connections.call("srv", "mcp__srv__echo", {}, context(), effect="read")).ok
        with pytest.raises(ToolFailed, match=r"no longer says that 'mcp__srv__fail' only reads\. Nothing was sent\."):
            await connections.call("srv", "mcp__srv__fail", {}, context(), effect="read")
    async with connected(server, tmp_path) as connections:
        assert connections.effect("srv", "mcp__srv__echo") == "remote"
    async with connected(trusted, tmp_path) as connections:  # by the stored list it reads; the server says so no more
        assert connections.effect("srv", "mcp__srv__echo") == "read"
        with pytest.raises(ToolFailed, match=r"no longer says.*Nothing was sent\. Call it again: then it needs"):
            await connections.call("srv", "mcp__srv__echo", {}, context(), effect="read")
        assert connections.effect("srv", "mcp__srv__echo") == "remote"
    assert calls(tmp_path) == ["echo"]


async def test_calls_of_a_server_wait_for_each_other_and_a_stop_ends_the_wait(tmp_path: Path) -> None:
    async with connected(stdio("hinted", tmp_path), tmp_path) as connections:
        first, second = asyncio.Event(), asyncio.Event()
        slow = asyncio.create_task(connections.call("srv", "mcp__srv__slow", {}, context(first)))
        await asyncio.to_thread(lambda: eventually(lambda: calls(tmp_path) == ["slow"]))
        waiting = asyncio.create_task(connections.call("srv", "mcp__srv__echo", {}, context(second)))
        later = asyncio.create_task(connections.call("srv", "mcp__srv__echo", {}, context()))
        await asyncio.sleep(0)
        second.set()
        with pytest.raises(ToolFailed, match=r"Stopped before MCP server 'srv' was asked\. Nothing was sent\."):
            await waiting
        first.set()
        assert (await slow).interrupted
        assert (await later).text == "echo "
    assert [each for each in calls(tmp_path) if each != "cancelled"] == ["slow", "echo"]


async def test_a_restart_ends_no_call(tmp_path: Path) -> None:
    async with connected(stdio("plain", tmp_path), tmp_path) as connections:
        stop = asyncio.Event()
        slow = asyncio.create_task(connections.call("srv", "mcp__srv__slow", {}, context(stop)))
        await asyncio.to_thread(lambda: eventually(lambda: calls(tmp_path) == ["slow"]))
        with pytest.raises(ToolFailed, match=r"was not restarted: a call of it runs\. Press Esc first, or wait\."):
            await connections.restart("srv", asyncio.Event())
        assert not slow.done()
        stop.set()
        assert "was asked to stop" in (await slow).text  # and it did not end with the server
        await connections.restart("srv", asyncio.Event())
        assert (await output_of(connections, "echo", text="new")).text == "echo new"


async def test_banners_are_skipped_and_noise_is_an_end(tmp_path: Path) -> None:
    async with connected(stdio("banners", tmp_path), tmp_path) as connections:
        assert (await output_of(connections, "echo", text="x")).text == "echo x"
    async with connected(stdio("noisy", tmp_path), tmp_path) as connections:
        with pytest.raises(ToolFailed, match=r"printed 100 lines on stdout that are no messages\. Nothing was sent\."):
            await output_of(connections, "echo")


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (McpServer(name="srv", command="/no/such/program"), "reached: /no/such/program: command not found[.] Nothing"),
        (McpServer(name="srv", command="no-such-program"), "reached: no-such-program: command not found[.] Nothing"),
        (McpServer(name="srv", command="/tmp"), "reached: /tmp: cannot be run: Permission denied[.] Nothing"),
        (McpServer(name="srv", command="true", cwd="no/such"), "its folder .* cannot be used: No such file"),
        (McpServer(name="srv", command=sys.executable, args=(str(SERVER), "broken")), "(?s)code 4.*no such database"),
        (McpServer(name="srv", url="http://127.0.0.1:9/mcp"), "cannot connect to 127.0.0.1:9: connection refused"),
        (
            McpServer(name="srv", url="http://no.such.host.invalid/mcp"),
            "no.such.host.invalid:80: the host name was not",
        ),
        (McpServer(name="srv", command="x", args=("${NO_SUCH_VARIABLE}",)), "NO_SUCH_VARIABLE in its config"),
    ],
)
async def test_a_server_that_cannot_be_reached_says_so(tmp_path: Path, server: McpServer, why: str) -> None:
    async with connected(server, tmp_path) as connections:
        with pytest.raises(ToolFailed, match=why) as failed:
            await output_of(connections, "echo")
    assert str(failed.value).endswith("Nothing was sent.")


async def test_a_stop_during_the_start_of_a_server(tmp_path: Path) -> None:
    async with connected(stdio("mute", tmp_path), tmp_path) as connections:
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.1, stop.set)
        with pytest.raises(ToolFailed, match=r"Stopped while MCP server 'srv' was starting\. Nothing was sent\."):
            await connections.call("srv", "mcp__srv__echo", {}, context(stop))


async def test_a_stubborn_server_ends_with_its_children(tmp_path: Path) -> None:
    async with connected(stdio("stubborn", tmp_path), tmp_path) as connections:
        await output_of(connections, "echo")
        pids = [int(each) for each in (tmp_path / "marker").read_text().split()]
        assert all(lives(each) for each in pids)
    assert not any(lives(each) for each in pids)


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


async def test_servers_of_the_official_sdk(tmp_path: Path) -> None:
    async with connected(stdio("sdk", tmp_path), tmp_path) as connections:
        assert (await output_of(connections, "echo", text="x")).text == "official x"
        assert (await connections.listed("srv", asyncio.Event())).protocol == "2026-07-28"


async def test_a_server_over_http(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = over_http(port)
    try:
        await asyncio.to_thread(lambda: eventually(lambda: reachable(port)))
        server = McpServer(name="srv", url=f"http://127.0.0.1:{port}/mcp", headers={"X-Own": "1"})
        async with connected(server, tmp_path) as connections:
            assert (await output_of(connections, "echo", text="x")).text == "official x"
            process.kill()
            process.wait()
            output = await output_of(connections, "echo", text="x")
            assert output.interrupted
            assert "Whether it acted is unknown" in output.text
    finally:
        process.kill()
        process.wait()


def over_http(port: int) -> subprocess.Popen[bytes]:
    null = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, str(SERVER), "http", str(port)], stdout=null, stderr=null)


def reachable(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
