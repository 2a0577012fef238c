"""Servers over HTTP of the era of sessions: what is sent, what a stop sends, and a session that the server forgot."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
from test_connections import connected, context, output_of

from holdfast.errors import ToolFailed
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.tool import ToolOutput
from mcp_http_server import VERSION, Refusal, SessionServer, session_server
from polling import eventually


def at(served: SessionServer) -> McpServer:
    return McpServer(name="srv", url=served.url)


async def test_a_session_is_negotiated_and_named_in_each_later_message(tmp_path: Path) -> None:
    heard: list[str] = []
    with session_server() as served:
        async with connected(at(served), tmp_path) as connections:
            listed = await connections.listed("srv", asyncio.Event())
            assert (listed.protocol, listed.version) == (VERSION, "sessions 1.0")
            assert [each.name for each in listed.tools] == ["cut", "echo", "slow"]
            output = await connections.call("srv", "mcp__srv__echo", {"text": "hi"}, context(heard=heard.append))
            assert (output.text, output.ok) == ("echo hi", True)
    assert heard == ["1/2: half\n"]
    after = [headers for method, headers in served.requests if method.startswith(("tools/", "notifications/"))]
    assert {(each["mcp-session-id"], each["mcp-protocol-version"]) for each in after} == {("session-1", VERSION)}
    assert len(after) >= 3
    assert served.calls == ["echo"]


@pytest.mark.parametrize("refuses", ["404", "400"])
async def test_a_forgotten_session_costs_one_call_that_was_not_carried_out(tmp_path: Path, refuses: Refusal) -> None:
    """As after a restart of the server; by its specification it answers 404, by its examples 400."""
    with session_server() as served:
        served.refuses = refuses
        async with connected(at(served), tmp_path) as connections:
            assert (await output_of(connections, "echo", text="a")).text == "echo a"
            served.forget()
            with pytest.raises(ToolFailed, match=r"no longer knows this session.*Nothing was done\. Call it again"):
                await output_of(connections, "echo", text="b")
            assert (await output_of(connections, "echo", text="c")).text == "echo c"
    assert served.calls == ["echo", "echo"]
    assert [method for method, _ in served.requests].count("initialize") == 2


async def test_a_stop_is_sent_to_the_server_because_closing_the_stream_is_none(tmp_path: Path) -> None:
    with session_server() as served:
        async with connected(at(served), tmp_path) as connections:
            stop = asyncio.Event()
            late: list[ToolOutput] = []
            tool_context = msgspec.structs.replace(context(stop), report_late=late.append)
            task = asyncio.create_task(connections.call("srv", "mcp__srv__slow", {"text": "x"}, tool_context))
            await asyncio.to_thread(eventually, lambda: served.calls == ["slow"])
            stop.set()
            output = await task
            assert output.interrupted
            assert "was asked to stop. Whether it acted is unknown" in output.text
            cancellations = [headers for method, headers in served.requests if method == "notifications/cancelled"]
            assert [each["mcp-session-id"] for each in cancellations] == ["session-1"]
            served.go_on.set()
            async with asyncio.timeout(30):
                while not late:  # noqa: ASYNC110 - no event reports the server's answer
                    await asyncio.sleep(0.01)
            assert [each.text for each in late] == ["slow x"]


async def test_a_session_that_is_forgotten_during_a_call_leaves_an_unknown_effect(tmp_path: Path) -> None:
    """The message that asks it to stop is refused, not the call, which the server had begun."""
    with session_server() as served:
        async with connected(at(served), tmp_path) as connections:
            stop = asyncio.Event()
            task = asyncio.create_task(connections.call("srv", "mcp__srv__slow", {}, context(stop)))
            await asyncio.to_thread(eventually, lambda: served.calls == ["slow"])
            served.forget()
            stop.set()
            output = await task
            assert output.interrupted
            assert "Whether it acted is unknown" in output.text
            assert (await output_of(connections, "echo", text="on")).text == "echo on"
    assert served.calls == ["slow", "echo"]


async def test_a_stream_that_is_cut_leaves_an_unknown_effect(tmp_path: Path) -> None:
    with session_server() as served:
        async with connected(at(served), tmp_path) as connections:
            output = await output_of(connections, "cut")
            assert output.interrupted
            assert "Whether it acted is unknown" in output.text
            assert (await output_of(connections, "echo", text="on")).text == "echo on"
    assert served.calls == ["cut", "echo"]


@pytest.mark.parametrize(
    ("variable", "value"),
    [("SSL_CERT_FILE", "/nowhere/ca.pem"), ("ALL_PROXY", "socks4://127.0.0.1:9"), ("HTTP_PROXY", "http://h:x")],
)
async def test_a_variable_about_the_network_that_cannot_be_used_is_named(
    variable: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with session_server() as served:
        monkeypatch.setenv(variable, value)
        async with connected(at(served), tmp_path) as connections:
            with pytest.raises(ToolFailed, match=rf"{variable} .*Fix the variable, or unset it"):
                await connections.listed("srv", asyncio.Event())
    assert served.requests == []
