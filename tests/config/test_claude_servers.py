"""The MCP servers in Claude Code's own config."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.config.claude_servers import claude_servers
from holdfast.errors import ConfigInvalid


def written(folder: Path, content: object) -> Path:
    path = folder / ".claude.json"
    path.write_text(json.dumps(content))
    return path


def test_servers_of_the_project_and_of_the_user_are_read_beside_much_else(tmp_path: Path) -> None:
    project = tmp_path / "project"
    below = project / "below"
    (project / ".git").mkdir(parents=True)
    below.mkdir()
    other = {"mcpServers": {"away": {"command": "x"}}}
    local: dict[str, object] = {
        "mcpServers": {"db": {"type": "stdio", "command": "db", "args": ["-v"], "env": {}}},
        "history": [1],
    }
    content: dict[str, object] = {
        "numStartups": 7,
        "tips": "x" * 200_000,
        "mcpServers": {"web": {"type": "http", "url": "https://w/mcp"}, "old": {"type": "sse", "url": "https://o"}},
        "projects": {str(project): local, str(below): {"mcpServers": {}}, str(tmp_path): other, "odd": 3},
    }
    path = written(tmp_path, content)
    found = claude_servers(path, below)
    assert found.project == str(project)
    assert [(each.name, each.command, each.args, each.source) for each in found.local.servers] == [
        ("db", "db", ("-v",), f"{path} (for {project})")
    ]
    assert [(each.name, each.url) for each in found.user.servers] == [("web", "https://w/mcp")]
    assert len(found.user.faults) == 1
    assert "'sse' is outdated" in found.user.faults[0]


def test_what_is_trusted_is_the_servers_and_not_the_file(tmp_path: Path) -> None:
    first: dict[str, object] = {"web": {"command": "a", "args": ["b"]}}
    before = claude_servers(written(tmp_path, {"numStartups": 1, "mcpServers": first}), tmp_path)
    turned: dict[str, object] = {"web": {"args": ["b"], "command": "a"}}
    same = claude_servers(written(tmp_path, {"mcpServers": turned, "numStartups": 2}), tmp_path)
    changed = claude_servers(written(tmp_path, {"mcpServers": {"web": {"command": "a", "args": ["c"]}}}), tmp_path)
    assert before.user.digest == same.user.digest
    assert before.user.digest != changed.user.digest


@pytest.mark.parametrize("text", ["{", '{"mcpServers": 3}', "\xff"])
def test_a_broken_file_says_so(text: str, tmp_path: Path) -> None:
    path = tmp_path / ".claude.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ConfigInvalid, match=r"Claude Code's config .* cannot be used"):
        claude_servers(path, tmp_path)
