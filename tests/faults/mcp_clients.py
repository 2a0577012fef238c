"""Clients of a stubborn MCP server, each a program: holdfast's own, and a known-bad one that the SDK ends by itself.

    python mcp_clients.py holdfast|sdk FOLDER

Each connects, lists the tools, and waits to be killed.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from holdfast.tools.mcp.connections import McpConnections, McpSettings
from holdfast.tools.mcp.server_definition import McpServer

SERVER = Path(__file__).parents[1] / "mcp_server.py"


async def ours(folder: Path) -> None:
    server = McpServer(name="srv", command=sys.executable, args=(str(SERVER), "stubborn", str(folder / "marker")))
    made = McpConnections(McpSettings(servers=(server,), lists=folder), folder=folder, spool=folder, root=folder)
    await made.listed("srv", asyncio.Event())
    await ready(folder)


async def known_bad(folder: Path) -> None:
    from mcp.client.session import ClientSession  # noqa: PLC0415 - only for this client
    from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415 - likewise

    command = StdioServerParameters(command=sys.executable, args=[str(SERVER), "stubborn", str(folder / "marker")])
    async with stdio_client(command) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        await ready(folder)


async def ready(folder: Path) -> None:
    (folder / "ready").touch()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run({"holdfast": ours, "sdk": known_bad}[sys.argv[1]](Path(sys.argv[2])))
