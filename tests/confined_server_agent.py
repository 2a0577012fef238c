"""Uses a confined MCP server as an agent does: `python confined_server_agent.py SESSION ROOT`, one line for each call.

The server stays as long as it can and may reach one host. Each answer is a line of JSON: what the call returned, or why
it failed.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path

from holdfast.errors import ToolFailed
from holdfast.tools.mcp.connections import McpConnections, McpSettings
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.tool import ToolContext

SERVER = Path(__file__).with_name("steered_mcp_server.py")
PYTHON = os.path.realpath(sys.executable)


async def main(session: Path, root: Path) -> None:
    server = McpServer(
        name="srv",
        command=PYTHON,
        args=(str(shutil.copy(SERVER, root)), "stay"),  # elsewhere it might lie below /tmp, and not be seen
        sandbox=True,
        network=("example.org",),
        verbatim=True,
    )
    settings = McpSettings(servers=(server,), lists=session.parent / "lists")
    connections = McpConnections(settings, folder=session, spool=session / "spool", root=root)
    while line := await asyncio.to_thread(sys.stdin.readline):
        context = ToolContext(call="c1", stop=asyncio.Event(), emit=lambda _: None)
        try:
            output = await connections.call("srv", "mcp__srv__run", {"line": line}, context)
        except ToolFailed as failed:
            answer: dict[str, object] = {"failed": str(failed)}
        else:
            answer = {"text": output.text, "interrupted": output.interrupted}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    await connections.close()


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
