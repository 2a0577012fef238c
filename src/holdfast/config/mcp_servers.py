"""Reads the MCP servers of a file: `.mcp.json` of a project, the user's `mcp.json`, or a file of the command line.

All have one form, the one that other programs use: `{"mcpServers": {"NAME": {"command": …, "args": […]}}}`. Tables
`[mcp.servers.NAME]` in the user's config hold the same in TOML. An unusable entry does not affect
the others, and a sentence says why it is not used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from holdfast.config.project_config import nearest, read_settings_file
from holdfast.config.settings import McpServerTable
from holdfast.errors import ConfigInvalid
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.tool_names import server_name_fault, server_word
from holdfast.tools.mcp_server_fields import McpServerFields
from holdfast.typed_data import convert_value, decode_json

PROJECT_FILE = ".mcp.json"
USER_FILE = "mcp.json"
"""The user's file, next to the config."""

LONGEST_TIMEOUT = 86_400_000  # milliseconds
MOST_HOSTS = 100


F = TypeVar("F", bound=McpServerFields)


class ServerEntry(McpServerFields, frozen=True, kw_only=True):
    """One server as it is written. Times are in milliseconds. Fields of other programs are ignored."""

    type: str = ""
    disabled: bool = False
    headersHelper: object = None  # noqa: N815 - as it is written
    alwaysLoad: bool = False  # noqa: N815 - what others call `declare`


class _File(msgspec.Struct, frozen=True):
    mcpServers: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict[str, msgspec.Raw])  # noqa: N815 - likewise


class ServerFile(msgspec.Struct, frozen=True, kw_only=True):
    """The servers of the file at `path`, and `faults`: why others of it are not used."""

    path: Path
    raw: bytes = b""
    servers: tuple[McpServer, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Return the SHA-256 of its bytes."""
        return hashlib.sha256(self.raw).hexdigest()


def server_file(path: Path) -> ServerFile:
    """Return the servers of a file; raises `ConfigInvalid` if it cannot be read or is no JSON of that form."""
    raw = read_settings_file(path, "MCP config")
    try:
        entries = decode_json(raw, _File).mcpServers
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigInvalid(
            f'MCP config {str(path)!r} cannot be used: {error}. Fix that file (expected {{"mcpServers": {{…}}}}).'
        ) from error
    return servers_of_entries(entries, path=path, source=str(path), raw=raw)


def servers_of_entries(entries: Mapping[str, msgspec.Raw], *, path: Path, source: str, raw: bytes = b"") -> ServerFile:
    """Return the servers of these entries in JSON, from a part or all of the file at `path`."""
    servers: list[McpServer] = []
    faults: list[str] = []
    for name, entry in entries.items():
        try:
            server = server_of_entry(name, bytes(entry), source=source)
        except ConfigInvalid as error:
            faults.append(str(error))
        else:
            servers += [server] if server is not None else []
    return ServerFile(path=path, raw=raw, servers=tuple(servers), faults=tuple(faults))


def server_of_entry(name: str, entry: bytes, *, source: str) -> McpServer | None:
    """Return the server of one entry in JSON, None if it is disabled; raises `ConfigInvalid` with its name and why."""
    try:
        found = decode_json(entry, ServerEntry)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"MCP server {name!r} in {source!r} is not used: {error}. Fix that entry.") from error
    if why := _fault(name, found):
        raise ConfigInvalid(f"MCP server {name!r} in {source!r} is not used: {why.rstrip('.')}. Fix that entry.")
    if found.disabled:
        return None
    written: dict[str, object] = msgspec.to_builtins(found)
    known = {"name": name, "source": source, "declare": found.declare or found.alwaysLoad}
    return _scaled(convert_value({**written, **known}, McpServer), 1 / 1000)


def _scaled(fields: F, factor: float) -> F:
    """Return the fields with their times in another unit."""
    timeout, idle = (each and each * factor for each in (fields.timeout, fields.idle_timeout))
    return msgspec.structs.replace(fields, timeout=timeout, idle_timeout=idle)


def servers_of_tables(tables: Mapping[str, McpServerTable], *, path: Path) -> ServerFile:
    """Return the servers in the tables of the config at `path`. Their times are in seconds."""
    entries = {name: msgspec.Raw(msgspec.json.encode(_scaled(table, 1000))) for name, table in tables.items()}
    return servers_of_entries(entries, path=path, source=str(path))


def _fault(name: str, entry: ServerEntry) -> str:  # noqa: PLR0911 - one for each reason
    if why := server_name_fault(name):
        return f"{why}. Rename it."
    if entry.type in ("sse", "ws"):
        return f"its type {entry.type!r} is outdated. Most such servers also speak 'http': change type and url."
    if entry.type not in ("", "stdio", "http", "streamable-http"):
        return f"its type {entry.type!r} is unknown (expected 'stdio' or 'http')."
    if entry.headersHelper is not None:
        return "`headersHelper` is not supported. Put the headers in `headers`, with ${VARIABLE} for secrets."
    if bool(entry.command) == bool(entry.url):
        return "it needs either `command` or `url`."
    if entry.url and not entry.url.startswith(("http://", "https://", "${")):
        return "its `url` does not begin with http:// or https://."
    if why := _sandbox_fault(entry):
        return why
    for field, time in (("timeout", entry.timeout), ("idle_timeout", entry.idle_timeout)):
        if time is not None and time > LONGEST_TIMEOUT:
            return f"its `{field}` is more than {LONGEST_TIMEOUT} milliseconds (a day)."
    return ""


def _sandbox_fault(entry: ServerEntry) -> str:
    if entry.sandbox and entry.url:
        return (
            "`sandbox` is for a server with a `command`: one at a `url` is not started by holdfast. Remove `sandbox`."
        )
    if entry.network and not entry.sandbox:
        return (
            "`network` is for a server with `sandbox`: without it, any address can be reached. Set `sandbox` to true."
        )
    if not entry.network:
        return ""
    from holdfast.tools.sandbox import is_host_pattern

    if len(entry.network) > MOST_HOSTS:
        return f"its `network` has more than {MOST_HOSTS} hosts."
    strange = next((each for each in entry.network if not is_host_pattern(each)), None)
    if strange is not None:
        return f"{strange!r} in its `network` is no host (such as 'pypi.org', '*.example.org' or 'example.org:8080')."
    return ""


def project_server_path(cwd: Path) -> Path | None:
    """Return the nearest `.mcp.json` from `cwd` up to the root of the repository, None if there is none."""
    return nearest(cwd, PROJECT_FILE)


def together(files: Iterable[ServerFile]) -> tuple[tuple[McpServer, ...], tuple[str, ...]]:
    """Return the servers of several files, for each name the first, and why some are not used."""
    servers: dict[str, McpServer] = {}
    faults: list[str] = []
    for file in files:
        faults += file.faults
        for server in file.servers:
            word = server_word(server.name).lower()  # rules read names in any case
            known = servers.setdefault(word, server)
            if known.name != server.name:
                faults.append(
                    f"MCP server {server.name!r} in {server.source!r} is not used: its tools would have the same names "
                    f"as those of {known.name!r}. Rename one of them."
                )
    return tuple(sorted(servers.values(), key=lambda each: each.name)), tuple(faults)
