"""Reads the MCP servers of Claude Code: those of the user, and those that the user has for one project only.

Both are in `~/.claude.json`, with much else that Claude Code often changes. So the user trusts the text of the servers
and not that of the file: holdfast asks again only about a server that was added or changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from holdfast.config.mcp_servers import ServerFile, servers_of_entries
from holdfast.config.project_config import read_settings_file
from holdfast.errors import ConfigInvalid
from holdfast.system.git import repository
from holdfast.typed_data import decode_json

LARGEST_CLAUDE_CONFIG = 64_000_000
"""Bytes of the file: it has histories too."""


class _Entries(msgspec.Struct, frozen=True):
    mcpServers: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict[str, msgspec.Raw])  # noqa: N815 - as it is written


class _File(_Entries, frozen=True):
    projects: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict[str, msgspec.Raw])


class ClaudeServers(msgspec.Struct, frozen=True, kw_only=True):
    """The servers of Claude Code: those for the project in the folder `project`, and the user's own."""

    project: str
    local: ServerFile
    user: ServerFile


def claude_path(home: str) -> Path | None:
    """Return the path of Claude Code's own config in a home, None if there is none, or no home."""
    path = Path(home) / ".claude.json"
    return path if home and path.exists() else None


def claude_servers(path: Path, cwd: Path) -> ClaudeServers:
    """Return the servers in the file at `path` for a session in `cwd`. Raise `ConfigInvalid` if it cannot be read.

    The project is the nearest folder with servers, from `cwd` up to the root of the repository.
    """
    raw = read_settings_file(path, "Claude Code's config", most=LARGEST_CLAUDE_CONFIG)
    try:
        found = decode_json(raw, _File)
        project, local = _local(found.projects, cwd)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"Claude Code's config {str(path)!r} cannot be used: {error}. Fix that file.") from error
    return ClaudeServers(
        project=project,
        local=_part(local, path, source=f"{path} (for {project})"),
        user=_part(found.mcpServers, path, source=str(path)),
    )


def _local(projects: Mapping[str, msgspec.Raw], cwd: Path) -> tuple[str, Mapping[str, msgspec.Raw]]:
    top = repository(cwd) or cwd
    for folder in (cwd, *cwd.parents):
        entry = projects.get(str(folder))
        servers = {} if entry is None else decode_json(bytes(entry), _Entries).mcpServers
        if servers:
            return str(folder), servers
        if folder == top:
            break
    return str(top), {}


def _part(entries: Mapping[str, msgspec.Raw], path: Path, *, source: str) -> ServerFile:
    """Return the servers of a part of the file. Their text is normalized: layout and order do not matter."""
    decoded = {name: msgspec.json.decode(bytes(entry)) for name, entry in entries.items()}
    text = msgspec.json.encode(decoded, order="deterministic")
    return servers_of_entries(entries, path=path, source=source, raw=text)
