"""The user's decision about the MCP servers of Claude Code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from holdfast.config.claude_servers import claude_path, claude_servers
from holdfast.ui.startup.project_trust import claude_server_decisions


def judge_claude_servers(environ: Mapping[str, str], cwd: Path, *, trusted: bool) -> None:
    """Store the decision about the MCP servers of Claude Code as they are now. Raise `StorageFailed`."""
    path = claude_path(environ.get("HOME", ""))
    if path is None:
        return
    found = claude_servers(path, cwd)
    for project, file in ((found.project, found.local), ("", found.user)):
        if file.servers:
            claude_server_decisions(environ, path, project).set_trust(file.digest, trusted=trusted)
