"""The reference servers of the protocol's own project, as they come from npm: `make mcp-servers` installs them."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from test_connections import context, reachable
from test_server_questions import User

from holdfast.errors import ToolFailed
from holdfast.tools.mcp.connections import McpConnections, McpSettings
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.stored_tools import StoredTools
from needs import MCP_SERVERS
from polling import eventually
from skips import needs

PROGRAMS = MCP_SERVERS / ".bin"
pytestmark = needs("mcp-servers")


@asynccontextmanager
async def reference(folder: Path, program: str, *args: str) -> AsyncGenerator[McpConnections]:
    server = McpServer(name="ref", command=str(PROGRAMS / program), args=args)
    settings = McpSettings(servers=(server,), lists=folder / "lists", can_ask_user=True)
    connections = McpConnections(settings, folder=folder, spool=folder, root=folder)
    try:
        yield connections
    finally:
        await connections.close()


async def test_everything(tmp_path: Path) -> None:
    user = User()
    async with reference(tmp_path, "mcp-server-everything", "stdio") as connections:
        assert (await connections.call("ref", "mcp__ref__echo", {"message": "hi"}, context())).text == "Echo: hi"
        assert "5" in (await connections.call("ref", "mcp__ref__get-sum", {"a": 2, "b": 3}, context())).text
        assert len((await connections.call("ref", "mcp__ref__get-tiny-image", {}, context())).images) == 1
        heard: list[str] = []
        slow = {"duration": 0.4, "steps": 2}
        output = await connections.call(
            "ref", "mcp__ref__trigger-long-running-operation", slow, context(heard=heard.append)
        )
        assert output.ok
        assert [each.split("/")[0] for each in heard] == ["1", "2"]
        await connections.call("ref", "mcp__ref__trigger-elicitation-request", {}, user.context())
        await connections.call(
            "ref", "mcp__ref__trigger-url-elicitation", {"url": "https://example.com/x", "message": "m"}, user.context()
        )
        assert [bool(each.questions[0].url) for each in user.requests] == [False, True]
        uris = (await connections.read("ref", "", context())).text
        uri = next(line.split()[0] for line in uris.splitlines() if line.startswith("demo://resource/static"))
        assert uri in (await connections.read("ref", uri, context())).text
        listed = await connections.listed("ref", asyncio.Event())
        name = next(each.name for each in listed.prompts if not each.arguments)
        assert (await connections.prompt("ref", name, {}, asyncio.Event())).strip()
        # It names further tools only after the handshake, by notices that its list has changed.
        await asyncio.to_thread(eventually, lambda: len(stored(tmp_path, connections)) >= 15)


def stored(folder: Path, connections: McpConnections) -> list[str]:
    found = StoredTools(folder / "lists", can_ask_user=True).get(connections.servers["ref"])
    return [] if found is None else [each.name for each in found.tools]


async def test_everything_over_http_is_started_again(tmp_path: Path) -> None:
    """Its sessions are gone then: one call fails and says that nothing was done, the next one is carried out."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = McpServer(name="ref", url=f"http://127.0.0.1:{port}/mcp")
    settings = McpSettings(servers=(server,), lists=tmp_path / "lists", can_ask_user=True)
    connections = McpConnections(settings, folder=tmp_path, spool=tmp_path, root=tmp_path)
    process = await asyncio.to_thread(over_http, port)
    try:
        assert (await connections.call("ref", "mcp__ref__echo", {"message": "a"}, context())).text == "Echo: a"
        assert (await connections.listed("ref", asyncio.Event())).protocol < "2026"
        process.kill()
        process.wait()
        process = await asyncio.to_thread(over_http, port)
        with pytest.raises(ToolFailed, match=r"no longer knows this session.*Nothing was done"):
            await connections.call("ref", "mcp__ref__echo", {"message": "b"}, context())
        assert (await connections.call("ref", "mcp__ref__echo", {"message": "c"}, context())).text == "Echo: c"
    finally:
        await connections.close()
        process.kill()
        process.wait()


def over_http(port: int) -> subprocess.Popen[bytes]:
    """Start the server, and wait until it listens."""
    process = subprocess.Popen(
        [PROGRAMS / "mcp-server-everything", "streamableHttp"],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    eventually(lambda: reachable(port))
    return process


async def test_filesystem(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("hello\n")
    async with reference(tmp_path, "mcp-server-filesystem", str(root)) as connections:
        read = await connections.call("ref", "mcp__ref__read_text_file", {"path": str(root / "a.txt")}, context())
        assert read.text.strip() in ("hello", json.dumps({"content": "hello\n"}))
        outside = await connections.call("ref", "mcp__ref__read_text_file", {"path": "/etc/passwd"}, context())
        assert not outside.ok
