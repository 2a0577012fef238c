"""The servers of a run, which file wins, what is trusted, and those that a client adds for one session."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from holdfast.config.settings import Config, McpTable, decoded
from holdfast.errors import ConfigInvalid
from holdfast.tools.mcp.connections import McpSettings
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.mcp_servers import mcp_settings, with_client_servers
from holdfast.ui.startup.project_trust import judge_project

CONFIG = """
[mcp]
read_claude = true
[mcp.servers.web]
url = "https://config/mcp"
headers = { Authorization = "Bearer ${TOKEN}" }
timeout = 2.5
idle_timeout = 1.5
declare = true
trust_hints = true
[mcp.servers.files]
command = "config"
[mcp.servers.off]
command = "config"
disabled = true
[mcp.servers.both]
command = "config"
url = "https://config/mcp"
"""


def table() -> McpTable:
    return decoded(CONFIG.encode(), Config, name="config.toml").mcp


class Places:
    """A home with a config of Claude Code, a project with `.mcp.json`, and the user's own files."""

    def __init__(self, root: Path) -> None:
        self.home, self.project = root / "home", root / "project"
        self.home.mkdir()
        (self.project / ".git").mkdir(parents=True)
        self.environ = {"HOLDFAST_HOME": str(self.home), "HOME": str(self.home)}
        self.questions: list[tuple[str, tuple[str, ...]]] = []
        self.notices: list[str] = []
        local = {"mcpServers": named("claude-local", "web", "files", "own", "far", "local")}
        user = named("claude", "web", "files", "own", "far", "local", "user")
        self.claude = {"mcpServers": user, "projects": {str(self.project): local}}
        self.write(self.home / ".claude.json", self.claude)
        self.write(self.home / "mcp.json", {"mcpServers": named("mcp.json", "web", "own")})
        self.write(self.project / ".mcp.json", {"mcpServers": named("project", "far", "files")})

    def write(self, path: Path, content: object) -> None:
        path.write_text(json.dumps(content))

    def found(
        self, config_table: McpTable, *, trusts: bool | None = None, arguments: Arguments | None = None
    ) -> dict[str, str]:
        """Return where each server of a run is from; the user answers `trusts`, None: no user can be asked."""
        self.questions.clear()
        self.notices.clear()

        def ask(path: Path, shown: msgspec.Struct) -> bool:
            self.questions.append((path.name, msgspec.to_builtins(shown)["servers"]))
            return bool(trusts)

        settings = mcp_settings(
            self.environ,
            self.project,
            arguments or Arguments(),
            table=config_table,
            ask=None if trusts is None else ask,
            notify=self.notices.append,
        )
        return {} if settings is None else {each.name: each.command or each.url for each in settings.servers}


def named(command: str, *names: str) -> dict[str, dict[str, str]]:
    return {name: {"command": command} for name in names}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def test_the_first_of_several_files_wins(places: Places, tmp_path: Path) -> None:
    claude = {"projects": {str(places.project): {"mcpServers": named("claude-local", "local")}}}
    places.write(places.home / ".claude.json", {**places.claude, **claude})
    places.write(tmp_path / "more.json", {"mcpServers": named("option", "user")})
    option = Arguments()
    option.mcp_config = [str(tmp_path / "more.json")]
    expected = {
        "local": "claude-local",
        "far": "project",
        "web": "https://config/mcp",
        "files": "project",
        "own": "mcp.json",
        "user": "option",
    }
    assert places.found(table(), trusts=True, arguments=option) == expected
    (notice,) = places.notices
    assert notice.startswith(f"MCP server 'both' in {str(places.home / 'config.toml')!r} is not used: it needs either")
    option.strict_mcp_config = True
    assert places.found(table(), trusts=True, arguments=option) == {"user": "option"}


def test_the_tables_of_the_config_say_what_a_server_is(places: Places) -> None:
    settings = mcp_settings(places.environ, places.home, Arguments(), table=table(), notify=places.notices.append)
    assert settings is not None
    web = next(each for each in settings.servers if each.name == "web")
    assert (web.timeout, web.idle_timeout, web.headers) == (2.5, 1.5, {"Authorization": "Bearer ${TOKEN}"})
    assert (web.declare, web.trust_hints) == (True, True)
    assert web.source == str(places.home / "config.toml")
    assert "off" not in [each.name for each in settings.servers]
    with pytest.raises(ConfigInvalid, match="unknown field `comand`"):
        decoded(b'[mcp.servers.x]\ncomand = "y"', Config, name="config.toml")


