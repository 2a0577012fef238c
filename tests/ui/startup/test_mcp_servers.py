"""The servers of a run, and those that a client adds for one session."""

from __future__ import annotations

from pathlib import Path

from holdfast.tools.mcp.connections import McpSettings
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.ui.startup.mcp_servers import with_client_servers


def test_servers_of_a_client_come_before_configured_ones(tmp_path: Path) -> None:
    environ = {"HOLDFAST_HOME": str(tmp_path)}
    own = McpServer(name="files", command="mine")
    passed = McpServer(name="files", command="${HOME}/theirs", verbatim=True)
    other = McpServer(name="web", url="http://localhost/mcp")
    settings = with_client_servers(McpSettings(servers=(own,), lists=tmp_path), (other, passed), environ=environ)
    assert settings is not None
    assert settings.servers == (passed, other)
    assert settings.servers[0].expanded({"HOME": "/h"}).command == "${HOME}/theirs"
    assert with_client_servers(None, (), environ=environ) is None
