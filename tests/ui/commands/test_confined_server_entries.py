"""The fields `sandbox` and `network` of a server: what is refused, and where they are written and shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.config.mcp_servers import MOST_HOSTS, server_of_entry, servers_of_tables
from holdfast.config.settings import Config, decoded
from holdfast.errors import ConfigInvalid
from holdfast.host.events import ServersShown
from holdfast.tools.mcp.connections import McpSettings
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.server_state import ServerState
from holdfast.ui.commands.doctor.findings import server_finding
from holdfast.ui.commands.mcp import main, server_details
from holdfast.ui.tui.pages.server_page import server_lines

CONFINED = "in the sandbox, reaching api.example.org, *.example.net:8080"


def of_entry(**fields: object) -> McpServer:
    server = server_of_entry("srv", json.dumps({"command": "x", **fields}).encode(), source="f")
    assert server is not None
    return server


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"command": "", "url": "https://x", "sandbox": True}, "`sandbox` is for a server with a `command`"),
        ({"network": ["a.example"]}, "`network` is for a server with `sandbox`: without it, any address"),
        ({"sandbox": True, "network": ["https://a.example"]}, "'https://a.example' in its `network` is no host"),
        ({"sandbox": True, "network": [""]}, "'' in its `network` is no host"),
        ({"sandbox": True, "network": ["a"] * (MOST_HOSTS + 1)}, "its `network` has more than 100 hosts"),
        ({"sandbox": "yes"}, "Expected `bool`"),
        ({"sandbox": True, "network": "a.example"}, "Expected `array`"),
    ],
)
def test_an_entry_that_cannot_be_kept_is_not_used(fields: dict[str, object], why: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        of_entry(**fields)
    assert why in str(caught.value)
    assert str(caught.value).endswith("Fix that entry.")


def test_the_same_fields_count_in_the_config_and_change_what_is_known_of_a_server(tmp_path: Path) -> None:
    text = b'[mcp.servers.srv]\ncommand = "x"\nsandbox = true\nnetwork = ["a.example"]\n'
    tables = decoded(text, Config, name="config.toml").mcp.servers
    (server,) = servers_of_tables(tables, path=tmp_path).servers
    assert (server.sandbox, server.network) == (True, ("a.example",))
    assert len({server.digest, of_entry(sandbox=True).digest, of_entry().digest}) == 3
    assert of_entry().confinement == ""
    assert of_entry(sandbox=True).confinement == "in the sandbox, no network"


def test_a_confined_server_is_added_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environ = {"HOLDFAST_HOME": str(tmp_path), "HOME": str(tmp_path)}
    words = ["add", "--network", "api.example.org", "--network", "*.example.net:8080", "srv", "--", "run-it", "-x"]
    assert main(words, environ=environ) == 0
    assert main(["add", "--sandbox", "alone", "--", "run-it"], environ=environ) == 0
    stored = json.loads((tmp_path / "mcp.json").read_text())["mcpServers"]
    assert stored["srv"]["sandbox"] is True
    assert stored["srv"]["network"] == ["api.example.org", "*.example.net:8080"]
    assert stored["alone"] == {"command": "run-it", "args": [], "sandbox": True}
    capsys.readouterr()
    assert main(["list"], environ=environ) == 0
    listed = capsys.readouterr().out
    assert f"run-it -x ({CONFINED})" in listed
    assert "run-it (in the sandbox, no network)" in listed


def test_the_page_and_doctor_say_that_a_server_is_confined(tmp_path: Path) -> None:
    server = of_entry(sandbox=True, network=["api.example.org", "*.example.net:8080"])
    settings = McpSettings(servers=(server,), lists=tmp_path)
    state = ServerState(server="srv", state="connected", version="steered 1.0")
    lines = server_lines(ServersShown(server="srv", states=(state,), failures={}), settings)
    assert f"srv: connected, steered 1.0, {CONFINED}" in lines
    assert f"command  x ({CONFINED})" in server_details(server)
    failed = ServerState(server="srv", state="failed", why="No sandbox.")
    assert "srv: failed" in server_lines(ServersShown(server="srv", states=(failed,), failures={}), settings)
    found = server_finding("srv", tools=2, unusable=(), problem="", confinement=server.confinement)
    assert found.what == f"works, 2 tools, {CONFINED}"
