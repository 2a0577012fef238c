"""The states of servers, as a user is shown them, and their restart."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from holdfast.errors import ToolFailed
from holdfast.tools.mcp.connections import McpConnections, McpSettings
from holdfast.tools.mcp.server_definition import McpServer

SERVER = Path(__file__).parents[2] / "mcp_server.py"


def test_states_say_why_and_a_restart_begins_again(tmp_path: Path) -> None:
    def server(kind: str) -> McpServer:
        return McpServer(name=kind, command=sys.executable, args=(str(SERVER), kind, str(tmp_path / "marker")))

    async def go() -> None:
        settings = McpSettings(servers=(server("plain"), server("broken"), server("banners")), lists=tmp_path)
        connections = McpConnections(settings, folder=tmp_path, spool=tmp_path, root=tmp_path)
        stop = asyncio.Event()
        try:
            assert [each.state for each in await connections.states()] == ["not started"] * 3
            for _ in range(3):
                with pytest.raises(ToolFailed, match="no such database"):
                    await connections.listed("broken", stop)
            with pytest.raises(ToolFailed, match="not started again yet"):
                await connections.listed("broken", stop)
            await connections.listed("banners", stop)
            plain, broken, banners = await connections.states()
            assert (plain.state, banners.state, banners.version, banners.tools) == (
                "not started",
                "connected",
                "banners 1.0",
                9,
            )
            assert banners.skipped > 1
            assert (broken.state, broken.log) == ("failed", "no such database")
            assert "exited with code 4" in broken.why
            with pytest.raises(ToolFailed, match="no such database"):  # it is tried again at once
                await connections.restart("broken", stop)
            await connections.restart("banners", stop)
            assert (await connections.states())[2].state == "connected"
        finally:
            await connections.close()

    asyncio.run(go())