def test_the_hints_of_a_server_are_trusted_only_by_files_of_the_user(places: Places) -> None:
    entry = {"command": "x", "idle_timeout": 1500, "alwaysLoad": True, "trust_hints": True}
    places.write(places.home / "mcp.json", {"mcpServers": {"own": entry}})
    places.write(places.project / ".mcp.json", {"mcpServers": {"far": entry}})
    settings = mcp_settings(
        places.environ,
        places.project,
        Arguments(),
        table=McpTable(),
        ask=lambda _, __: True,
        notify=places.notices.append,
    )
    assert settings is not None
    far, user_server = settings.servers
    assert (far.name, far.trust_hints, user_server.trust_hints) == ("far", False, True)
    assert [(each.idle_timeout, each.declare) for each in (far, user_server)] == [(1.5, True)] * 2
    (notice,) = places.notices
    assert notice.startswith(f"Ignoring `trust_hints` of 'far' in {str(places.project / '.mcp.json')!r}. Only your own")
    places.write(places.home / "mcp.json", {"mcpServers": {"own": entry | {"idle_timeout": 1e9}}})
    assert "own" not in places.found(McpTable(), trusts=True)
    assert "its `idle_timeout` is more than 86400000 milliseconds (a day). Fix that entry." in places.notices[-1]


def test_servers_of_claude_code_are_read_if_the_config_says_so_and_count_if_they_are_trusted(places: Places) -> None:
    assert places.found(McpTable(), trusts=True) == {
        "web": "mcp.json",
        "own": "mcp.json",
        "far": "project",
        "files": "project",
    }
    assert [name for name, _ in places.questions] == [".mcp.json"]
    reads = McpTable(read_claude=True)
    assert "user" not in places.found(reads)  # no user can be asked
    assert [line.partition(" of ")[0] for line in places.notices] == ["Ignoring the untrusted MCP servers"] * 2
    assert places.found(reads, trusts=False)["far"] == "project"
    assert [name for name, _ in places.questions] == [".claude.json", ".claude.json"]
    assert "local: claude-local" in places.questions[0][1]
    places.found(reads, trusts=True)
    assert places.questions == []  # the answer was no, and holds
    places.write(places.home / ".claude.json", {**places.claude, "mcpServers": named("changed", "user")})
    assert places.found(reads, trusts=True)["user"] == "changed"
    assert [shown for _, shown in places.questions] == [("user: changed",)]
    places.write(places.home / ".claude.json", {**places.claude, "mcpServers": named("changed", "user"), "tips": 1})
    assert places.found(reads)["user"] == "changed"  # what else is in the file does not matter


def test_an_option_trusts_them_only_if_they_are_read(places: Places) -> None:
    judge_project(places.environ, places.project, trusted=True)
    reads = McpTable(read_claude=True)
    assert places.found(reads) == {"web": "mcp.json", "own": "mcp.json", "far": "project", "files": "project"}
    (places.home / "config.toml").write_text("[mcp]\nread_claude = true\n")
    judge_project(places.environ, places.project, trusted=True)
    found = places.found(reads)
    assert (found["user"], found["local"], found["far"]) == ("claude", "claude-local", "claude-local")
    assert places.notices == []


def test_a_broken_file_of_claude_code_stops_nothing(places: Places) -> None:
    (places.home / ".claude.json").write_text("{")
    judge_project(places.environ, places.project, trusted=True)
    assert places.found(McpTable(read_claude=True))["far"] == "project"
    assert "Its servers are not used." in places.notices[0]


def test_servers_of_a_client_come_before_configured_ones(tmp_path: Path) -> None:
    environ = {"HOLDFAST_HOME": str(tmp_path)}
    configured = McpServer(name="files", command="mine")
    passed = McpServer(name="files", command="${HOME}/theirs", verbatim=True)
    other = McpServer(name="web", url="http://localhost/mcp")
    settings = with_client_servers(McpSettings(servers=(configured,), lists=tmp_path), (other, passed), environ=environ)
    assert settings is not None
    assert settings.servers == (passed, other)
    assert settings.servers[0].expanded({"HOME": "/h"}).command == "${HOME}/theirs"
    assert with_client_servers(None, (), environ=environ) is None
