"""Servers that answer a call in a hostile way, over stdio and HTTP: how the call ends, when, and what is said of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_connections import connected, context, output_of

from holdfast.errors import ToolFailed
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.tool import ToolOutput
from hostile_mcp_server import BROKEN, ENDLESS, over_http, over_stdio
from polling import HANGS, expect_within

UNKNOWN = "Whether it acted is unknown: look before you repeat it."
LARGE = "ended during this call: it sent a message of more than 32 MB."
MANY = "ended during this call: it sent a message of more than 200000 values."
UNREADABLE = "gave an answer that cannot be read: "

FLOODS = {
    "large": LARGE,
    "endless": LARGE,
    "values": MANY,
    "wide": "ended during this call: it sent a message of more than 12 MB that is not plain ASCII.",
}
"""What is said of an answer that is too much, by the name of its tool."""


@contextmanager
def hostile(kind: str, mark: Path) -> Generator[McpServer]:
    """Yield a server; there is a file `mark` once a call has arrived whose answer is hostile."""
    if kind == "stdio":
        command, *words = over_stdio(mark)
        yield McpServer(name="srv", command=command, args=tuple(words))
        return
    with over_http(mark) as url:
        yield McpServer(name="srv", url=url)


async def arrived(mark: Path) -> None:
    """Wait for the call: a stop before that is one before the call, which fails it as not sent."""
    async with asyncio.timeout(HANGS):
        while not mark.exists():  # noqa: ASYNC110, ASYNC240 - of another process, on a local disk
            await asyncio.sleep(0.01)


async def answered(kind: str, tool: str, folder: Path) -> ToolOutput:
    """Return the output of one call; the server must be of use, or be started again, for the next one."""
    with hostile(kind, folder / "mark") as server:
        async with connected(server, folder) as connections:
            async with asyncio.timeout(HANGS):
                output = await output_of(connections, tool)
            assert (await output_of(connections, "echo")).text == "echo"
            return output


@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_an_answer_that_cannot_be_read_ends_its_call_at_once(tmp_path: Path, kind: str) -> None:
    with hostile(kind, tmp_path / "mark") as server:
        async with connected(server, tmp_path) as connections:
            await connections.listed("srv", asyncio.Event())
            for tool in BROKEN:
                if tool == "large_number":
                    continue
                began = time.monotonic()
                output = await output_of(connections, tool)
                expect_within(5, began)
                assert output.interrupted, tool
                assert output.text.endswith(UNKNOWN), output.text
                assert UNREADABLE in output.text or MANY in output.text, output.text
                if MANY in output.text:  # it was disconnected
                    assert (await output_of(connections, "echo")).text == "echo"


@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_the_reason_is_the_true_one(tmp_path: Path, kind: str) -> None:
    with hostile(kind, tmp_path / "mark") as server:
        async with connected(server, tmp_path) as connections:
            assert "it is not JSON (unexpected end of hex escape" in (await output_of(connections, "surrogate")).text
            no_answer = "it is not a result or an error of JSON-RPC 2.0"
            assert no_answer in (await output_of(connections, "error_text")).text
            with pytest.raises(ToolFailed, match=r"text: Input should be a valid string.*The call was carried out\."):
                await output_of(connections, "large_number")
            with pytest.raises(ToolFailed, match=r"answered with an error: quota is used up \(code -32000\)\.$"):
                await output_of(connections, "ends")
            assert len((await output_of(connections, "shot")).text) > 20_000


@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_an_error_without_an_id_ends_the_only_request_that_waits(tmp_path: Path, kind: str) -> None:
    with hostile(kind, tmp_path / "mark") as server:
        async with connected(server, tmp_path) as connections:
            began = time.monotonic()
            with pytest.raises(ToolFailed, match=r"answered with an error: no JSON \(code -32700\)\.$"):
                await output_of(connections, "no_id")
            expect_within(5, began)


async def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    assert "it is not UTF-8 (byte 68)" in (await answered("stdio", "not_utf8", tmp_path)).text


@pytest.mark.parametrize("kind", ["stdio", "http"])
@pytest.mark.parametrize("tool", FLOODS)
async def test_an_answer_that_is_too_much_is_cut_and_said_to_be(tmp_path: Path, kind: str, tool: str) -> None:
    output = await answered(kind, tool, tmp_path)
    assert output.interrupted
    assert f"MCP server 'srv' {FLOODS[tool]} {UNKNOWN}" in output.text


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("bomb", LARGE),
        ("events_bomb", LARGE),
        ("comments", MANY),
        ("empty_bomb", LARGE),
        ("behind_gzip", LARGE),
        ("endless_head", "ended during this call: 127.0.0.1:"),
        ("endless_head", " sent headers that do not end."),
        ("brotli", "it sent an answer compressed with br."),
        ("html", f"{UNREADABLE}it is text/html (expected JSON)."),
        ("broken_event", f"{UNREADABLE}it is not JSON ("),
        ("gateway", "failed (HTTP 502)."),
    ],
)
async def test_an_answer_over_http_that_is_none_leaves_an_unknown_effect(tmp_path: Path, tool: str, why: str) -> None:
    output = await answered("http", tool, tmp_path)
    assert output.interrupted
    assert why in output.text
    assert output.text.endswith(UNKNOWN)


async def test_an_answer_over_http_that_is_packed_or_long_arrives(tmp_path: Path) -> None:
    assert (await answered("http", "gzip", tmp_path)).text == "packed"
    output = await answered("http", "shot_event", tmp_path)
    assert output.ok
    assert "left out here" in output.text
    with hostile("http", tmp_path / "mark") as server:
        async with connected(server, tmp_path) as connections:
            with pytest.raises(ToolFailed, match=r"refused the call \(HTTP 403\)\.$"):
                await output_of(connections, "refused")


@pytest.mark.parametrize("kind", ["stdio", "http"])
@pytest.mark.parametrize("tool", ["logs", "progress"])
async def test_a_stop_during_a_flood_takes_effect(tmp_path: Path, kind: str, tool: str) -> None:
    with hostile(kind, tmp_path / "mark") as server:
        async with connected(server, tmp_path) as connections:
            stop, heard = asyncio.Event(), asyncio.Event()
            await connections.listed("srv", stop)
            heard_text = context(stop, heard=lambda _: heard.set())
            task = asyncio.create_task(connections.call("srv", f"mcp__srv__{tool}", {}, heard_text))
            await arrived(tmp_path / "mark")
            async with asyncio.timeout(HANGS):
                await heard.wait() if tool == "progress" else await asyncio.sleep(0.5)
            began = time.monotonic()
            stop.set()
            output = await task
            expect_within(1, began)
            assert output.interrupted
            assert f"was asked to stop. {UNKNOWN}" in output.text


@pytest.mark.parametrize(
    "tool", [each for each in ENDLESS if each not in ("endless_head", "empty_bomb", "behind_gzip")]
)
async def test_a_stop_during_an_answer_without_an_end_takes_effect(tmp_path: Path, tool: str) -> None:
    with hostile("http", tmp_path / "mark") as server:
        async with connected(server, tmp_path) as connections:
            stop = asyncio.Event()
            await connections.listed("srv", stop)
            task = asyncio.create_task(connections.call("srv", f"mcp__srv__{tool}", {}, context(stop)))
            await arrived(tmp_path / "mark")
            await asyncio.sleep(0.3)
            assert not task.done()
            began = time.monotonic()
            stop.set()
            output = await task
            expect_within(2 if tool.startswith("comment") else 1, began)  # such a flood takes its own processor
            assert output.interrupted
            assert output.text == f"MCP server 'srv' was asked to stop. {UNKNOWN}"
            assert (await output_of(connections, "echo")).text == "echo"
